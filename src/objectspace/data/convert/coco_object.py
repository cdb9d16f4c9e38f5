"""One COCO annotation as a `TrueObject`, checked on the way; every fault is an AnnotationError with a plain reason."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from objectspace.data.convert.polygon import rasterise
from objectspace.data.sample import Attribute, TrueObject
from objectspace.errors import UserError
from objectspace.geometry import rle
from objectspace.geometry.boxes import Box, clip_box, from_coco_box, tight_box
from objectspace.io.files import Json

MAX_CORNERS = 100_000  # of a polygon
_OBJECT_KEYS = frozenset(
    (
        "id",
        "image_id",
        "category_id",
        "category",
        "iscrowd",
        "ignore",
        "area",
        "bbox",
        "visible_bbox",
        "segmentation",
        "score",
    )
)


class AnnotationError(ValueError):
    """The annotation cannot be used; the message is the reason."""


def parse_object(annotation: Json, categories: Mapping[Any, str], height: int, width: int) -> TrueObject:
    """The object of an annotation in an image of that size; its box, its mask, or both must be given.

    `box` is bbox, else the mask's; `visible_box` is visible_bbox (ours), else the mask's.
    """
    category = annotation.get("category_id")
    name = categories.get(category) if isinstance(category, int | str) else None
    if name is None:
        if categories or category is not None:
            raise AnnotationError(f"its category_id {category!r} is none of the file's categories")
        name = "object"
    mask = _parse_mask(annotation.get("segmentation"), height, width)
    seen = None if mask is None else tight_box(mask)
    box = _parse_box(annotation["bbox"], height, width) if annotation.get("bbox") else seen
    if box is None:
        raise AnnotationError("it has neither a box nor a mask with an area inside the image")
    if annotation.get("visible_bbox"):
        seen = _parse_box(annotation["visible_bbox"], height, width)
    encoded = rle.encode(mask) if mask is not None and mask.any() else None
    return TrueObject(name, box, seen, encoded, plain_attributes(annotation, _OBJECT_KEYS))


def parse_ground(ground: Any, height: int, width: int) -> dict[str, rle.RunLength]:
    """The masks of what is no object, as our own data sets have them."""
    if not isinstance(ground, dict):
        raise AnnotationError("it is no table of masks")
    masks = {str(name): _parse_mask(code, height, width) for name, code in ground.items()}
    return {name: rle.encode(mask) for name, mask in masks.items() if mask is not None}


def plain_attributes(entry: Json, known: frozenset[str]) -> dict[str, Attribute]:
    """What else an entry says, as far as it is plain: texts, numbers, lists of numbers."""
    return {key: value for key, value in entry.items() if key not in known and _is_plain(value)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(_is_number(item) for item in value)
    return value is None or isinstance(value, str | bool) or _is_number(value)


def _parse_box(values: Any, height: int, width: int) -> Box:
    if not isinstance(values, list) or len(values) != 4 or not all(_is_number(value) for value in values):
        raise AnnotationError(f"its box {str(values)[:60]} is not x, y, width, height")
    box = clip_box(from_coco_box(values), height, width) if min(values[2:]) > 0 else None
    if box is None:
        raise AnnotationError(f"its box {values} has no area inside the image")
    return box


def _parse_mask(code: Any, height: int, width: int) -> NDArray[np.bool_] | None:
    """The mask (H, W) of a segmentation in any of COCO's three spellings; None where there is none."""
    if not code:
        return None
    if isinstance(code, dict):
        return _parse_runs(code, height, width)
    if not isinstance(code, list):
        raise AnnotationError("its segmentation is neither polygons nor run lengths")
    polygons = code if isinstance(code[0], list) else [code]  # some tools write a single polygon bare
    mask = np.zeros((height, width), bool)
    for polygon in polygons:
        if not isinstance(polygon, list) or len(polygon) < 6 or len(polygon) % 2 or len(polygon) > 2 * MAX_CORNERS:
            raise AnnotationError(
                "its segmentation has a polygon that is not a list x, y, x, y, ... of three or more corners"
            )
        if not all(_is_number(value) for value in polygon):
            raise AnnotationError("its segmentation has a polygon with something else than numbers in it")
        mask |= rasterise(np.array(polygon, np.float64).reshape(-1, 2), height, width)
    return mask


def _parse_runs(code: Json, height: int, width: int) -> NDArray[np.bool_]:
    size, counts = code.get("size"), code.get("counts")
    if size != [height, width]:  # also keeps a hostile size from being allocated
        raise AnnotationError(f"its mask has the size {str(size)[:40]}, the image {[height, width]}")
    try:
        if isinstance(counts, list):
            if not all(isinstance(count, int) for count in counts):
                raise AnnotationError("its mask's counts are not whole numbers")
            return rle.decode(rle.from_uncompressed(counts, size))
        if not isinstance(counts, str):
            raise AnnotationError("its mask has no counts")
        return rle.decode({"size": size, "counts": counts})
    except (UserError, OverflowError) as error:
        raise AnnotationError(str(error)) from error


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
