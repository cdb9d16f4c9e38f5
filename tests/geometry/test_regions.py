import numpy as np
import pytest

from objectspace.geometry.regions import find_regions

SIDE = 64
Y, X = np.mgrid[:SIDE, :SIDE] + 0.5
RED, BLUE, WHITE = (0.9, 0.1, 0.1), (0.1, 0.2, 0.9), (1.0, 1.0, 1.0)


def disc(x, y, radius):
    return (X - x) ** 2 + (Y - y) ** 2 < radius**2


def ellipse(x, y, long, short, angle):
    along, across = np.cos(angle) * (X - x) + np.sin(angle) * (Y - y), np.cos(angle) * (Y - y) - np.sin(angle) * (X - x)
    return (along / long) ** 2 + (across / short) ** 2 < 1


def painted(*things):
    image = np.full((SIDE, SIDE, 3), 0.5, np.float32)
    for mask, colour in things:
        image[mask] = colour
    return image


def tight(mask):
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return columns[0], rows[0], columns[-1] + 1, rows[-1] + 1


def test_separate_things_are_regions_with_tight_boxes_and_masks_the_largest_first():
    small, large = disc(12, 12, 4), disc(40, 40, 9)
    regions = find_regions((small | large) * 0.9)
    assert [region.box for region in regions] == [tight(large), tight(small)]
    for region, mask in zip(regions, (large, small), strict=True):
        x0, y0, x1, y1 = region.box
        np.testing.assert_array_equal(region.mask, mask[y0:y1, x0:x1])
        assert region.area == mask.sum()
    assert len(find_regions(small | large, most=1)) == 1


def test_touching_discs_of_two_colours_are_two():
    left, right = disc(20, 30, 10), disc(37, 30, 10)
    image = painted((left, RED), (right, BLUE))
    regions = find_regions(left | right, image)
    assert {region.box for region in regions} == {tight(left & ~right), tight(right)}


def test_overlapping_discs_of_one_colour_are_two_where_there_is_a_neck():
    left, right = disc(20, 30, 10), disc(37, 30, 10)
    assert len(find_regions(left | right, painted((left | right, RED)))) == 2
    assert len(find_regions(left | right)) == 2
    assert len(find_regions(left | right, split=False)) == 1


def test_a_dumbbell_is_two():
    assert len(find_regions(disc(16, 30, 8) | disc(46, 30, 8) | ((abs(Y - 30) < 2) & (abs(X - 31) < 15)))) == 2


@pytest.mark.parametrize("angle", [0.0, 0.4, 0.8, 1.3])
@pytest.mark.parametrize(("long", "short"), [(25, 9), (25, 4), (9, 8), (8, 3), (20, 15)])
def test_an_ellipse_is_one(long, short, angle):
    mask = ellipse(32, 31.3, long, short, angle)
    assert [region.box for region in find_regions(mask, painted((mask, RED)))] == [tight(mask)]


def test_a_cube_with_a_light_and_a_dark_face_is_one():
    mask = (abs(X - 32) + 2 * abs(Y - 20) < 24) | ((abs(X - 32) < 24) & (Y > 20) & (Y + abs(X - 32) / 2 < 52))
    top = abs(X - 32) + 2 * abs(Y - 20) < 24
    image = painted((mask, RED), (mask & (X > 32), np.multiply(RED, 0.55)), (top, np.multiply(RED, 1.1)))
    assert [region.box for region in find_regions(mask, image)] == [tight(mask)]


def test_a_die_with_pips_and_a_hole_is_one_without_holes():
    die = (abs(X - 30) < 14) & (abs(Y - 30) < 14)
    image = painted((die, WHITE), (disc(24, 24, 4), RED), (disc(36, 36, 4), RED))
    (region,) = find_regions(die & ~disc(30, 30, 2), image)
    assert region.area == die.sum()


def test_a_frame_around_the_image_is_not_filled():
    frame = (abs(X - 32) > 25) | (abs(Y - 32) > 25)
    frame[:3] = frame[-3:] = frame[:, :3] = frame[:, -3:] = False
    assert sum(region.area for region in find_regions(frame)) == frame.sum()


def test_a_shot_of_two_pixels_is_found_when_asked_for():
    shot = np.zeros((SIDE, SIDE))
    shot[10:12, 20] = 1
    assert [region.box for region in find_regions(shot, least_pixels=2)] == [(20, 10, 21, 12)]
    assert find_regions(shot) == []


def test_nothing_unexplained_gives_nothing_and_everything_one_region():
    assert find_regions(np.zeros((SIDE, SIDE))) == []
    (region,) = find_regions(np.ones((SIDE, SIDE)), painted())
    assert region.box == (0, 0, SIDE, SIDE)


def test_a_thing_cut_by_the_border_is_one():
    assert len(find_regions(disc(0, 30, 12))) == 1
    assert len(find_regions(disc(63, 63, 12))) == 1
