"""How a picture reaches a model: stretched, then resized whole or cut into tiles. The one place that does it.

Whatever trains on pictures and whatever takes them apart goes through here, so both see the same bytes. A picture comes
at its full depth, bytes or 16 bit words; bytes go out. What is wanted is a `View`, as the config of every model has one
(`config/view.py`). Brightness is stretched for all channels together, so hues stay. Shapes: H W picture, h w tile.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from objectspace.io.images import MAX_PIXELS, BadImage, Photo, resize

Bytes = NDArray[np.uint8]
_RIM = 0.25  # of a tile: how far beyond the rim positions are drawn, to be moved back, so that rims are seen as often


class View(Protocol):
    """What `objectspace.config.view.View` says."""

    @property
    def scale(self) -> float: ...  # 0: resized whole
    @property
    def stretch(self) -> str: ...  # none, each, all
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def gamma(self) -> float: ...


def stretched(picture: Photo, view: View) -> Bytes:
    """A picture (H, W, 3) as bytes, its brightness stretched as the view says; without a stretch 65535 is white.

    A picture of a single value, which no percentiles can stretch, keeps its brightness.
    """
    if view.stretch == "none" and view.gamma == 1:
        return to_bytes(picture)
    full = int(np.iinfo(picture.dtype).max)
    values = np.arange(full + 1) / full  # what a level means, from 0 to 1
    low, high = (view.low, view.high) if view.stretch == "all" else (0.0, 1.0)
    if view.stretch == "each":
        low, high = _percentiles(picture, values, view)
    if high > low:
        values = ((values - low) / (high - low)).clip(0, 1)
    return np.asarray(np.rint(255 * values**view.gamma), np.uint8)[picture]


def to_bytes(picture: Photo) -> Bytes:
    """A picture at its full depth as bytes: 65535 is white.

    >>> to_bytes(np.array([[[0, 257, 65535]]], np.uint16)).tolist()
    [[[0, 1, 255]]]
    """
    if picture.dtype == np.uint8:
        return picture.astype(np.uint8, copy=False)
    return np.asarray(np.rint(np.arange(65536) / 257), np.uint8)[picture]


def scaled_size(height: int, width: int, scale: float) -> tuple[int, int]:
    """The size of a picture at a scale, at least one pixel each way."""
    size = max(1, round(height * scale)), max(1, round(width * scale))
    if size[0] * size[1] > MAX_PIXELS:
        raise BadImage(f"is enormous at {scale:g} times its size: {size[1]} x {size[0]} pixels")
    return size


def at_scale(picture: Bytes, scale: float) -> Bytes:
    """A picture (H, W, 3) at a scale; 0 leaves it as it is."""
    return resize(picture, *scaled_size(picture.shape[0], picture.shape[1], scale)) if scale else picture


def tile_of(picture: Bytes, corner: tuple[int, int], size: tuple[int, int]) -> Bytes:
    """The part (h, w, 3) of a picture that begins at row and column `corner`; a small picture is mirrored outwards."""
    top, left = corner
    part = picture[top : top + size[0], left : left + size[1]]
    missing = size[0] - part.shape[0], size[1] - part.shape[1]
    if any(missing):
        part = np.pad(part, ((0, missing[0]), (0, missing[1]), (0, 0)), mode="symmetric")
    return np.ascontiguousarray(part)


def for_training(
    picture: Photo, view: View, size: tuple[int, int], generator: np.random.Generator, most: int = 16
) -> tuple[Bytes, NDArray[np.int64]]:
    """What a model of this size is trained on, of a picture: (n, h, w, 3), and the first row and column of each (n, 2).

    A view without a scale gives the whole picture. Otherwise tiles at positions from the generator, in pixels at that
    scale, as many as cover the picture once, `most` at most.
    """
    shown = stretched(picture, view)
    if not view.scale:
        return resize(shown, *size)[None], np.zeros((1, 2), np.int64)
    shown = at_scale(shown, view.scale)
    count = int(min(most, np.ceil(shown.shape[0] / size[0] * shown.shape[1] / size[1])))
    corners = np.stack([_positions(shown.shape[axis], size[axis], count, generator) for axis in (0, 1)], axis=1)
    return np.stack([tile_of(shown, (int(top), int(left)), size) for top, left in corners]), corners


def _positions(length: int, side: int, count: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Where `count` tiles begin along an axis, (count,)."""
    last, rim = max(0, length - side), int(_RIM * side)
    return generator.integers(-rim, last + rim + 1, count).clip(0, last)


def _percentiles(picture: Photo, values: NDArray[np.float64], view: View) -> tuple[float, float]:
    """What becomes black and white in a picture; whole pictures are counted, none is sorted."""
    counts = np.bincount(picture.ravel(), minlength=len(values))
    ends = counts.cumsum()
    places = np.array([view.low, view.high]) / 100 * (ends[-1] - 1)
    below, above = (np.searchsorted(ends, np.floor(places + step), side="right") for step in (0, 1))
    above = np.minimum(above, len(values) - 1)
    above = np.where(places == np.floor(places), below, above)
    share = places - np.floor(places)
    low, high = values[below] * (1 - share) + values[above] * share
    return float(low), float(high)
