"""What each object is worth, against drawing the image with and without it."""

import pytest
import torch

from objectspace.ops import evidence
from objectspace.ops.compositing import colour_of, composite
from objectspace.ops.mixtures import mix_pixels
from objectspace.ops.resample import plan_windows

DOUBLE = torch.float64
CELLS = 16
SIZE = 24, 20
SIGMA = 0.15


def scene(count: int, images: int, dtype: torch.dtype = DOUBLE) -> dict[str, torch.Tensor]:
    """Crowded objects, some of them over the border, some hidden by others that weigh e^60 times as much."""
    generator = torch.Generator().manual_seed(3)

    def uniform(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=generator, dtype=DOUBLE)

    values = {
        "images": uniform(images, 3, *SIZE),
        "behind": 3 * uniform(images, 3, *SIZE) - 4,
        "pictures": uniform(count, 3, 8, 8),
        "alphas": (1.5 * uniform(count, 1, 8, 8)).clamp(max=1),
        "presence": uniform(count),
        "frame": torch.cat([0.3 + 0.4 * uniform(count, 2), 2.2 * uniform(count, 2) - 1.1], dim=1),
        "depth": 6 * uniform(count) - 3,
    }
    return {name: value.to(dtype) for name, value in values.items()}


def measured(values: dict[str, torch.Tensor], unknown: float, premultiplied: bool) -> torch.Tensor:
    count, images = len(values["frame"]), len(values["images"])
    windows = plan_windows(values["frame"], torch.arange(count) % images, SIZE, 8)
    return evidence.gains(
        **values, windows=windows, cells=CELLS, sigma=SIGMA, unknown=unknown, premultiplied=premultiplied
    )


def drawn(values: dict[str, torch.Tensor], unknown: float, premultiplied: bool) -> torch.Tensor:
    """The images drawn twice for every object."""
    count, images = len(values["frame"]), len(values["images"])
    windows = plan_windows(values["frame"], torch.arange(count) % images, SIZE, 8)
    result = []
    for number in range(count):
        both = []
        for there in (1.0, 0.0):
            presence = values["presence"].clone()
            presence[number] = there
            alphas = values["alphas"] * presence[:, None, None, None]
            layers = composite(
                values["pictures"] * alphas,
                alphas,
                values["frame"],
                values["depth"],
                windows,
                CELLS,
                (images, *SIZE),
            )
            mean = layers.image if premultiplied else colour_of(layers.image, layers.alpha)
            both.append(mix_pixels(values["images"], mean, layers.alpha, values["behind"], SIGMA, unknown).sum())
        result.append(both[0] - both[1])
    return torch.stack(result)


@pytest.mark.parametrize("premultiplied", [True, False])
@pytest.mark.parametrize("unknown", [0.0, 0.1])
@pytest.mark.parametrize(("count", "images"), [(1, 1), (9, 1), (12, 2)])
def test_gains_are_what_drawing_with_and_without_an_object_gives(count, images, unknown, premultiplied):
    values = scene(count, images)
    torch.testing.assert_close(measured(values, unknown, premultiplied), drawn(values, unknown, premultiplied))


def test_objects_that_are_all_present_hide_one_another_exactly():
    values = scene(9, 1) | {"presence": torch.ones(9, dtype=DOUBLE)}
    torch.testing.assert_close(measured(values, 0.1, False), drawn(values, 0.1, False))


def test_two_of_a_kind_are_each_worth_what_is_left():
    one = scene(1, 1)
    twice = {
        name: value if name in ("images", "behind") else value.repeat(2, *[1] * (value.dim() - 1))
        for name, value in one.items()
    }
    twice["presence"] = torch.ones(2, dtype=DOUBLE)
    worth = measured(twice, 0.1, False)
    torch.testing.assert_close(worth, drawn(twice, 0.1, False))
    assert worth[0] == worth[1]
    assert worth[0].abs() < 0.2 * measured(one, 0.1, False).abs()


def test_float32_takes_the_heaviest_away_without_losing_the_others():
    values = scene(12, 2)
    low = measured({name: value.float() for name, value in values.items()}, 0.1, False)
    torch.testing.assert_close(low.double(), drawn(values, 0.1, False), rtol=1e-3, atol=0.05)


def test_pieces_give_what_the_whole_gives(monkeypatch):
    values = scene(12, 2)
    whole = measured(values, 0.1, True)
    monkeypatch.setattr(evidence, "_TOGETHER", 300)
    torch.testing.assert_close(measured(values, 0.1, True), whole)


def test_no_objects_are_worth_nothing():
    assert measured(scene(0, 2), 0.1, True).shape == (0,)
