"""How good boxes are: the paper's average precision and its object counts.

Convention: boxes are (n, 4) as x0 y0 x1 y1 in any unit. Predictions are one (boxes, scores) an image, truths one (m, 4)
an image, both lists in the same order.

The paper's average precision departs from COCO's: the precision is interpolated at the eleven recalls 0, 0.1, ..., 1;
a prediction can match only the truth it overlaps most, with an IoU strictly above the threshold; when that truth is
taken already by a better-scored prediction, it counts as false. Without perfect recall it cannot pass 10/11 = 0.909.

Boxes are taken as they are, also where they reach beyond the image. NaN comes in as an error and goes out as
"undefined", never as a number.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from objectspace.geometry.boxes import Floats as Floats  # noqa: PLC0414 - predictions are made of them
from objectspace.geometry.boxes import as_boxes as as_boxes  # noqa: PLC0414
from objectspace.geometry.boxes import iou

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


def paper_ap(predictions: Sequence[Prediction], truths: Sequence[ArrayLike], iou: float) -> float:
    """The paper's average precision at one IoU threshold.

    Equal scores keep their order. Without any truth there is nothing to recall and the value is NaN; with truths but no
    prediction it is 0.

    >>> boxes = [[0, 0, 4, 4], [6, 0, 9, 4]]
    >>> paper_ap([(boxes, [0.9, 0.8])], [boxes], iou=0.5)
    1.0
    >>> round(paper_ap([(boxes, [0.9, 0.8])], [[*boxes, [0, 8, 4, 12]]], iou=0.5), 3)  # one of three is missed
    0.636
    """
    return _average_precision(_nearest_truths(predictions, truths), iou)


def paper_ap_range(predictions: Sequence[Prediction], truths: Sequence[ArrayLike]) -> float:
    """The paper's AP over IoU thresholds [0.5 : 0.05 : 0.95], their mean."""
    return float(np.mean(paper_aps(predictions, truths)))


def paper_aps(predictions: Sequence[Prediction], truths: Sequence[ArrayLike]) -> list[float]:
    """The paper's AP at every one of `THRESHOLDS`, the first being 0.5."""
    nearest = _nearest_truths(predictions, truths)
    return [_average_precision(nearest, threshold) for threshold in THRESHOLDS]


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


def overlaps_of(predictions: Sequence[Prediction], truths: Sequence[ArrayLike]) -> Iterator[tuple[Floats, Floats]]:
    """For every image the IoUs (n, m) of predictions and truths, and the scores (n,); everything is checked."""
    _check_lengths(predictions, truths)
    for (boxes, given_scores), truth in zip(predictions, truths, strict=True):
        overlaps = iou(boxes, truth)
        yield overlaps, as_scores(given_scores, len(overlaps))


def as_scores(scores: ArrayLike, count: int) -> Floats:
    """The scores (n,) of `count` boxes, checked to be finite."""
    array = np.asarray(scores, np.float64).reshape(-1)
    if len(array) != count or not np.isfinite(array).all():
        raise ValueError(f"{count} boxes need as many finite scores, but have {array}")
    return array


@dataclass(frozen=True)
class _Nearest:
    """All n predictions of all images, each with the truth it overlaps most."""

    scores: Floats  # (n,)
    overlaps: Floats  # (n,) IoU with that truth; 0 where the image has none
    truths: NDArray[np.int64]  # (n,) its number among all truths
    total: int  # truths in all


def _nearest_truths(predictions: Sequence[Prediction], truths: Sequence[ArrayLike]) -> _Nearest:
    all_scores, all_overlaps, all_truths, total = [np.zeros(0)], [np.zeros(0)], [np.zeros(0, np.int64)], 0
    for overlaps, scores in overlaps_of(predictions, truths):
        count = overlaps.shape[1]
        if count:
            all_overlaps.append(overlaps.max(1))
            all_truths.append(overlaps.argmax(1) + total)
        else:
            all_overlaps.append(np.zeros(len(scores)))
            all_truths.append(np.zeros(len(scores), np.int64))  # never looked at: the overlap is 0
        all_scores.append(scores)
        total += count
    return _Nearest(np.concatenate(all_scores), np.concatenate(all_overlaps), np.concatenate(all_truths), total)


def _average_precision(nearest: _Nearest, threshold: float) -> float:
    if nearest.total == 0:
        return float("nan")
    order = np.argsort(-nearest.scores, kind="stable")
    near = np.flatnonzero(nearest.overlaps[order] > threshold)
    _, first = np.unique(nearest.truths[order][near], return_index=True)  # the best-scored prediction of each truth
    correct = np.zeros(len(order), np.bool_)
    correct[near[first]] = True
    hits = np.cumsum(correct)
    precision, recall = hits / np.arange(1, len(hits) + 1), hits / nearest.total
    reached = [precision[recall >= level].max(initial=0.0) for level in np.linspace(0, 1, 11)]
    return float(np.mean(reached))


def _check_lengths(predictions: Sequence[Prediction], truths: Sequence[ArrayLike]) -> None:
    if len(predictions) != len(truths):
        raise ValueError(f"predictions for {len(predictions)} images, but truths for {len(truths)}")
