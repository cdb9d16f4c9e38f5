"""From what is unexplained to first objects: its connected regions, with touching objects taken apart.

Convention: x right, y down, pixels; a box is (x0, y0, x1, y1) with x1, y1 one past the last pixel. Shapes: H W image,
h w region.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from objectspace.geometry.rle import Mask
from objectspace.geometry.splitting import EIGHT, Floats, Labels, padding, split_region

_HOLE = 0.25  # a hole of at most this share of its region is closed


@dataclass(frozen=True, eq=False)
class Region:
    """Connected pixels that may be an object: the box around them, and which of its pixels they are."""

    box: tuple[int, int, int, int]
    mask: Mask  # (h, w), the box's crop

    @property
    def area(self) -> int:
        return int(np.count_nonzero(self.mask))

    @property
    def length(self) -> float:
        """How many times as long as wide it is, by its box."""
        x0, y0, x1, y1 = self.box
        return max(x1 - x0, y1 - y0) / min(x1 - x0, y1 - y0)


def find_regions(
    unexplained: NDArray[Any],
    image: Floats | None = None,
    least_pixels: int = 4,
    most: int | None = None,
    *,
    split: bool = True,
) -> list[Region]:
    """The regions of a map of unexplained pixels (H, W), in [0, 1] or booleans, the largest first.

    With the image (H, W, 3) in [0, 1] touching objects are told apart by colour, too. Regions below `least_pixels` are
    left out, and so are all but the `most` largest. Without `split` connected pixels are one region whatever they show.

    >>> unexplained = np.zeros((16, 16), np.bool_)
    >>> unexplained[2:8, 3:9] = unexplained[12:14, 10:13] = True
    >>> [(region.box, region.area) for region in find_regions(unexplained)]
    [((3, 2, 9, 8), 36), ((10, 12, 13, 14), 6)]
    """
    labels, count = ndimage.label(np.asarray(unexplained) > 0.5, EIGHT)
    if not count:
        return []
    _close_holes(labels)
    found = []
    for number, window in enumerate(ndimage.find_objects(labels), start=1):
        mask = labels[window] == number
        if np.count_nonzero(mask) < least_pixels:
            continue
        parts = [(mask, 0, 0)]
        if split:
            crop = None if image is None else np.asarray(image[window], np.float32)
            parts = split_region(mask, crop, padding(window, labels.shape))
        found += [_region(part, window[0].start + y, window[1].start + x) for part, y, x in parts]
    return sorted((each for each in found if each.area >= least_pixels), key=lambda each: -each.area)[:most]


def _region(mask: Mask, y: int, x: int) -> Region:
    return Region((x, y, x + mask.shape[1], y + mask.shape[0]), mask)


def _close_holes(labels: Labels) -> None:
    """Give small holes, which do not reach the image's border, to the region around them, in place."""
    holes, count = ndimage.label(labels == 0)
    if count < 2:
        return
    outside = set(np.concatenate([holes[0], holes[-1], holes[:, 0], holes[:, -1]]).tolist())
    sizes = np.bincount(labels.ravel())
    for number, window in enumerate(ndimage.find_objects(holes), start=1):
        if number in outside:
            continue
        hole = holes[window] == number
        row, column = window[0].start, window[1].start + int(hole[0].argmax())
        owner = labels[row - 1, column]  # the hole's first pixel: above it is its region
        if np.count_nonzero(hole) <= _HOLE * sizes[owner]:
            labels[window][hole] = owner
