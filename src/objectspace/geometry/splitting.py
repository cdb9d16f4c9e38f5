"""Touching objects taken apart, carefully: by a neck between two thick parts, or by clearly different colours.

A convex thing, a die with its pips and a cube with a light and a dark face stay whole. Shapes: h w region.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from objectspace.geometry.rle import Mask

Floats = NDArray[np.floating[Any]]
Labels = NDArray[np.int32]
Padding = list[tuple[int, int]]  # before and after each axis

EIGHT = np.ones((3, 3), np.bool_)  # pixels that touch at a corner belong together
_NECK = 0.6  # a neck is at most so wide, measured by the thinner of the parts beside it ...
_DEEPER = 0.75  # ... and its half width so many pixels less than that part's
_THICK = 2.0  # half the width, in pixels, that a part must have to be an object of its own
_FILLED = 0.6  # a thing without dents that fills so much of its box need not be searched for necks
_SMOOTHING = 0.7  # of the distances, in pixels: else the steps of an outline make necks
_LEVEL = 0.5  # pixels eaten away at a time in looking for necks
_PART = 20  # pixels that a part of another colour must have
_APART = 0.11  # colours of two objects are at least so far from each other, as shares of red, green and blue
_DARK = 0.1  # a pixel whose mean is below has no colour to tell
_ENCLOSED = 0.8  # a part is a mark on another one if so much of its rim touches that one alone


def split_region(mask: Mask, crop: Floats | None, around: Padding) -> list[tuple[Mask, int, int]]:
    """The objects in a region (h, w): each its own tight mask, and the row and column where that begins.

    Without the crop (h, w, 3) of the image, in [0, 1], only shape counts. `around` is the region's `padding`.
    """
    if np.count_nonzero(mask) < 2 * _PART:
        return [(mask, 0, 0)]
    return list(_parts(mask, crop, around))


def padding(window: tuple[slice, slice], shape: tuple[int, ...]) -> Padding:
    """What to pad a window with to have its outside around it: nothing where the image ends, which cuts things."""
    return [(int(side.start > 0), int(side.stop < length)) for side, length in zip(window, shape, strict=True)]


def _parts(mask: Mask, crop: Floats | None, around: Padding) -> Iterator[tuple[Mask, int, int]]:
    colours = mask.astype(np.int32) if crop is None else _by_colour(mask, crop)
    for number, window in enumerate(ndimage.find_objects(colours), start=1):
        inside = padding(window, mask.shape)
        own = [(max(a, c), max(b, d)) for (a, b), (c, d) in zip(around, inside, strict=True)]
        shapes = _by_shape(colours[window] == number, own)
        for part, place in enumerate(ndimage.find_objects(shapes), start=1):
            yield shapes[place] == part, window[0].start + place[0].start, window[1].start + place[1].start


def _by_shape(mask: Mask, around: Padding) -> Labels:
    """Labels 1, 2, ... (h, w) of the parts of a mask that necks separate."""
    (top, bottom), (left, right) = around
    height, width = mask.shape
    padded = _framed(mask)[1 - top : height + 1 + bottom, 1 - left : width + 1 + right]
    whole = mask.astype(np.int32)
    if padded.all() or _is_plain(mask):
        return whole
    distance = ndimage.distance_transform_edt(padded)
    distance = np.where(padded, ndimage.gaussian_filter(distance, _SMOOTHING, mode="nearest", truncate=3), 0)
    peaks = (distance >= _THICK) & (distance >= ndimage.maximum_filter(distance, 5))
    cores = _cores(distance, padded, _LEVEL) if np.count_nonzero(peaks) > 1 else []
    if len(cores) < 2:
        return whole
    markers = np.zeros(padded.shape, np.int16)
    for number, core in enumerate(cores, start=1):
        markers[core] = number
    depth = np.where(padded, (distance.max() - distance) * 64, 65535).clip(0, 65535).astype(np.uint16)
    flooded = ndimage.watershed_ift(depth, markers, EIGHT).astype(np.int32)
    return np.where(mask, flooded[top : top + height, left : left + width], 0)


def _is_plain(mask: Mask) -> bool:
    """Whether a mask (h, w) has no gap in any row or column and fills its box well: then it has no neck."""
    if np.count_nonzero(mask) < _FILLED * mask.size:
        return False
    framed = _framed(mask)
    begins = framed[1:, 1:] & ~framed[1:, :-1], framed[1:, 1:] & ~framed[:-1, 1:]
    return bool(begins[0].sum(1).max() < 2 and begins[1].sum(0).max() < 2)


def _cores(distance: Floats, piece: Mask, level: float) -> list[Mask]:
    """The hearts of the parts of a piece (h, w), given how far each pixel is from the outside: one for each part.

    The piece is eaten away level by level; where it falls into several pieces that are thick enough, there was a neck.
    """
    highest = float(distance[piece].max())
    while level < min(_NECK * highest, highest - _DEEPER):
        labels, count = ndimage.label(piece & (distance > level), EIGHT)
        if count > 1:
            least = max(_THICK, level / _NECK, level + _DEEPER)
            heights = ndimage.maximum(distance, labels, np.arange(1, count + 1))
            thick = [labels == number for number, height in enumerate(heights, start=1) if height >= least]
            if len(thick) > 1:
                return [core for each in thick for core in _cores(distance, each, level + _LEVEL)]
            if not thick:
                break
            piece = thick[0]
        level += _LEVEL
    return [piece]


def _by_colour(mask: Mask, crop: Floats) -> Labels:
    """Labels 1, 2, ... (h, w) of the parts of a mask that have colours of their own; crop (h, w, 3)."""
    whole = mask.astype(np.int32)
    colours = np.zeros_like(whole)
    colours[mask] = _colours(crop[mask])
    if colours.max() < 2:
        return whole
    markers, count = np.zeros_like(whole), 0
    for colour in range(1, int(colours.max()) + 1):
        labels, _ = ndimage.label(colours == colour)
        sizes = np.bincount(labels.ravel())
        for number, window in enumerate(ndimage.find_objects(labels), start=1):
            if sizes[number] >= _PART and _is_thick(part := labels[window] == number):
                count += 1
                markers[window][part] = count
    if count < 2:
        return whole
    parts = _nearest(markers, mask)
    marks = _marks(parts, count)
    if not len(marks):
        return parts
    markers[np.isin(markers, marks)] = 0
    return _renumbered(_nearest(markers, mask)) if markers.any() else whole


def _colours(pixels: Floats) -> NDArray[np.int64]:
    """Which colour (n,) pixels (n, 3) have: 1 is the most frequent; 0 is none, dark or rare."""
    totals = pixels.sum(1)
    red, green = (pixels[:, :2] / np.maximum(totals, 1e-6)[:, None]).T  # brightness, and so shading, drops out
    chosen, count = np.zeros(len(pixels), np.int64), 0
    left = totals >= 3 * _DARK
    bins = (red * 16).astype(np.int64) * 17 + (green * 16).astype(np.int64)
    while np.count_nonzero(left) >= _PART:
        near = left & (bins == np.bincount(bins[left]).argmax())
        for _ in range(2):  # move to the mean of what is near
            middle = red[near].mean(), green[near].mean()
            near = left & (np.square(red - middle[0]) + np.square(green - middle[1]) < _APART**2)
        if np.count_nonzero(near) < _PART:
            break
        count += 1
        chosen[near] = count
        left &= ~near
    return chosen


def _is_thick(part: Mask) -> bool:
    """Whether there are 3 x 3 pixels of a part (h, w) somewhere."""
    rows = part[:-2] & part[1:-1] & part[2:]
    return bool((rows[:, :-2] & rows[:, 1:-1] & rows[:, 2:]).any())


def _nearest(markers: Labels, mask: Mask) -> Labels:
    """Each pixel of a mask gets the label of the nearest marker."""
    rows, columns = ndimage.distance_transform_edt(markers == 0, return_distances=False, return_indices=True)
    return np.where(mask, markers[rows, columns], 0)


def _marks(parts: Labels, count: int) -> NDArray[np.int64]:
    """Which of the parts 1 to count (h, w) lie in another one, as a pip in a die, rather than beside it."""
    framed = _framed(parts)
    borders = np.zeros((count + 1) ** 2, np.int64)  # how many sides of pixels two labels share
    for first, second in ((framed[1:], framed[:-1]), (framed[:, 1:], framed[:, :-1])):
        differ = first != second
        borders += np.bincount(first[differ] * (count + 1) + second[differ], minlength=len(borders))
    shared = borders.reshape(count + 1, count + 1)
    shared = shared + shared.T
    return np.flatnonzero(shared[1:, 1:].max(1) > _ENCLOSED * shared[1:].sum(1)) + 1


def _renumbered(labels: Labels) -> Labels:
    """Labels without gaps; 0 stays."""
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape).astype(np.int32) + int((labels > 0).all())


def _framed(array: NDArray[Any]) -> NDArray[Any]:
    """An array (h, w) with one more zero on each side."""
    framed = np.zeros((array.shape[0] + 2, array.shape[1] + 2), array.dtype)
    framed[1:-1, 1:-1] = array
    return framed
