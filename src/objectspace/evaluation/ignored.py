"""Regions that count neither way: what is found on them is neither right nor wrong.

Such as the score and the lives of a game, which are drawn like objects and are none (COCO's iscrowd). Boxes as in
`boxes.py`: n predicted ones, m true ones, r regions.
"""

import numpy as np

from objectspace.evaluation.boxes import Floats, Prediction, as_scores
from objectspace.geometry.boxes import as_boxes, iou

MOSTLY = 0.5  # of a box must lie on such regions


def covered(boxes: Floats, regions: Floats) -> Floats:
    """The share (n,) of the area of boxes (n, 4) that lies on the union of regions (r, 4); 0 for one without area.

    The edges of all regions cut the plane into tiles, each of which is wholly in the union or wholly outside.
    """
    if not len(boxes) or not len(regions):
        return np.zeros(len(boxes))
    xs, ys = np.unique(regions[:, 0::2]), np.unique(regions[:, 1::2])
    across = (regions[:, :1] <= xs[:-1]) & (xs[1:] <= regions[:, 2:3])  # (r, columns)
    down = (regions[:, 1:2] <= ys[:-1]) & (ys[1:] <= regions[:, 3:])  # (r, rows)
    inside = (down[:, :, None] & across[:, None, :]).any(0)  # (rows, columns)
    widths = np.minimum(boxes[:, 2:3], xs[1:]) - np.maximum(boxes[:, :1], xs[:-1])  # (n, columns)
    heights = np.minimum(boxes[:, 3:], ys[1:]) - np.maximum(boxes[:, 1:2], ys[:-1])  # (n, rows)
    common = np.einsum("nr,rc,nc->n", heights.clip(min=0), inside.astype(np.float64), widths.clip(min=0))
    area = (boxes[:, 2:] - boxes[:, :2]).clip(min=0).prod(-1)
    return np.asarray(np.divide(common, area, out=np.zeros_like(common), where=area > 0), np.float64)


def outside(prediction: Prediction, truth: Floats, regions: Floats, least: float) -> tuple[Floats, Floats]:
    """The boxes and scores of a prediction without those that lie mostly on regions (r, 4).

    A box that overlaps a true one (m, 4) by an IoU of `least` stays, wherever it lies.
    """
    found = as_boxes(prediction[0])
    scores = as_scores(prediction[1], len(found))
    if not len(found) or not len(regions):
        return found, scores
    on_truth = iou(found, truth).max(1, initial=0.0) >= least
    kept = on_truth | (covered(found, as_boxes(regions)) < MOSTLY)
    return found[kept], scores[kept]
