import numpy as np
import pytest
from scipy.ndimage import binary_dilation

from objectspace.data.sprites import SHAPES, SpritesSource
from objectspace.errors import UserError
from objectspace.geometry import rle


def scenes(source: SpritesSource, count: int = 40):
    return source.make("train", "", 0)[:count]


def test_scenes_have_as_many_sprites_as_asked() -> None:
    counts = {len(sample.objects) for sample in scenes(SpritesSource(least=1, most=4), 64)}
    assert counts == {1, 2, 3, 4}


def test_any_size_any_count() -> None:
    sample = scenes(SpritesSource(height=40, width=97, least=9, most=9, smallest=0.1, largest=0.2), 1)[0]
    assert sample.image.shape == (40, 97, 3)
    assert sample.image.dtype == np.uint8
    assert len(sample.objects) == 9
    assert not scenes(SpritesSource(least=0, most=0), 1)[0].objects


def test_boxes_are_tight_around_masks_and_masks_do_not_overlap() -> None:
    for sample in scenes(SpritesSource(least=4, most=6)):
        taken = np.zeros(sample.image.shape[:2], int)
        for item in sample.objects:
            mask = rle.decode(item.mask)
            taken += mask
            rows, columns = np.nonzero(mask)
            assert item.visible_box == (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
            assert item.box[0] <= item.visible_box[0]
            assert item.box[3] >= item.visible_box[3]
        assert taken.max() <= 1


def test_the_front_sprite_hides_the_others_and_all_stay_visible() -> None:
    fractions = [
        item.attributes["visible_fraction"]
        for sample in scenes(SpritesSource(least=5, most=6), 64)
        for item in sample.objects
    ]
    assert min(fractions) >= 1 / 3 - 1e-4
    assert min(fractions) < 0.9, "nothing was ever hidden"
    assert all(
        sample.objects[-1].attributes["visible_fraction"] == 1 for sample in scenes(SpritesSource(least=5, most=6))
    )


def test_a_mask_covers_the_pixels_of_its_colour() -> None:
    """On a plain ground, a pixel in no mask has the ground's colour or is an edge pixel beside a mask."""
    for sample in scenes(SpritesSource(ground="plain", height=64, width=64)):
        covered = np.zeros((64, 64), np.bool_)
        for item in sample.objects:
            covered |= rle.decode(item.mask)
        near = binary_dilation(covered, np.ones((3, 3)), iterations=2)  # a star's tip is thinner than a pixel
        ground = sample.image[~near]
        assert (ground == ground[0]).all()
        assert not (sample.image[covered] == ground[0]).all(axis=1).any()


def test_every_shape_and_ground_occurs() -> None:
    assert {item.category for sample in scenes(SpritesSource()) for item in sample.objects} == set(SHAPES)
    plain, gradient, textured = (
        scenes(SpritesSource(ground=ground, least=0, most=0), 1)[0].image.astype(int).sum(2)
        for ground in ("plain", "gradient", "textured")
    )
    assert np.ptp(plain) == 0
    assert np.ptp(gradient) > 10
    slopes = np.diff(gradient, axis=1)
    assert slopes.min() >= -3 if slopes.mean() > 0 else slopes.max() <= 3, "it rises or falls, but for rounding"
    assert np.diff(textured, axis=1).min() < -3 < 3 < np.diff(textured, axis=1).max(), "it goes up and down"


def test_a_scene_depends_on_seed_split_and_number_alone() -> None:
    first, again = SpritesSource(seed=3).make("val", "", 2), SpritesSource(seed=3).make("val", "", 2)
    assert all(np.array_equal(a.image, b.image) and a.objects == b.objects for a, b in zip(first, again, strict=True))
    others = [SpritesSource(seed=4).make("val", "", 2), SpritesSource(seed=3).make("test", "", 2)]
    assert not any(np.array_equal(first[0].image, other[0].image) for other in others)


@pytest.mark.parametrize(
    "wrong", [{"height": 4}, {"least": 3, "most": 2}, {"smallest": 0.0}, {"largest": 1.5}, {"ground": "lava"}]
)
def test_impossible_settings_are_refused(wrong: dict) -> None:
    with pytest.raises(UserError):
        SpritesSource(**wrong)


def test_sprites_that_do_not_fit_are_an_error_not_an_endless_search() -> None:
    with pytest.raises(UserError, match="do not fit"):
        scenes(SpritesSource(height=32, width=32, least=40, most=40, smallest=0.9, largest=0.9), 1)
