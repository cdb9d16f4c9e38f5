"""COCO's average precision of boxes, counted by faster-coco-eval.

Reads predictions and truths as `boxes.py` does; gives COCO's numbers. Objects have no category here, and as many
detections an image count as there are: COCO's usual limit of 100 would cut off a grid of 16 x 16 cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from objectspace.evaluation.boxes import Prediction, as_scores
from objectspace.geometry.boxes import as_boxes


@dataclass(frozen=True)
class CocoAP:
    """Average precision as COCO defines it: 101 recalls, IoU at least the threshold; NaN where nothing is true."""

    ap50: float
    ap: float  # mean over IoU thresholds [0.5 : 0.05 : 0.95]


def coco_ap(predictions: Sequence[Prediction], truths: Sequence[ArrayLike]) -> CocoAP:
    """COCO's AP of predictions, one (boxes (n, 4), scores (n,)) an image, against truths, one (m, 4) an image."""
    from faster_coco_eval import COCO, COCOeval_faster

    if len(predictions) != len(truths):
        raise ValueError(f"predictions for {len(predictions)} images, but truths for {len(truths)}")
    true, found = _annotations(truths), _annotations([boxes for boxes, _ in predictions])
    scores = [as_scores(given, len(as_boxes(boxes))) for boxes, given in predictions]
    if not true:
        return CocoAP(float("nan"), float("nan"))
    if not found:
        return CocoAP(0.0, 0.0)
    for entry, score in zip(found, np.concatenate(scores).tolist(), strict=True):
        entry["score"] = score
    images = [{"id": number} for number in range(1, len(truths) + 1)]
    content = {"info": {}, "images": images, "categories": [{"id": 1, "name": "object"}], "annotations": true}
    known = COCO(content)
    evaluation = COCOeval_faster(known, known.loadRes(found), "bbox")
    evaluation.params.maxDets = [max(len(each) for each in scores)]
    # COCO's own limit of 1e10 would have a box far beyond the image ignored rather than counted as false.
    evaluation.params.areaRng, evaluation.params.areaRngLbl = [[0, float("inf")]], ["all"]
    evaluation.evaluate()
    evaluation.accumulate()
    precision = np.asarray(evaluation.eval["precision"], np.float64)  # (IoU 0.5 to 0.95, recalls, 1, 1, 1)
    return CocoAP(float(precision[0].mean()), float(precision.mean()))


def _annotations(boxes: Sequence[ArrayLike]) -> list[dict[str, Any]]:
    """COCO's entries for the boxes of all images; numbers begin at 1, as 0 means "no match" to COCO."""
    entries: list[dict[str, Any]] = []
    for image, each in enumerate(boxes, start=1):
        for x0, y0, x1, y1 in as_boxes(each).tolist():
            box = [x0, y0, max(x1 - x0, 0.0), max(y1 - y0, 0.0)]
            entry = {"id": len(entries) + 1, "image_id": image, "category_id": 1, "bbox": box, "area": box[2] * box[3]}
            entries.append(entry | {"iscrowd": 0})
    return entries
