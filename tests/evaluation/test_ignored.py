"""Regions that count neither way."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.known import Known, perfect
from objectspace.evaluation.evaluate import evaluate
from objectspace.evaluation.ignored import covered, outside
from objectspace.scene import Object, Scene

SCORE = (5.0, 0.0, 8.0, 2.0)  # away from both true objects


def test_the_share_on_a_union_of_regions_is_that_of_the_pixels() -> None:
    random = np.random.default_rng(0)
    for _ in range(20):
        corners = np.sort(random.integers(0, 30, (9, 2, 2)), axis=1).reshape(9, 4).astype(float)
        boxes, regions = corners[:5], corners[5:]
        union = np.zeros((30, 30), np.bool_)
        for x0, y0, x1, y1 in regions.astype(int).tolist():
            union[y0:y1, x0:x1] = True
        pixels = [union[int(y0) : int(y1), int(x0) : int(x1)] for x0, y0, x1, y1 in boxes.tolist()]
        np.testing.assert_allclose(covered(boxes, regions), [part.mean() if part.size else 0 for part in pixels])


def test_without_boxes_or_regions_nothing_is_covered() -> None:
    none, one = np.zeros((0, 4)), np.array([[0.0, 0, 2, 2]])
    assert covered(none, one).shape == (0,)
    assert covered(one, none).tolist() == [0]


def test_half_of_a_box_must_lie_on_a_region() -> None:
    found = np.array([[0.0, 0, 2, 2], [0, 0, 2, 2.1]])
    boxes, scores = outside((found, [0.9, 0.8]), np.zeros((0, 4)), np.array([[0.0, 0, 2, 1]]), 0.3)
    assert (boxes.tolist(), scores.tolist()) == ([[0, 0, 2, 2.1]], [0.8])


def test_what_lies_on_an_object_stays_though_a_region_lies_there_too() -> None:
    box = np.array([[0.0, 0, 2, 2]])
    assert len(outside((box, [1.0]), box, box, 0.3)[0]) == 1
    assert len(outside((box, [1.0]), box + 10, box, 0.3)[0]) == 0


def with_a_digit(known: Known) -> Scene:
    """Both objects, and one found on the score."""
    scene = perfect(known)
    return replace(scene, objects=(*scene.objects, Object(SCORE, SCORE, score=2.0)))


def test_what_is_found_on_a_score_is_not_counted_and_strictly_it_is() -> None:
    known = Known(ignored=(SCORE,))
    report = evaluate([with_a_digit(known)] * 3, known, published=[with_a_digit(known)] * 3)
    for boxes in (report.visible, report.projected, report.published.boxes):
        assert (boxes.precision, boxes.recall, boxes.ap50) == (1, 1, 1)
    assert (report.objects, report.predicted, report.count_error, report.overcount) == (6, 6, 0, 0)
    assert (report.strict.predicted, report.strict.count_error, report.strict.overcount) == (9, 0.5, 3)
    assert report.strict.boxes.precision == pytest.approx(2 / 3)
    content = report.to_dict()
    assert (content["f1"], content["strict_f1"], content["strict_count_error"]) == (1, pytest.approx(0.8), 0.5)
    assert content["strict_ap50"] < content["ap50"]


def test_the_score_need_not_be_found() -> None:
    known = Known(ignored=(SCORE,))
    report = evaluate([perfect(known)] * 3, known)
    assert (report.visible.f1, report.strict.boxes.f1, report.count_error) == (1, 1, 0)


def test_without_such_regions_there_is_nothing_strict() -> None:
    assert not any(key.startswith("strict") for key in evaluate([perfect(Known())] * 3, Known()).to_dict())
