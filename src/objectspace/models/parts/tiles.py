"""Images of any size taken apart in overlapping tiles of the model's size, and put together again.

An image is seen at a scale, in tiles that overlap by one and a half objects of the scale prior; each is taken apart as
an image of its own would be, a batch at a time, with masks in the image's own pixels. What two tiles saw is joined
(`seams.py`); maps and pictures are taken from the tiles' cores. No more than the image, the maps that are asked for and
a batch is in memory. Components are left out: the same number means another thing in every tile.
Shapes: H W image, h w tile.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from objectspace.config import View
from objectspace.errors import UserError
from objectspace.geometry.boxes import Box
from objectspace.geometry.window import Window
from objectspace.io.images import BadImage
from objectspace.io.view import at_scale, tile_of
from objectspace.models.base import Input
from objectspace.models.inputs import Prepared, as_list, photo_of
from objectspace.models.parts import scenes
from objectspace.models.parts.found import Wanted
from objectspace.models.parts.pictures import evaluating
from objectspace.models.parts.seams import Place, Sight, join
from objectspace.scene import Object, Picture, Scene

if TYPE_CHECKING:
    from objectspace.models.parts.grid import GridModel

OBJECTS = 1.5  # by how many typical objects tiles overlap, ...
LEAST, MOST = 1 / 8, 1 / 2  # ... in parts of a tile's side
_PICTURES = ("reconstruction", "background", "foreground")


def scale_of(asked: float | None, view: View) -> float:
    """How large images are seen: as it is asked for, or as the model's view says, or as they are."""
    scale = view.scale or 1.0 if asked is None else asked
    if not (math.isfinite(scale) and 0 < scale <= 16):
        raise UserError(f"scale is how many times their size images are seen at, above 0 and up to 16, not {scale}")
    return scale


@dataclass(frozen=True)
class _Tile:
    corner: tuple[int, int]  # first row and column at the scale
    own: tuple[int, int]  # and in the image's own pixels
    place: Place


def decompose(
    model: GridModel, images: Input | Sequence[Input], wanted: Wanted, batch: int, scale: float
) -> list[Scene]:
    """See `GridModel.decompose`: the same, in tiles."""
    scenes.check(wanted, batch)
    if wanted.published:
        raise UserError("the published rule is about whole images of the model's size, not about tiles")
    with evaluating(model):
        return [
            _scene(model, photo_of(image, number, model.config.view), wanted, batch, scale, number)
            for number, image in enumerate(as_list(images))
        ]


def overlap_of(model: GridModel) -> tuple[int, int]:
    """By how many rows and columns tiles of a model overlap at least."""
    size = 1 / (1 + math.exp(-model.final.scale_prior_mean))  # of an object, as a share of the side
    share = min(max(OBJECTS * size, LEAST), MOST)
    return round(share * model.config.image_size[0]), round(share * model.config.image_size[1])


def _scene(model: GridModel, photo: Picture, wanted: Wanted, batch: int, scale: float, number: int) -> Scene:
    size, side = (photo.shape[0], photo.shape[1]), model.config.image_size
    if min(size) < 1:
        raise UserError(f"image {number} has no pixels: its size is {size[0]} x {size[1]}")
    try:
        shown = at_scale(photo, scale)
    except BadImage as error:
        raise UserError(f"cannot use image {number}: it {error}") from error
    tiles = _tiles(size, (shown.shape[0], shown.shape[1]), side, overlap_of(model))
    part = max(1, round(side[0] * size[0] / shown.shape[0])), max(1, round(side[1] * size[1] / shown.shape[1]))
    wanted = replace(wanted, background=wanted.background and wanted.pictures)  # of which only pictures are used
    whole = _Canvas(size, wanted, model.final.unknown > 0)
    sights: list[Sight] = []
    for start in range(0, len(tiles), batch):
        some = tiles[start : start + batch]
        prepared = [
            Prepared(_numbers(tile_of(shown, tile.corner, side)), _bytes(tile_of(photo, tile.own, part)))
            for tile in some
        ]
        for tile, scene in zip(some, scenes.of_prepared(model, prepared, wanted), strict=True):
            whole.take(tile, scene)
            sights += _moved(scene, tile, size)
    return whole.scene(tuple(join(sights)))


def _tiles(
    size: tuple[int, int], shown: tuple[int, int], side: tuple[int, int], overlap: tuple[int, int]
) -> list[_Tile]:
    """Tiles that cover an image of `size` which is `shown` at another, row by row."""
    rows, columns = (list(_along(size[axis], shown[axis], side[axis], overlap[axis])) for axis in (0, 1))
    slack = 0.25 * min(overlap[0] * size[0] / shown[0], overlap[1] * size[1] / shown[1])
    return [
        _Tile(
            (row.corner, column.corner),
            (row.own, column.own),
            Place((column.own, row.own, column.end, row.end), (column.first, row.first, column.last, row.last), slack),
        )
        for row in rows
        for column in columns
    ]


@dataclass(frozen=True)
class _Span:
    """A tile along one axis: where it begins at the scale, in own pixels begins and ends, and where its core does."""

    corner: int
    own: int
    end: int
    first: float
    last: float


def _along(length: int, shown: int, side: int, overlap: int) -> Iterator[_Span]:
    """The spans of tiles along an axis of `length` pixels, `shown` at the scale; evenly, the last at the end."""
    factor, room = length / shown, max(0, shown - side)
    count = 1 + math.ceil(room / max(1, side - overlap))
    if factor <= 1:  # enlarged: own pixels are the coarser ones, so corners are at whole ones
        own = [round(number * room / max(1, count - 1) * factor) for number in range(count)]
        corners = [min(room, round(each / factor)) for each in own]
    else:
        corners = [round(number * room / max(1, count - 1)) for number in range(count)]
        own = [round(each * factor) for each in corners]
    ends = [min(length, each + max(1, round(side * factor))) for each in own]
    ends[-1] = length
    cuts = [0.0, *((end + begin) / 2 for end, begin in zip(ends[:-1], own[1:], strict=True)), float(length)]
    for number in range(count):
        yield _Span(corners[number], own[number], ends[number], cuts[number], cuts[number + 1])


def _moved(scene: Scene, tile: _Tile, size: tuple[int, int]) -> Iterator[Sight]:
    """What a tile saw, in the image's pixels; what lies beyond the image is cut off."""
    top, left = tile.own
    for item in scene.objects:
        if item.window is None:
            continue
        window = Window.of(item.window.part, item.window.top + top, item.window.left + left, size)
        if window.box is None:
            continue
        moved = item.changed(
            mask=window,
            box=window.box,
            where_box=_shifted(item.where_box, left, top),
            whole_box=None if item.whole_box is None else _shifted(item.whole_box, left, top),
        )
        yield Sight(moved, window, tile.place, size)


def _shifted(box: Box, x: int, y: int) -> Box:
    return box[0] + x, box[1] + y, box[2] + x, box[3] + y


class _Canvas:
    """Maps and pictures of a whole image, filled core by core."""

    def __init__(self, size: tuple[int, int], wanted: Wanted, knows_unknown: bool) -> None:
        self.size = size
        self.unexplained = np.zeros(size, np.bool_) if knows_unknown else None
        names = _PICTURES if wanted.background else ("foreground",)
        self.pictures = {name: np.zeros((*size, 3), np.uint8) for name in names if wanted.pictures}
        self.alpha = np.zeros(size, np.uint8) if wanted.pictures else None

    def take(self, tile: _Tile, scene: Scene) -> None:
        """Copy a tile's core."""
        (x0, y0, x1, y1), (top, left) = (round(each) for each in tile.place.core), tile.own
        here, there = (slice(y0, y1), slice(x0, x1)), (slice(y0 - top, y1 - top), slice(x0 - left, x1 - left))

        def copy(whole: NDArray[Any] | None, part: NDArray[Any] | None) -> None:
            if whole is not None and part is not None:
                whole[here] = part[there]

        copy(self.unexplained, scene.unexplained)
        copy(self.alpha, scene.alpha)
        for name, picture in self.pictures.items():
            copy(picture, getattr(scene, name))

    def scene(self, objects: tuple[Object, ...]) -> Scene:
        height, width = self.size
        reconstruction, background, foreground = (self.pictures.get(name) for name in _PICTURES)
        return Scene(height, width, objects, (), reconstruction, background, foreground, self.alpha, self.unexplained)


def _bytes(picture: Picture) -> torch.Tensor:
    return torch.from_numpy(picture).permute(2, 0, 1)  # (3, h, w)


def _numbers(picture: Picture) -> torch.Tensor:
    """A picture (h, w, 3) in [0, 1], as training divides it: (3, h, w)."""
    return _bytes(picture).to(torch.get_default_dtype()) / 255
