import numpy as np
import pytest

from objectspace.reports import pictures
from objectspace.scene import Object, Scene


def scene_with(box: tuple[float, float, float, float]) -> Scene:
    mask = np.zeros((20, 30), np.bool_)
    x0, y0, x1, y1 = (int(value) for value in box)
    mask[max(y0, 0) : y1, max(x0, 0) : x1] = True
    return Scene(20, 30, (Object(box, box, mask=mask),))


BLACK = np.zeros((20, 30, 3), np.uint8)


def test_a_frame_is_drawn_on_the_last_pixels_inside_the_box() -> None:
    picture = pictures.with_boxes(BLACK, scene_with((5, 4, 9, 10)), factor=1)
    rows, columns = np.nonzero(picture.any(axis=2))
    assert (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1) == (5, 4, 9, 10)
    assert not picture[6:8, 7].any(), "the frame is hollow"


def test_boxes_beyond_the_image_and_of_no_size_do_no_harm() -> None:
    for box in ((-9.0, -9.0, 90.0, 90.0), (3.0, 3.0, 3.0, 3.0), (50.0, 50.0, 60.0, 60.0)):
        assert pictures.with_boxes(BLACK, scene_with(box), factor=3).shape == (60, 90, 3)


def test_a_mask_is_painted_where_the_object_is() -> None:
    picture = pictures.with_masks(BLACK, scene_with((5, 4, 9, 10)), factor=1)
    painted = picture.std(axis=2) > 0
    assert painted[4:10, 5:9].all()
    assert painted.sum() == 24


def test_an_empty_scene_has_a_picture() -> None:
    assert pictures.contact_sheet([BLACK], [Scene(20, 30)], ["empty"], columns=4).shape[2] == 3


def test_tiles_of_different_sizes_share_a_sheet() -> None:
    tiles = [pictures.Tile(np.full((10, 10, 3), 7, np.uint8)), pictures.Tile(np.full((5, 20, 3), 8, np.uint8))] * 2
    sheet = pictures.sheet(tiles, columns=3)
    assert (sheet == 7).all(axis=2).sum() == 200
    assert (sheet == 8).all(axis=2).sum() == 200
    with pytest.raises(ValueError, match="at least one"):
        pictures.sheet([], columns=3)


def test_colours_differ_and_do_not_depend_on_the_count() -> None:
    assert len(set(pictures.palette(40))) == 40
    assert pictures.palette(40)[:5] == pictures.palette(5)
