"""How good boxes are: the paper's average precision and its object counts.

Convention: boxes are (n, 4) as x0 y0 x1 y1 in any unit. Predictions are one (boxes, scores) an image, truths one (m, 4)
an image, both lists in the same order.

The paper's average precision departs from COCO's: the precision is interpolated at the eleven recalls 0, 0.1, ..., 1;
a prediction can match only the truth it overlaps most, with an IoU strictly above the threshold; when that truth is
taken already by a better-scored prediction, it counts as false. Without perfect recall it cannot pass 10/11 = 0.909.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Prediction = tuple[ArrayLike, ArrayLike]  # boxes (n, 4), scores (n,)

THRESHOLDS = tuple(round(0.5 + 0.05 * step, 2) for step in range(10))


@dataclass(frozen=True)
class CountErrors:
    """How well the number of objects is found, over the images that have any; `empty` images have none."""

    error_rate: float  # mean |found - true| / true; NaN where no image has an object
    accuracy: float  # share of all images with exactly the right number
    overcount: int  # images in which too many were found
    undercount: int  # images in which too few were found
    empty: int  # images without a true object: they count in all but the error rate


def iou(first: ArrayLike, second: ArrayLike) -> Floats:
    """Intersection over union of boxes (n, 4) and (m, 4): (n, m). Two boxes without area have none in common."""
    a, b = as_boxes(first), as_boxes(second)
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    common = (high - low).clip(min=0).prod(-1)
    union = _area(a)[:, None] + _area(b)[None, :] - common
    return np.asarray(np.divide(common, union, out=np.zeros_like(common), where=union > 0), np.float64)


def paper_ap(predictions: Sequence[Prediction], truths: Sequence[ArrayLike], iou: float) -> float:
    """The paper's average precision at one IoU threshold.

    Equal scores keep their order. Without any truth there is nothing to recall and the value is NaN; with truths but no
    prediction it is 0.
    """
    scores, correct, total = _match(predictions, truths, iou)
    if total == 0:
        return float("nan")
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(correct[order])
    precision, recall = hits / np.arange(1, len(hits) + 1), hits / total
    reached = [precision[recall >= level].max(initial=0.0) for level in np.linspace(0, 1, 11)]
    return float(np.mean(reached))


def paper_ap_range(predictions: Sequence[Prediction], truths: Sequence[ArrayLike]) -> float:
    """The paper's AP over IoU thresholds [0.5 : 0.05 : 0.95], their mean."""
    return float(np.mean([paper_ap(predictions, truths, threshold) for threshold in THRESHOLDS]))


def count_errors(predictions: Sequence[Prediction], truths: Sequence[ArrayLike]) -> CountErrors:
    """Compare the number of predicted and of true boxes, image by image."""
    _check_lengths(predictions, truths)
    found = np.array([len(as_boxes(boxes)) for boxes, _ in predictions], np.int64)
    true = np.array([len(as_boxes(boxes)) for boxes in truths], np.int64)
    if not len(true):
        raise ValueError("there is no image to count objects in")
    some = true > 0
    return CountErrors(
        error_rate=float(np.mean(np.abs(found - true)[some] / true[some])) if some.any() else float("nan"),
        accuracy=float(np.mean(found == true)),
        overcount=int((found > true).sum()),
        undercount=int((found < true).sum()),
        empty=int((~some).sum()),
    )


def as_boxes(boxes: ArrayLike) -> Floats:
    """Boxes as an array (n, 4), checked to be finite; one that is turned inside out covers nothing."""
    array = np.asarray(boxes, np.float64)
    if array.size == 0:
        return array.reshape(0, 4)
    if array.ndim != 2 or array.shape[1] != 4:
        raise ValueError(f"boxes must be (n, 4), but are {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("boxes must be finite: a NaN here would be scored as if it meant something")
    return array


def _area(boxes: Floats) -> Floats:
    return np.asarray((boxes[:, 2:] - boxes[:, :2]).clip(min=0).prod(-1), np.float64)


def _match(
    predictions: Sequence[Prediction], truths: Sequence[ArrayLike], threshold: float
) -> tuple[Floats, NDArray[np.bool_], int]:
    """Scores (n,) and correctness (n,) of all predictions, and the number of truths."""
    _check_lengths(predictions, truths)
    all_scores: list[Floats] = []
    all_correct: list[NDArray[np.bool_]] = []
    for (boxes, given_scores), truth in zip(predictions, truths, strict=True):
        scores = np.asarray(given_scores, np.float64).reshape(-1)
        overlaps = iou(boxes, truth)  # (n, m)
        if len(scores) != len(overlaps) or not np.isfinite(scores).all():
            raise ValueError(f"{len(overlaps)} boxes need as many finite scores, but have {scores}")
        all_scores.append(scores)
        all_correct.append(_correct(overlaps, scores, threshold))
    total = sum(len(as_boxes(truth)) for truth in truths)
    if not all_scores:
        return np.zeros(0), np.zeros(0, np.bool_), total
    return np.concatenate(all_scores), np.concatenate(all_correct), total


def _correct(overlaps: Floats, scores: Floats, threshold: float) -> NDArray[np.bool_]:
    correct = np.zeros(len(scores), np.bool_)
    if overlaps.shape[1] == 0:
        return correct
    taken: set[int] = set()
    for number in np.argsort(-scores, kind="stable"):
        best = int(overlaps[number].argmax())
        if overlaps[number, best] > threshold and best not in taken:
            taken.add(best)
            correct[number] = True
    return correct


def _check_lengths(predictions: Sequence[Prediction], truths: Sequence[ArrayLike]) -> None:
    if len(predictions) != len(truths):
        raise ValueError(f"predictions for {len(predictions)} images, but truths for {len(truths)}")
