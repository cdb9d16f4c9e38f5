"""The truth about tiles, from the truth about the pictures that they were cut from.

A tile has the objects whose visible centre lies in it, clipped to it; what else reaches into it counts neither way.
Pictures are seen at a scale (`io/view.py`), so boxes and masks are scaled too. Shapes: H W picture, h w tile.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from objectspace.geometry import rle
from objectspace.geometry.boxes import Box, clip_box, from_coco_box, to_coco_box
from objectspace.io.files import Json


@dataclass(frozen=True)
class Tile:
    """A part of a picture, or the whole of it: where it begins at the scale at which it is seen."""

    name: str  # of the picture's file
    top: int = 0
    left: int = 0
    picture: tuple[int, ...] = (1, 1)  # H, W as it is
    shown: tuple[int, int] = (1, 1)  # and at the scale


def seeded(name: str) -> np.random.Generator:
    """What decides where a picture's tiles lie: its name alone."""
    digest = hashlib.blake2b(name.encode(errors="surrogateescape"), digest_size=8).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))


def in_turns(tiles: Sequence[Tile]) -> list[int]:
    """An order in which the first tiles of all pictures come first: so the first few are of many pictures."""
    turns, seen = [], Counter[str]()
    for tile in tiles:
        turns.append(seen[tile.name])
        seen[tile.name] += 1
    return sorted(range(len(tiles)), key=lambda number: turns[number])


def truth_in_tiles(
    annotations: Json, entries: Mapping[str, Json], tiles: Sequence[Tile], size: tuple[int, int]
) -> tuple[Json, list[Json]]:
    """COCO annotations of tiles of one size, and their image entries, from those of pictures by file name."""
    by_image: dict[object, list[Json]] = {}
    for annotation in annotations.get("annotations", []):
        by_image.setdefault(annotation.get("image_id"), []).append(annotation)
    images, known = [], []
    for number, tile in enumerate(tiles, start=1):
        entry = entries[tile.name]
        image = {key: value for key, value in entry.items() if key not in ("ground", "sequence", "frame")}
        images.append(image | {"id": number, "height": size[0], "width": size[1]})
        for annotation in by_image.get(entry.get("id"), []):
            inside = _in_tile(annotation, tile, size)
            if inside is not None:
                known.append(inside | {"image_id": number})
    return {"images": images, "annotations": known, "categories": annotations.get("categories", [])}, images


def _in_tile(annotation: Json, tile: Tile, size: tuple[int, int]) -> Json | None:
    """An annotation as a tile shows it; None where it does not reach in. A damaged one stays, to be named later."""
    try:
        whole = _moved(from_coco_box(annotation["bbox"]), tile)
        visible = _moved(from_coco_box(annotation["visible_bbox" if "visible_bbox" in annotation else "bbox"]), tile)
    except (KeyError, TypeError, ValueError):
        return annotation
    clipped, seen = clip_box(whole, *size), clip_box(visible, *size)
    if clipped is None or seen is None:
        return None
    changed = annotation | {"bbox": to_coco_box(clipped), "visible_bbox": to_coco_box(seen)}
    changed.pop("segmentation", None)
    x, y = (visible[0] + visible[2]) / 2, (visible[1] + visible[3]) / 2
    if not (0 <= x < size[1] and 0 <= y < size[0]):
        return changed | {"iscrowd": 1, "ignore": 1}
    mask = annotation.get("segmentation")
    if isinstance(mask, dict) and isinstance(mask.get("counts"), str) and tuple(mask["size"]) == tuple(tile.picture):
        changed["segmentation"] = _mask_in_tile(mask, tile, size)
    return changed


def _moved(box: Box, tile: Tile) -> Box:
    """A box in the picture's pixels in those of the tile."""
    down, right = (shown / side for shown, side in zip(tile.shown, tile.picture, strict=True))
    x0, y0, x1, y1 = box
    return x0 * right - tile.left, y0 * down - tile.top, x1 * right - tile.left, y1 * down - tile.top


def _mask_in_tile(mask: Json, tile: Tile, size: tuple[int, int]) -> Json:
    whole = Image.fromarray(rle.decode({"size": mask["size"], "counts": mask["counts"]}))
    shown = np.asarray(whole.resize(tile.shown[::-1], Image.Resampling.NEAREST))
    part = shown[tile.top : tile.top + size[0], tile.left : tile.left + size[1]]
    inside = np.zeros(size, np.bool_)
    inside[: part.shape[0], : part.shape[1]] = part
    return dict(rle.encode(inside))
