import numpy as np
import pytest

from objectspace.evaluation.boxes import paper_ap
from objectspace.evaluation.detection import detection

BOX: list[float] = [0, 0, 2, 2]
FAR: list[float] = [10, 10, 12, 12]


def test_precision_recall_and_f1_by_hand() -> None:
    near, half = [0, 0, 2, 1.5], [10, 10, 12, 11]
    found = detection([([near, FAR, FAR], [0.5, 0.9, 0.8]), ([half], [1])], [[BOX, FAR], [FAR, BOX]], 0.5)
    assert (found.precision, found.recall) == (3 / 4, 3 / 4), "an IoU of exactly the threshold is enough"
    assert found.f1 == pytest.approx(3 / 4)
    assert detection([([half], [1])], [[FAR, BOX]], 0.51).recall == 0


def test_the_threshold_can_be_lower() -> None:
    third = [1, 0, 3, 2]
    assert detection([([third], [1])], [[BOX]], 0.5).recall == 0
    assert detection([([third], [1])], [[BOX]], 0.3).recall == 1


def test_a_prediction_whose_truth_is_taken_may_find_another() -> None:
    """Unlike in the paper's AP."""
    first, second = [0, 0, 10, 10], [0, 0, 10, 11]
    predictions, truths = [([first, [0, 0, 10, 10.1]], [0.9, 0.8])], [[first, second]]
    assert detection(predictions, truths).recall == 1
    assert paper_ap(predictions, truths, 0.5) < 1


def test_recall_by_category_asks_who_was_found() -> None:
    found = detection([([BOX], [1]), ([FAR], [1])], [[BOX, FAR], [BOX]], 0.5, [["cube", "ball"], ["cube"]])
    assert found.recall_by_category == {"ball": 0, "cube": 0.5}
    with pytest.raises(ValueError, match="one category"):
        detection([([BOX], [1])], [[BOX, FAR]], 0.5, [["cube"]])


def test_detection_of_nothing_is_defined() -> None:
    missed = detection([([], [])], [[BOX]])
    assert (missed.recall, missed.f1) == (0, 0)
    assert np.isnan(missed.precision)
    false = detection([([BOX], [1])], [[]])
    assert (false.precision, false.f1) == (0, 0)
    assert np.isnan(false.recall)
    assert np.isnan(detection([([], [])], [[]]).f1)


@pytest.mark.parametrize("threshold", [0, -1, 1.1, float("nan")])
def test_a_threshold_that_makes_no_sense_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="IoU threshold"):
        detection([([BOX], [1])], [[]], threshold)


@pytest.mark.parametrize(("scores", "recall"), [([0.9, 0.8], 0.5), ([0.8, 0.9], 1)])
def test_the_best_scored_prediction_chooses_first(scores: list, recall: float) -> None:
    either, one_only = [0, 0, 10, 11], [0, 0, 10, 6]
    assert detection([([either, one_only], scores)], [[[0, 0, 10, 10], [0, 0, 10, 14]]]).recall == recall
