"""What goes wrong in training is said with its cure, by what held-out images and training steps show."""

import numpy as np
import pytest

from objectspace.scene import Object, Scene
from objectspace.training.signs import STEPS, Signs, Steps, signs, warnings

GREY, RED, BLUE = (120, 120, 120), (220, 30, 30), (30, 40, 220)
PLACES = [(8, 8), (8, 40), (40, 8), (40, 40)]


def scene_of(*seen: tuple[tuple[int, int, int], bool], known: bool = True) -> tuple[np.ndarray, Scene]:
    """Squares of some colours on grey; each is an object, or left unexplained."""
    image = np.full((64, 64, 3), GREY, np.uint8)
    drawn, left, objects = image.copy(), np.zeros((64, 64), np.bool_), []
    for (y, x), (colour, is_found) in zip(PLACES, seen, strict=False):
        image[y : y + 10, x : x + 10] = colour
        if is_found:
            mask = np.zeros((64, 64), np.bool_)
            mask[y : y + 10, x : x + 10] = True
            drawn[mask] = colour
            objects.append(Object((x, y, x + 10, y + 10), (x, y, x + 10, y + 10), mask=mask))
        else:
            left[y : y + 10, x : x + 10] = True
    return image, Scene(64, 64, tuple(objects), unexplained=left if known else None, reconstruction=drawn)


@pytest.mark.parametrize("known", [True, False])
def test_a_colour_that_is_never_found_is_named(known: bool) -> None:
    made = [scene_of((RED, True), (BLUE, False), (RED, True), known=known) for _ in range(3)]
    images, scenes = zip(*made, strict=True)
    seen = signs(images, scenes)
    assert seen.lost == ("blue",)
    assert seen.objects == 2
    assert "things that are blue are never found: " in warnings(seen, 64)["colour-lost"]


def test_a_colour_that_is_found_at_times_is_not_lost_and_specks_are_nothing() -> None:
    images, scenes = zip(*[scene_of((RED, True), (RED, number == 0)) for number in range(4)], strict=True)
    assert signs(images, scenes).lost == ()
    image, scene = scene_of((RED, True))
    specks = np.zeros((64, 64), np.bool_)
    specks[::3, ::3] = True
    specks[:, 30] = True
    assert signs([image], [Scene(64, 64, scene.objects, unexplained=specks)]).left == 0


@pytest.mark.parametrize(
    ("seen", "names"),
    [
        (Signs(6, 0.01), []),
        (Signs(0, 0.01), ["no-objects"]),
        (Signs(60, 0.01), ["all-cells"]),
        (Signs(0, 0.3), ["no-objects", "left-unexplained"]),
        (Signs(6, 0.01, ("red", "blue")), ["colour-lost"]),
    ],
)
def test_each_way_of_going_wrong_has_its_warning_and_a_cure(seen: Signs, names: list[str]) -> None:
    found = warnings(seen, 64)
    assert list(found) == names
    assert all("phases." in text for text in found.values())


def test_training_steps_without_objects_are_told_once_they_are_many() -> None:
    steps = Steps(cells=64, first=300, settled=300)
    told = {step: found for step in range(1, 700) if (found := steps.warnings(step, {"objects": 0.0}))}
    assert list(told) == [300 + STEPS]
    steps = Steps(cells=64, first=0, settled=0)
    assert not any(steps.warnings(step, {"objects": 0.0 if step % 50 else 3.0}) for step in range(1, 400))
    assert any("all-cells" in steps.warnings(step, {"objects": 63.0}) for step in range(400, 520))
