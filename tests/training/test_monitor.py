from dataclasses import replace

import numpy as np
import pytest

from objectspace.models.parts.settings import GridConfig
from objectspace.scene import Component, Object, Scene
from objectspace.training.monitor import PATIENCE, Vitals, Watch, vitals

OF_CELLS = GridConfig.collapses
WELL = Vitals(objects=6, coverage=0.2, duplicates=0.1, largest_component=0.6, components=5)


@pytest.mark.parametrize(
    ("change", "name", "fatal"),
    [
        ({"objects": 0.0}, "all-background", True),
        ({"coverage": 0.97}, "all-foreground", True),
        ({"objects": 62.0}, "every-cell", True),
        ({"duplicates": 0.8}, "splitting", False),
        ({"largest_component": 0.999}, "dead-background", False),
    ],
)
def test_a_collapse_is_named_once_when_it_has_lasted(change: dict, name: str, fatal: bool) -> None:
    watch, ill = Watch(64, OF_CELLS, grace=100), replace(WELL, **change)
    assert watch.check(50, ill) == [], "too early to tell"
    seen = [watch.check(100 + step, ill) for step in range(PATIENCE + 2)]
    assert [len(found) for found in seen] == [0] * (PATIENCE - 1) + [1, 0, 0]
    assert seen[PATIENCE - 1][0].name == name
    assert seen[PATIENCE - 1][0].fatal == fatal


def test_a_model_of_components_only_is_lost_when_one_of_them_draws_everything() -> None:
    watch, ill = Watch(0, frozenset({"one-component"}), grace=0), replace(WELL, largest_component=0.999)
    seen = [watch.check(step, ill) for step in range(PATIENCE)]
    assert [collapse.name for collapse in seen[-1]] == ["one-component"]
    assert seen[-1][0].fatal


def test_a_moment_of_weakness_is_forgiven() -> None:
    watch = Watch(64, OF_CELLS, grace=0)
    for step, state in enumerate([replace(WELL, objects=0.0), WELL] * 5):
        assert watch.check(step, state) == []


def test_one_component_is_no_dead_background() -> None:
    watch = Watch(64, OF_CELLS, grace=0)
    single = replace(WELL, components=1, largest_component=1.0)
    assert not any(watch.check(step, single) for step in range(5))


def test_vitals_are_measured_on_scenes() -> None:
    left = np.zeros((10, 10), np.bool_)
    left[:, :5] = True
    boxes = [(0, 0, 5, 10), (0, 0, 5, 9), (6, 0, 9, 3)]
    objects = tuple(Object(box, box, mask=left if number == 0 else ~left & False) for number, box in enumerate(boxes))
    seen = vitals([Scene(10, 10, objects, (Component(left), Component(~left))), Scene(10, 10)])
    assert seen == Vitals(objects=1.5, coverage=0.25, duplicates=2 / 3, largest_component=0.25, components=2)
