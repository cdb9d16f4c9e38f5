"""The geometry of rooms against brute force: thousands of points on each solid's surface, projected one by one."""

import math

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from objectspace.data.rooms.layout import (
    HALF_FIELD,
    HALF_ROOM,
    MARGIN,
    VARIANTS,
    Layout,
    draw_count,
    draw_layout,
    footprint,
)
from objectspace.data.rooms.view import SHAPES, Camera, Solid, outline_boxes, outlines

CAMERA = Camera(position=(-3.2, 0.6, 1.8), azimuth=-0.2, pitch=0.4)


def surface(solid: Solid) -> np.ndarray:
    """Points (P, 3) on what bounds the solid's outline: all of a sphere, the rims of a cylinder, corners of a cube."""
    angles = np.linspace(0, 2 * math.pi, 361)
    if solid.shape == "sphere":
        a, b = (grid.ravel() for grid in np.meshgrid(angles, np.linspace(-math.pi / 2, math.pi / 2, 181)))
        unit = np.stack([np.cos(a) * np.cos(b), np.sin(a) * np.cos(b), np.sin(b)], axis=1)
    elif solid.shape == "cylinder":
        unit = np.concatenate([np.stack([np.cos(angles), np.sin(angles), 0 * angles + z], axis=1) for z in (-1, 1)])
    else:
        unit = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return solid.centre + solid.half * unit @ solid.turn.T


def layouts(variant: str, count: int) -> list[Layout]:
    rng = np.random.default_rng(7)
    drawn = (draw_layout(VARIANTS[variant], draw_count(VARIANTS[variant], rng), rng) for _ in range(count))
    return [layout for layout in drawn if layout is not None]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_box_touches_the_projected_surface_on_all_four_sides(shape: str) -> None:
    rng = np.random.default_rng(1)
    solids = [Solid(shape, *rng.uniform(-1, 1, 2), *rng.uniform(0.1, 0.4, 1), *rng.uniform(0, 7, 1)) for _ in range(20)]
    for solid, box in zip(solids, outline_boxes(solids, CAMERA), strict=True):
        points = CAMERA.project(surface(solid))
        assert box == pytest.approx([*points.min(axis=0), *points.max(axis=0)], abs=2e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_whole_outline_covers_the_pixels_in_the_hull_of_the_projected_surface(shape: str) -> None:
    solid, size = Solid(shape, 0.2, -0.1, 0.3, 0.5), 128
    sides = ConvexHull(CAMERA.project(surface(solid)) * size).equations  # (E, 3), outward normal and offset
    x, y = np.meshgrid(np.arange(size) + 0.5, np.arange(size) + 0.5)
    expected = int((sides @ np.stack([x.ravel(), y.ravel(), np.ones(size * size)]) <= 0).all(axis=0).sum())
    (outline,) = outlines([solid], CAMERA, size)
    assert outline.whole == outline.visible == pytest.approx(expected, abs=1)


def test_the_nearer_solid_hides_the_farther_one_whatever_their_order() -> None:
    camera = Camera((-3.0, 0.0, 1.0), 0.0, 0.3)
    near, far = Solid("cube", -0.5, 0.0, 0.3, 0.0), Solid("sphere", 0.5, 0.1, 0.3, 0.0)
    first, second = outlines([near, far], camera, 128)
    assert first.visible_fraction == 1.0
    assert 0 < second.visible_fraction < 0.9
    assert outlines([far, near], camera, 128) == [second, first]


def test_what_lies_beyond_the_border_counts_as_hidden() -> None:
    camera = Camera((-3.0, 0.0, 1.0), 0.0, 0.3)
    edge = 3.5 * math.tan(camera.field / 2)  # the right border at the solid's depth, roughly
    (outline,) = outlines([Solid("sphere", 0.5, -edge, 0.3, 0.0)], camera, 128)
    assert outline.box[2] > 128
    assert 0.3 < outline.visible_fraction < 0.7


@pytest.mark.parametrize("variant", VARIANTS)
def test_solids_stand_apart_inside_the_walls_with_their_centres_in_the_image(variant: str) -> None:
    rooms = layouts(variant, 60)
    assert len(rooms) > 40
    for room in rooms:
        low, high = VARIANTS[variant].count
        assert low <= len(room.solids) == len(room.colors) <= high
        places = np.array([(solid.x, solid.y) for solid in room.solids])
        radii = np.array([footprint(solid.shape, solid.half) for solid in room.solids])
        apart = np.hypot(*(places[:, None] - places).transpose(2, 0, 1)) + 9 * np.eye(len(places))
        assert (apart > radii[:, None] + radii).all()
        assert (np.abs(places) + radii[:, None]).max() < HALF_FIELD + radii.max() < HALF_ROOM
        centres = room.camera.project(np.stack([solid.centre for solid in room.solids]))
        assert np.abs(centres - 0.5).max() < 0.5 - MARGIN
        assert len({room.wall, room.ground, room.sky}) == 3


def test_everything_that_may_vary_varies() -> None:
    rooms = layouts("small", 150)
    assert {len(room.solids) for room in rooms} == {4, 5, 6, 7, 8}
    assert {solid.shape for room in rooms for solid in room.solids} == set(SHAPES)
    assert len({color for room in rooms for color in room.colors}) == 8
    for part in ("wall", "ground", "sky"):
        assert len({getattr(room, part) for room in rooms}) == 5
    azimuths = np.array([room.camera.azimuth for room in rooms])
    assert np.histogram(azimuths, bins=8, range=(0, 2 * math.pi))[0].min() > 5
