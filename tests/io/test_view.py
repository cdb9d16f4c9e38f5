"""How a picture is stretched, scaled and cut: at its full depth, by whole pictures, bytes out."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pydantic import ValidationError

from objectspace.config import View
from objectspace.io.images import read_deep, read_image, resize
from objectspace.io.view import at_scale, for_training, stretched, tile_of, to_bytes

DARK = np.arange(100, 400, dtype=np.uint16).reshape(15, 20, 1).repeat(3, axis=2)  # 12 bit: next to nothing of 65535


@pytest.mark.parametrize(("low", "high"), [(1, 99.7), (0, 100), (12.5, 50)])
def test_each_picture_by_its_own_percentiles_which_are_those_of_numpy(low: float, high: float) -> None:
    black, white = np.percentile(DARK, [low, high])
    expected = np.rint(255 * ((DARK - black) / (white - black)).clip(0, 1))
    assert np.array_equal(stretched(DARK, View(stretch="each", low=low, high=high)), expected)


def test_all_pictures_by_the_same_values() -> None:
    view = View(stretch="all", low=100 / 65535, high=399 / 65535, gamma=0.5)
    assert np.array_equal(stretched(DARK, view), np.rint(255 * ((DARK - 100) / 299.0) ** 0.5))
    assert stretched(np.zeros_like(DARK), view).max() == 0
    assert stretched(DARK + np.uint16(1000), view).min() == 255


@pytest.mark.parametrize("view", [View(stretch="each"), View(stretch="all", low=0.1, high=0.7), View(gamma=0.7)])
def test_bytes_and_the_words_that_mean_the_same_give_the_same(view: View) -> None:
    image = np.random.default_rng(0).integers(20, 140, (31, 17, 3), np.uint8)
    assert np.array_equal(stretched(image, view), stretched(image.astype(np.uint16) * 257, view))


def test_a_picture_of_one_value_keeps_its_brightness() -> None:
    assert stretched(np.full((4, 4, 3), 128, np.uint8), View(stretch="each")).tolist() == [[[128] * 3] * 4] * 4


def test_nothing_asked_for_is_nothing_done() -> None:
    image = np.random.default_rng(0).integers(0, 256, (8, 9, 3), np.uint8)
    assert np.array_equal(stretched(image, View()), image)
    assert np.array_equal(stretched(DARK, View()), to_bytes(DARK))


def test_a_file_of_words_is_read_as_words_and_others_as_bytes(tmp_path: Path) -> None:
    for name in ("a.png", "a.tif"):
        Image.fromarray(DARK[..., 0]).save(tmp_path / name)
        assert np.array_equal(read_deep(tmp_path / name), DARK)
        assert np.array_equal(read_image(tmp_path / name), to_bytes(DARK))
    Image.fromarray(to_bytes(DARK)).save(tmp_path / "b.png")
    assert read_deep(tmp_path / "b.png").dtype == np.uint8


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"stretch": "all", "low": 0.5, "high": 0.2}, "less than"),
        ({"stretch": "all", "high": 3}, "fraction"),
        ({"low": 0.1}, "set stretch"),
        ({"scale": float("nan")}, "finite"),
        ({"gamma": 0}, "greater than 0"),
        ({"scale": -1}, "at least 0|greater than or equal"),
        ({"stretch": "some"}, "each"),
    ],
)
def test_a_view_that_makes_no_sense_is_refused(given: dict[str, float], word: str) -> None:
    with pytest.raises(ValidationError, match=word):
        View.model_validate(given)


def test_changing_the_stretch_alone_changes_the_range_with_it() -> None:
    before = View().model_dump()
    assert View.model_validate(before | {"stretch": "each"}) == View(stretch="each", low=1, high=99.7)
    assert View.model_validate(View(stretch="each").model_dump() | {"stretch": "none"}) == View()


def test_training_sees_the_whole_picture_resized_or_tiles_of_it_at_the_scale() -> None:
    image = np.random.default_rng(0).integers(0, 256, (90, 120, 3), np.uint8)
    whole, corners = for_training(image, View(), (32, 32), np.random.default_rng(0))
    assert np.array_equal(whole, resize(image, 32, 32)[None])
    assert corners.tolist() == [[0, 0]]
    tiles, corners = for_training(image, View(scale=0.5), (16, 16), np.random.default_rng(0))
    assert tiles.shape == (11, 16, 16, 3), "as many as cover 45 x 60 pixels once"
    shown = at_scale(image, 0.5)
    for tile, (top, left) in zip(tiles, corners.tolist(), strict=True):
        assert np.array_equal(tile, shown[top : top + 16, left : left + 16])
    again, _ = for_training(image, View(scale=0.5), (16, 16), np.random.default_rng(0))
    assert np.array_equal(tiles, again), "the generator alone decides"


@pytest.mark.parametrize("size", [(1, 1), (1, 300), (5, 3), (300, 1)])
def test_a_picture_smaller_than_a_tile_is_mirrored_outwards(size: tuple[int, int]) -> None:
    image = np.random.default_rng(0).integers(0, 256, (*size, 3), np.uint8)
    tiles, _ = for_training(image, View(scale=1), (32, 32), np.random.default_rng(0))
    assert tiles.shape[1:] == (32, 32, 3)
    tile = tile_of(image, (0, 0), (32, 32))
    assert np.array_equal(tile[: size[0], : size[1]], image[:32, :32])
