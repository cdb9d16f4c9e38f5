import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest

from objectspace.errors import UserError
from objectspace.scene import Component, Object, Scene


def picture(height: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def full_scene() -> Scene:
    mask = np.zeros((6, 9), np.bool_)
    mask[1:4, 2:5] = True
    what = np.random.default_rng(1).standard_normal(7).astype(np.float32)
    boxes = (2, 1, 5, 4), (1.5, 0.25, 5.125, 4.5)
    item = Object(*boxes, 0.75, -1.25, what, mask, picture(4, 4), "disc", whole_box=(2, 1, 6, 4), evidence=123.5)
    bare = Object((0, 0, 1, 1), (0, 0, 1, 1))
    return Scene(
        6,
        9,
        (item, bare),
        (Component(~mask, picture(6, 9)), Component(mask)),
        reconstruction=picture(6, 9, 2),
        background=picture(6, 9, 3),
        foreground=picture(6, 9, 4),
        alpha=picture(6, 9, 5)[..., 0],
        unexplained=np.roll(mask, 4, axis=1),
    )


def test_json_gives_the_same_scene_back() -> None:
    scene = full_scene()
    back = Scene.from_json(scene.to_json())
    assert back.to_json() == scene.to_json()
    assert np.array_equal(back.objects[0].mask, scene.objects[0].mask)
    assert np.array_equal(back.objects[0].what, scene.objects[0].what)
    assert np.array_equal(back.objects[0].crop, scene.objects[0].crop)
    assert np.array_equal(back.components[0].image, scene.components[0].image)
    assert np.array_equal(back.background, scene.background)
    assert np.array_equal(back.alpha, scene.alpha)
    assert back.objects[0].where_box == (1.5, 0.25, 5.125, 4.5)
    assert back.objects[1].mask is None
    assert (back.objects[0].whole_box, back.objects[0].evidence) == ((2, 1, 6, 4), 123.5)
    assert (back.objects[1].whole_box, back.objects[1].evidence) == (None, None)
    assert back.whole_boxes.tolist() == [[2, 1, 6, 4], [0, 0, 1, 1]]
    assert np.array_equal(back.unexplained, scene.unexplained)
    assert back.unexplained_share == 9 / 54


def test_masks_are_written_as_coco_run_lengths() -> None:
    mask = json.loads(full_scene().to_json())["objects"][0]["mask"]
    assert mask["size"] == [6, 9]
    assert isinstance(mask["counts"], str)


def test_an_empty_scene_is_a_scene() -> None:
    scene = Scene.from_json(Scene(3, 5).to_json())
    assert (scene.height, scene.width, scene.objects, scene.components) == (3, 5, (), ())
    assert scene.boxes.shape == scene.where_boxes.shape == (0, 4)
    assert scene.scores.shape == (0,)


def test_a_scene_cannot_be_changed() -> None:
    scene = full_scene()
    with pytest.raises(dataclasses.FrozenInstanceError):
        scene.height = 3  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        scene.objects[0].mask[0, 0] = True


def test_an_edited_copy_is_easy() -> None:
    item = dataclasses.replace(full_scene().objects[0], where_box=(0, 0, 2, 2))
    assert item.where_box == (0, 0, 2, 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Object((2, 0, 1, 1), (0, 0, 1, 1)),
        lambda: Object((0, 0, 1, float("nan")), (0, 0, 1, 1)),
        lambda: Object((0, 0, 1, 1), (0, 0, 1, 1), score=float("nan")),
        lambda: Object((0, 0, 1, 1), (0, 0, 1, 1), evidence=float("inf")),
        lambda: Object((0, 0, 1, 1), (0, 0, 1, 1), whole_box=(1, 0, 0, 1)),
        lambda: Scene(2, 2, unexplained=np.zeros((3, 2), np.bool_)),
        lambda: Scene(0, 4),
        lambda: Scene(4, 4, (Object((0, 0, 1, 1), (0, 0, 1, 1), mask=np.zeros((4, 5), np.bool_)),)),
        lambda: Scene(4, 4, reconstruction=np.zeros((4, 4, 3), np.float32)),
        lambda: Component(np.zeros((4, 4), np.uint8)),
    ],
)
def test_what_makes_no_sense_is_refused(make: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - each message differs
        make()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 99}', full_scene().to_json()[:-9], "null"])
def test_a_damaged_text_gets_a_clear_error(text: str) -> None:
    with pytest.raises(UserError, match="scene"):
        Scene.from_json(text)


def test_a_mask_of_another_size_is_refused_before_it_is_decoded() -> None:
    content = json.loads(full_scene().to_json())
    content["objects"][0]["mask"]["size"] = [10**9, 10**9]
    with pytest.raises(UserError, match="does not fit"):
        Scene.from_json(json.dumps(content))


def test_reading_a_scene_needs_no_torch() -> None:
    code = "import sys, objectspace.scene; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_component_with_a_box_is_found_like_an_object() -> None:
    mask = np.zeros((4, 6), np.bool_)
    mask[1:3, 2:5] = True
    scene = Scene(4, 6, components=(Component(mask, box=(2, 1, 5, 3)), Component(~mask)))
    assert scene.objects == ()
    assert [item.box for item in scene.found] == [(2.0, 1.0, 5.0, 3.0)]
    assert scene.boxes.tolist() == scene.where_boxes.tolist() == [[2, 1, 5, 3]]
    again = Scene.from_json(scene.to_json())
    assert [part.box for part in again.components] == [(2.0, 1.0, 5.0, 3.0), None]


def test_scenes_written_before_components_had_boxes_can_be_read() -> None:
    content = json.loads(Scene(2, 2, components=(Component(np.ones((2, 2), np.bool_)),)).to_json())
    del content["components"][0]["box"]
    assert Scene.from_json(json.dumps(content)).found == ()


def test_scenes_written_before_there_was_evidence_can_be_read() -> None:
    content = json.loads(full_scene().to_json())
    del content["unexplained"], content["unexplained_share"]
    for item in content["objects"]:
        del item["whole_box"], item["evidence"]
    back = Scene.from_json(json.dumps(content))
    assert (back.unexplained, back.unexplained_share) == (None, None)
    assert (back.objects[0].whole_box, back.objects[0].evidence) == (None, None)


def test_what_is_not_understood_is_so_in_json_and_only_then() -> None:
    known, strange = Object((0, 0, 1, 1), (0, 0, 1, 1)), Object((1, 1, 2, 2), (1, 1, 2, 2), understood=False)
    scene = Scene(4, 4, (known, strange))
    written = json.loads(scene.to_json())["objects"]
    assert ["understood" in item for item in written] == [False, True]
    assert [item.understood for item in Scene.from_json(scene.to_json()).objects] == [True, False]
    assert scene.of_understood().objects == (known,)
