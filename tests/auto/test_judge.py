"""Verdicts, from constructed numbers and scenes."""

from dataclasses import replace

import numpy as np
import pytest

from objectspace.auto.judge import Measures, judge, measure
from objectspace.scene import Object, Scene

FINE = Measures(
    images=20,
    objects=5.0,
    limit=0.5,
    regions=5.2,
    background=0.85,
    foreground=0.14,
    nobody=0.01,
    evidence=400.0,
    duplicates=0.0,
    strange=0.05,
    empty=0.0,
    bare=0.0,
    stability=0.9,
)


def test_what_explains_nearly_everything_is_good():
    assert judge(FINE).word == "good"


@pytest.mark.parametrize(
    ("change", "word", "reason"),
    [
        ({"objects": 0.0}, "failed", "no objects"),
        ({"strange": 1.0}, "failed", "no object is learned"),
        ({"limit": 1.0}, "failed", "full of objects"),
        ({"foreground": 0.95}, "failed", "cover 95%"),
        ({"nobody": 0.5}, "failed", "nobody explains 50%"),
        ({"nobody": 0.1}, "doubtful", "nobody explains 10.0%"),
        ({"objects": 2.0}, "doubtful", "2.0 objects where the background leaves 5.2"),
        ({"objects": 12.0}, "doubtful", "only 5.2 regions"),
        ({"duplicates": 0.4}, "doubtful", "40% of the objects lie on another"),
        ({"stability": 0.3}, "doubtful", "only 30%"),
        ({"evidence": 12.0}, "doubtful", "12 nats"),
        ({"strange": 0.6}, "doubtful", "not understood"),
        ({"empty": 0.6}, "doubtful", "60% of the images"),
    ],
)
def test_what_is_wrong_is_named_with_something_to_try(change, word, reason):
    verdict = judge(replace(FINE, **change))
    assert verdict.word == word
    assert any(reason in each for each in verdict.reasons)
    assert verdict.advice


def test_a_doubt_from_before_stays_a_doubt():
    assert judge(FINE, ["nothing stands out"]).word == "doubtful"


def scene(*boxes, unexplained=0):
    masks = []
    for x0, y0, x1, y1 in boxes:
        mask = np.zeros((20, 20), np.bool_)
        mask[y0:y1, x0:x1] = True
        masks.append(mask)
    left = np.zeros((20, 20), np.bool_)
    left[:unexplained] = True
    objects = tuple(Object(box, box, mask=mask, evidence=50.0) for box, mask in zip(boxes, masks, strict=True))
    return Scene(20, 20, objects, unexplained=left)


def test_measures_are_those_of_the_scenes():
    one, double = scene((0, 10, 10, 20), unexplained=2), scene((0, 10, 10, 20), (0, 11, 10, 20))
    seen = measure([one, double, scene()], [one, scene((0, 10, 10, 20)), scene()], [1, 1, 0], budget=2)
    assert seen.objects == 1
    assert seen.nobody == pytest.approx(0.1 / 3)
    assert seen.foreground == pytest.approx(0.5 / 3)
    assert seen.duplicates == pytest.approx(1 / 3)
    assert (seen.empty, seen.bare) == pytest.approx((1 / 3, 1 / 3))
    assert seen.limit == 0.5
    assert seen.stability == pytest.approx(2 * 2 / 5)
    assert seen.evidence == 50


def test_objects_that_tile_a_frame_are_a_doubt():
    frame = np.zeros((20, 20), np.bool_)
    frame[:5] = True
    found = scene((0, 0, 5, 5), (6, 0, 11, 5), (0, 10, 10, 20))
    seen = measure([found], None, [1], budget=10, ground=[frame])
    assert seen.on_ground == pytest.approx(2 / 3)
    assert "67% of the objects lie on ground" in str(judge(replace(FINE, on_ground=seen.on_ground)))
