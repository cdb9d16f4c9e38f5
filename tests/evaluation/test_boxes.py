import json
from pathlib import Path

import numpy as np
import pytest

from objectspace.evaluation.boxes import THRESHOLDS, count_errors, paper_ap, paper_ap_range

CASES = json.loads((Path(__file__).parents[1] / "data" / "official" / "ap_cases.json").read_text())["cases"]


def reorder(boxes: list) -> np.ndarray:
    """The published order y0 y1 x0 x1 as ours."""
    return np.array(boxes, float).reshape(len(boxes), -1)[:, [2, 0, 3, 1]] if boxes else np.zeros((0, 4))


def split(case: dict) -> tuple[list, list]:
    predictions = [(reorder(boxes), [box[4] for box in boxes]) for boxes in case["pred"]]
    return predictions, [reorder(boxes) for boxes in case["truth"]]


@pytest.mark.parametrize("case", CASES)
def test_average_precision_is_the_published_one(case: dict) -> None:
    predictions, truths = split(case)
    found = [paper_ap(predictions, truths, threshold) for threshold in THRESHOLDS]
    assert found == pytest.approx(case["ap"], abs=1e-9)
    assert paper_ap_range(predictions, truths) == pytest.approx(np.mean(case["ap"]), abs=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_counts_are_the_published_ones(case: dict) -> None:
    counts = count_errors(*split(case))
    assert counts.error_rate == pytest.approx(case["count_error"], abs=1e-9)
    assert counts.accuracy == pytest.approx(case["perfect"] / len(case["truth"]))
    assert (counts.overcount, counts.undercount) == (case["over"], case["under"])


BOX, FAR = [0, 0, 2, 2], [10, 10, 12, 12]


def test_all_found_is_one_and_ten_elevenths_without_the_last() -> None:
    truths = [[BOX, FAR]] * 50
    whole = [([BOX, FAR], [0.9, 0.8])] * 50
    assert paper_ap(whole, truths, 0.5) == 1
    assert paper_ap([*whole[1:], ([BOX], [0.9])], truths, 0.5) == pytest.approx(10 / 11)


def test_a_second_match_of_the_same_truth_is_false() -> None:
    assert paper_ap([([BOX, BOX, FAR], [0.9, 0.8, 0.7])], [[BOX, FAR]], 0.5) == pytest.approx((6 * 1 + 5 * 2 / 3) / 11)


def test_the_threshold_is_strict() -> None:
    assert paper_ap([([[0, 0, 2, 1]], [1])], [[BOX]], 0.5) == 0
    assert paper_ap([([[0, 0, 2, 1.01]], [1])], [[BOX]], 0.5) == 1


def test_equal_scores_keep_their_order() -> None:
    first = paper_ap([([BOX, FAR], [0.5, 0.5])], [[BOX]], 0.5)
    second = paper_ap([([FAR, BOX], [0.5, 0.5])], [[BOX]], 0.5)
    assert (first, second) == (1, 0.5)


def test_nothing_predicted_and_nothing_true_are_defined() -> None:
    assert paper_ap([([], [])], [[BOX]], 0.5) == 0
    assert np.isnan(paper_ap([([BOX], [1])], [[]], 0.5))
    counts = count_errors([([BOX], [1]), ([], [])], [[], []])
    assert np.isnan(counts.error_rate)
    assert (counts.empty, counts.accuracy, counts.overcount) == (2, 0.5, 1)


@pytest.mark.parametrize(
    ("predictions", "truths"),
    [
        ([([[0, 0, np.nan, 1]], [1])], [[BOX]]),
        ([([BOX], [np.nan])], [[BOX]]),
        ([([BOX], [1, 1])], [[BOX]]),
        ([([BOX], [1])], [[BOX], [BOX]]),
        ([([[1, 2, 3]], [1])], [[BOX]]),
    ],
)
def test_bad_input_is_an_error_never_a_number(predictions: list, truths: list) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - each message differs
        paper_ap(predictions, truths, 0.5)


def test_boxes_beyond_the_image_are_taken_as_they_are() -> None:
    assert paper_ap([([[-2, 0, 2, 2]], [1])], [[BOX]], 0.5) == 0
    assert paper_ap([([[-2, 0, 2, 2]], [1])], [[[-2, 0, 2, 2]]], 0.5) == 1
