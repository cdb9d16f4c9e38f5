"""Boxes: their type, the tight box of a mask, how much boxes overlap, and how COCO writes them.

Convention: x right, y down, in pixels; a box is (x0, y0, x1, y1) where x1, y1 lie one past the last pixel, so that a
single pixel at the origin has the box (0, 0, 1, 1). Many boxes are an array (n, 4).
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Box = tuple[float, float, float, float]
Floats = NDArray[np.float64]


def tight_box(mask: NDArray[np.bool_]) -> Box | None:
    """The smallest box around a mask (H, W), or None where it is empty."""
    if not mask.any():
        return None
    x0, y0, x1, y1 = tight_boxes(mask[None])[0].tolist()
    return float(x0), float(y0), float(x1), float(y1)


def tight_boxes(masks: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The smallest boxes around masks (n, H, W): (n, 4); that of an empty one means nothing."""
    columns, rows = masks.any(axis=1), masks.any(axis=2)
    ends = columns.shape[1] - columns[:, ::-1].argmax(1), rows.shape[1] - rows[:, ::-1].argmax(1)
    return np.stack([columns.argmax(1), rows.argmax(1), *ends], axis=1)


def clip_box(box: Box, height: int, width: int) -> Box | None:
    """The part of a box that lies inside the image, or None where nothing does."""
    x0, y0, x1, y1 = max(box[0], 0.0), max(box[1], 0.0), min(box[2], float(width)), min(box[3], float(height))
    return (x0, y0, x1, y1) if x1 > x0 and y1 > y0 else None


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


def iou(first: ArrayLike, second: ArrayLike) -> Floats:
    """Intersection over union of boxes (n, 4) and (m, 4): (n, m). Two boxes without area have none in common.

    >>> iou([[0, 0, 4, 4]], [[0, 0, 4, 2], [10, 10, 12, 12]])
    array([[0.5, 0. ]])
    """
    a, b = as_boxes(first), as_boxes(second)
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    common = (high - low).clip(min=0).prod(-1)
    union = _area(a)[:, None] + _area(b)[None, :] - common
    return np.asarray(np.divide(common, union, out=np.zeros_like(common), where=union > 0), np.float64)


def to_coco_box(box: Box) -> list[float]:
    """(x0, y0, x1, y1) as COCO's x, y, width, height, to a thousandth of a pixel."""
    x0, y0, x1, y1 = box
    return [round(value, 3) for value in (x0, y0, x1 - x0, y1 - y0)]


def from_coco_box(box: Iterable[float]) -> Box:
    """COCO's x, y, width, height as (x0, y0, x1, y1)."""
    x, y, width, height = (float(value) for value in box)
    return x, y, x + width, y + height


def _area(boxes: Floats) -> Floats:
    return np.asarray((boxes[:, 2:] - boxes[:, :2]).clip(min=0).prod(-1), np.float64)
