"""How many objects are found: precision, recall and F1 at one IoU threshold.

Boxes as in `boxes.py`, matched as COCO matches them: predictions, best first, each take the free truth they overlap
most, with an IoU of at least the threshold.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from objectspace.evaluation.boxes import Floats, Prediction, overlaps_of
from objectspace.geometry.boxes import as_boxes


@dataclass(frozen=True)
class Detection:
    """What is found at one IoU threshold; NaN where it is undefined."""

    precision: float  # found truths / predictions; undefined without a prediction
    recall: float  # found truths / truths; undefined without a truth
    f1: float  # 2 found / (predictions + truths); undefined without either
    recall_by_category: Mapping[str, float]  # empty where no categories were given


def detection(
    predictions: Sequence[Prediction],
    truths: Sequence[ArrayLike],
    iou: float = 0.5,
    categories: Sequence[Sequence[str]] | None = None,
) -> Detection:
    """Precision, recall and F1 at an IoU threshold; `categories` names the truths of every image, m names each.

    Predictions have no category, so any may find any truth.
    """
    if not 0 < iou <= 1:
        raise ValueError(f"an IoU threshold lies above 0 and up to 1, but this is {iou}")
    found = [_found(overlaps, scores, iou) for overlaps, scores in overlaps_of(predictions, truths)]
    if categories is not None and [len(names) for names in categories] != [len(each) for each in found]:
        raise ValueError("every true box needs one category")
    hits, total = sum(int(each.sum()) for each in found), sum(len(each) for each in found)
    predicted = sum(len(as_boxes(boxes)) for boxes, _ in predictions)
    by_category: dict[str, list[bool]] = defaultdict(list)
    for names, each in zip(categories or [], found if categories else [], strict=True):
        for name, hit in zip(names, each.tolist(), strict=True):
            by_category[name].append(hit)
    return Detection(
        precision=_ratio(hits, predicted),
        recall=_ratio(hits, total),
        f1=_ratio(2 * hits, predicted + total),
        recall_by_category={name: float(np.mean(by_category[name])) for name in sorted(by_category)},
    )


def _found(overlaps: Floats, scores: Floats, threshold: float) -> NDArray[np.bool_]:
    """Which truths (m,) are found by predictions with IoUs (n, m)."""
    found = np.zeros(overlaps.shape[1], np.bool_)
    candidates = np.flatnonzero(overlaps.max(1, initial=0.0) >= threshold)
    for number in candidates[np.argsort(-scores[candidates], kind="stable")]:
        free = np.where(found, -1.0, overlaps[number])
        best = int(free.argmax())
        found[best] |= free[best] >= threshold
    return found


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
