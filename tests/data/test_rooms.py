"""Rooms as they come out: every picture, box, mask and number consistent with the others."""

import dataclasses
import filecmp
import math
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import binary_dilation

from objectspace.data.generate import generate
from objectspace.data.rooms import RoomsSource, render
from objectspace.data.rooms.layout import ROOM_COLORS, SOLID_COLORS, VARIANTS, Layout, draw_layout
from objectspace.data.rooms.opengl import import_mujoco
from objectspace.data.rooms.render import FIRST_SOLID, FLOOR, SKY, WALL, renderer
from objectspace.data.rooms.truth import all_drawn, all_visible
from objectspace.data.rooms.view import Camera, Outline, Solid, outlines
from objectspace.data.sample import Sample
from objectspace.data.source import Source
from objectspace.data.streams import Stream
from objectspace.errors import UserError
from objectspace.geometry import rle
from objectspace.io.files import read_json


@pytest.fixture(scope="module", params=["small", "large"])
def rooms(request: pytest.FixtureRequest) -> list[Sample]:
    source = RoomsSource(request.param, seed=3)
    return [source.room("train", index) for index in range(12)]


def a_room(*solids: Solid, color: str = "red") -> Layout:
    camera = Camera((-3.2, 0.0, 1.9), 0.0, 0.42)
    return Layout(camera, solids, (color,) * len(solids), wall="sage", ground="sand", sky="stone")


def test_every_solid_can_be_seen(rooms: list[Sample]) -> None:
    for room in rooms:
        for item in room.objects:
            assert item.mask is not None
            assert rle.area(item.mask) >= 40
            assert 0.25 <= item.attributes["visible_fraction"] <= 1


def test_the_box_holds_the_visible_box_and_equals_it_where_nothing_hides_the_solid(rooms: list[Sample]) -> None:
    free = 0
    for item in (item for room in rooms for item in room.objects):
        assert item.visible_box is not None
        outward = np.array([-1, -1, 1, 1]) * (np.array(item.visible_box) - item.box)
        assert outward.max() <= 0.5  # a pixel belongs to a solid when its centre does
        assert 0 <= min(item.box) <= max(item.box) <= 128
        if item.attributes["visible_fraction"] == 1:
            free += 1
            assert outward.min() > -1.2
    assert free > 20


def test_masks_of_solids_floor_wall_and_sky_cover_every_pixel_once(rooms: list[Sample]) -> None:
    for room in rooms:
        assert set(room.ground) == {"floor", "wall", "sky"}
        masks = [*room.ground.values(), *(item.mask for item in room.objects if item.mask is not None)]
        assert (sum(rle.decode(mask).astype(int) for mask in masks) == 1).all()
        assert all(rle.area(mask) > 200 for mask in room.ground.values())


def test_a_mask_lies_on_pixels_of_its_colour(rooms: list[Sample]) -> None:
    names, colors = list(SOLID_COLORS), np.array(list(SOLID_COLORS.values()))
    colors /= np.linalg.norm(colors, axis=1, keepdims=True)
    for room in rooms:
        for item in room.objects:
            assert item.mask is not None
            seen = np.median(room.image[rle.decode(item.mask)], axis=0)
            assert names[int((colors @ seen).argmax())] == item.attributes["color"]


def test_visible_fraction_is_the_share_of_the_solid_drawn_alone() -> None:
    rng, canvas, checked = np.random.default_rng(4), renderer(128), 0
    while checked < 40:
        layout = draw_layout(VARIANTS["large"], 20, rng)
        if layout is None:
            continue
        together, _ = canvas.draw(layout)
        for index, outline in enumerate(outlines(layout.solids, layout.camera, 128)):
            if min(outline.box) < 0 or max(outline.box) > 128:
                continue
            alone = dataclasses.replace(layout, solids=(layout.solids[index],), colors=(layout.colors[index],))
            whole = (canvas.draw(alone)[0] == FIRST_SOLID).sum()
            assert abs(whole - outline.whole) <= 0.06 * outline.whole  # facets and rounding at the rim
            fraction = (together == FIRST_SOLID + index).sum() / whole
            assert fraction == pytest.approx(outline.visible_fraction, abs=0.04)
            checked += 1


def test_no_near_wall_and_always_sky() -> None:
    rng, canvas = np.random.default_rng(5), renderer(64)
    for _ in range(60):
        layout = draw_layout(VARIANTS["small"], 6, rng)
        assert layout is not None
        labels, _ = canvas.draw(dataclasses.replace(layout, solids=(), colors=()))
        assert (labels[0] == SKY).all()
        assert (labels[-1] == FLOOR).all()
        assert (labels == WALL).sum() > 200


def test_shadows_on_the_floor_have_soft_edges() -> None:
    facing_the_light = dataclasses.replace(
        a_room(Solid("cube", 0.0, 0.0, 0.3, 0.0)), camera=Camera((3.2, 0.0, 1.9), math.pi, 0.42)
    )
    labels, image = renderer(128).draw(facing_the_light)
    floor = image[(labels == FLOOR) & ~binary_dilation(labels == FIRST_SOLID, iterations=2)].astype(int).sum(axis=1)
    depth = (floor.max() - floor) / (floor.max() - floor.min())
    assert floor.min() < 0.75 * floor.max()
    assert (depth > 0.9).sum() > 30
    assert ((depth > 0.1) & (depth < 0.9)).sum() > 0.7 * (depth > 0.9).sum()  # in half shadow


def test_a_solid_does_not_speckle_itself_with_shadows() -> None:
    solid = Solid("cylinder", -0.9, 0.0, 0.3, 0.0)
    layout = a_room(solid)
    _, image = renderer(128).draw(layout)
    angles = np.linspace(0, 6, 60)
    rings = [r * np.stack([np.cos(angles), np.sin(angles), 0 * angles], 1) for r in (0.05, 0.1, 0.15, 0.2, 0.25)]
    lid = np.concatenate(rings) + np.array([solid.x, solid.y, 2 * solid.half])
    x, y = (128 * layout.camera.project(lid)).astype(int).T
    assert np.ptp(image[y, x].astype(int), axis=0).max() <= 4


def test_floor_wall_and_sky_have_the_colours_they_are_said_to_have(rooms: list[Sample]) -> None:
    for room in rooms:
        for part in ("floor", "wall", "sky"):
            seen = np.median(room.image[rle.decode(room.ground[part])], axis=0)
            said = 255 * np.array(ROOM_COLORS[str(room.attributes[f"{part}_color"])])
            assert seen @ said > 0.998 * np.linalg.norm(seen) * np.linalg.norm(said)
            assert part != "sky" or np.abs(seen - said).max() <= 1


@pytest.mark.parametrize(
    ("whole", "visible", "enough"), [(1000, 300, True), (1000, 240, False), (60, 50, True), (60, 39, False)]
)
def test_a_room_needs_a_quarter_and_forty_pixels_of_every_solid(whole: int, visible: int, enough: bool) -> None:
    good, outline = Outline((0, 0, 9, 9), 500, 500), Outline((0, 0, 9, 9), whole, visible)
    assert all_visible([good, outline], 128) is enough
    labels = np.zeros((128, 128), np.uint8)
    labels.flat[:500], labels.flat[500 : 500 + visible] = FIRST_SOLID, FIRST_SOLID + 1
    assert all_drawn([good, outline], labels) is enough


def test_a_room_is_the_same_whatever_was_drawn_before() -> None:
    source = RoomsSource("large", size=64, seed=1)
    direct = source.room("val", 5)
    for other in (RoomsSource("small", size=64), RoomsSource("large", size=96), source):
        other.room("train", 0)
    again = source.room("val", 5)
    assert (direct.image == again.image).all()
    assert direct.objects == again.objects
    assert direct.ground == again.ground


def test_seed_split_and_number_each_give_another_room() -> None:
    source = RoomsSource(size=48)
    rooms = [
        source.room("train", 0),
        source.room("train", 1),
        source.room("val", 0),
        RoomsSource(size=48, seed=1).room("train", 0),
    ]
    assert len({room.image.tobytes() for room in rooms}) == 4


def test_a_unit_holds_consecutive_rooms() -> None:
    source: Source = RoomsSource(size=32)
    unit = source.make("train", "", 1)
    assert unit is not None
    last = unit[-1]
    assert isinstance(last, Sample)
    assert (last.image == RoomsSource(size=32).room("train", 2 * len(unit) - 1).image).all()


def test_another_size_shows_the_same_room() -> None:
    large, small = (RoomsSource("large", size=size).room("train", 0) for size in (128, 64))
    assert [item.attributes["color"] for item in large.objects] == [item.attributes["color"] for item in small.objects]
    halved = large.image.reshape(64, 2, 64, 2, 3).mean(axis=(1, 3))
    assert np.abs(halved - small.image).mean() < 6


@pytest.mark.slow
def test_the_data_set_does_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    for workers in (1, 2):
        made = generate(RoomsSource(size=48), tmp_path / str(workers), [Stream("train", 20), Stream("val", 3)], workers)
        assert made.images == 23
    files = [path.relative_to(tmp_path / "1") for path in (tmp_path / "1").rglob("*.*") if path.name != "log.jsonl"]
    assert len(files) == 20 + 3 + 2 + 1
    _, different, missing = filecmp.cmpfiles(tmp_path / "1", tmp_path / "2", list(map(str, files)), shallow=False)
    assert not different + missing
    summary = read_json(tmp_path / "1" / "dataset.json")["summary"]
    assert sum(summary["objects_per_image"].values()) == 23
    assert sum(summary["shapes"].values()) == sum(summary["colors"].values())


@pytest.mark.parametrize(
    ("arguments", "says"), [({"variant": "huge"}, "small, large"), ({"size": 16}, "32"), ({"seed": -1}, "negative")]
)
def test_unusable_settings_are_refused(arguments: dict[str, int], says: str) -> None:
    with pytest.raises(UserError, match=says):
        RoomsSource(**arguments)


def test_without_mujoco_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(UserError, match=r"objectspace\[rooms\]"):
        render.Renderer(32)


def test_without_opengl_the_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AttributeError("'NoneType' object has no attribute 'eglQueryString'")

    monkeypatch.setattr(render, "opengl_context", fail)
    with pytest.raises(UserError, match="apt-get install libegl1 libgl1-mesa-dri"):
        render.Renderer(32)


def test_the_users_environment_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LP_NUM_THREADS", "3")
    monkeypatch.setenv("MUJOCO_GL", "glfw")
    import_mujoco()
    assert (os.environ["LP_NUM_THREADS"], os.environ["MUJOCO_GL"]) == ("3", "glfw")
