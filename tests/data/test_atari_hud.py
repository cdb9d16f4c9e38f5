"""Scores and lives of real games: needs the extra `atari`."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from objectspace.data import Dataset
from objectspace.data.atari import AtariSource, source, streams
from objectspace.data.atari.hud import Hud
from objectspace.data.atari.truth import ScreenObject
from objectspace.data.generate import generate
from objectspace.data.sample import Sample


@pytest.fixture(scope="module", autouse=True)
def short() -> Iterator[None]:
    """Units of a few frames: the hud is there from the first one on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "UNIT", 16)
        yield


@pytest.fixture(scope="module")
def invaders() -> list[Sample]:
    return AtariSource(("SpaceInvaders",)).make("train", "SpaceInvaders", 0)


def test_scores_and_lives_are_regions_that_count_neither_way(invaders: list[Sample]) -> None:
    names = Counter(item.category for sample in invaders for item in sample.ignored)
    assert set(names) == {"P1Score", "P2Score", "Lives"}
    assert names["P1Score"] > len(invaders) / 2
    assert not {item.category for sample in invaders for item in sample.objects} & set(names)


def test_their_boxes_hold_the_light_of_the_top_of_the_screen(invaders: list[Sample]) -> None:
    for sample in invaders:
        light = sample.image[:14].max(axis=2) > 40
        for item in (*sample.ignored, *sample.objects):  # the saucer flies up there
            x0, y0, x1, y1 = item.box
            light[int(y0) : int(np.ceil(y1)), int(x0) : int(np.ceil(x1))] = False
        assert light.sum() <= 4


def test_what_is_an_object_is_no_part_of_the_display() -> None:
    hud = Hud("Riverraid")
    hud.restart()
    screen = np.zeros((210, 160, 3), np.uint8)
    screen[174:190, 65:104] = 200
    fuel = (65.0, 174.0, 104.0, 190.0)
    assert [(item.category, item.box) for item in hud.parts(screen, [])] == [("Fuel", fuel)]
    assert hud.parts(screen, [ScreenObject("Bridge", fuel, "ram")]) == []
    assert hud.parts(np.zeros_like(screen), []) == [], "a part that does not show is not there"


def test_rules_that_fail_leave_the_display_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    hud = Hud("SpaceInvaders")
    hud.restart()

    def fail(*arguments: object) -> None:
        raise IndexError

    monkeypatch.setattr(hud._ram, "_detect_objects_ram", fail)
    monkeypatch.setattr(hud._vision, "_detect_objects", fail)
    hud.follow(np.zeros(128, np.uint8))
    assert hud.parts(np.full((210, 160, 3), 7, np.uint8), []) == []


@pytest.mark.slow
def test_a_data_set_keeps_them_apart_from_the_objects(tmp_path: Path) -> None:
    games = ("MsPacman", "Riverraid")
    generate(AtariSource(games, size=64), tmp_path / "set", streams(games, {"train": 8}), workers=1)
    dataset = Dataset(tmp_path / "set", "train")
    content = json.loads((tmp_path / "set" / "train" / "annotations.json").read_text())
    crowds = sum(each["iscrowd"] for each in content["annotations"])
    assert sum(len(dataset.ignored_boxes(index)) for index in range(16)) == crowds >= 2 * 16
    assert dataset.object_count == len(content["annotations"]) - crowds
    counted = json.loads((tmp_path / "set" / "dataset.json").read_text())["summary"]["agreement"]
    assert dataset.object_count == sum(game["objects"] for game in counted.values())
