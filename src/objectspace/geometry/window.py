"""A mask kept as the part of the image that holds it: hundreds of objects in a large image would not fit into memory.

Convention: x right, y down, pixels. Shapes: H W image, h w window.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from objectspace.geometry.boxes import Box, tight_box
from objectspace.geometry.rle import Mask, RunLength, encode_part


@dataclass(frozen=True, eq=False)
class Window:
    """A mask (H, W) that is empty but for `part`, whose first row and column are `top` and `left`."""

    part: Mask  # (h, w), read-only
    top: int
    left: int
    size: tuple[int, int]  # H, W

    @classmethod
    def of(cls, mask: Mask, top: int = 0, left: int = 0, size: tuple[int, int] | None = None) -> "Window":
        """The tight window of a mask, or of the part of one that begins at `top`, `left` of an image of `size`.

        What lies outside of the image is cut off.

        >>> mask = np.zeros((4, 6), np.bool_)
        >>> mask[1:3, 2:5] = True
        >>> window = Window.of(mask)
        >>> window.part.shape, window.top, window.left, window.area
        ((2, 3), 1, 2, 6)
        """
        size = (mask.shape[0], mask.shape[1]) if size is None else size
        rows, columns = max(0, -top), max(0, -left)
        inside = mask[rows : max(rows, size[0] - top), columns : max(columns, size[1] - left)]
        box = tight_box(inside)
        x0, y0, x1, y1 = (0, 0, 0, 0) if box is None else (int(value) for value in box)
        part = np.array(inside[y0:y1, x0:x1], np.bool_)
        part.flags.writeable = False
        return cls(part, top + rows + y0, left + columns + x0, size)

    @property
    def place(self) -> tuple[slice, slice]:
        """The rows and columns of the image that the window is."""
        return (
            slice(self.top, self.top + self.part.shape[0]),
            slice(self.left, self.left + self.part.shape[1]),
        )

    @property
    def area(self) -> int:
        return int(np.count_nonzero(self.part))

    @property
    def box(self) -> Box | None:
        """Tight around the mask; None where it is empty."""
        if not self.part.size:
            return None
        height, width = self.part.shape
        return float(self.left), float(self.top), float(self.left + width), float(self.top + height)

    @property
    def whole(self) -> Mask:
        """The mask (H, W), read-only."""
        mask = np.zeros(self.size, np.bool_)
        mask[self.place] = self.part
        mask.flags.writeable = False
        return mask

    def within(self, box: tuple[int, int, int, int]) -> NDArray[np.bool_]:
        """The part of the mask in a box of whole pixels (x0, y0, x1, y1)."""
        x0, y0, x1, y1 = box
        inside = np.zeros((max(y1 - y0, 0), max(x1 - x0, 0)), np.bool_)
        top, left = max(self.top, y0), max(self.left, x0)
        bottom, right = min(self.top + self.part.shape[0], y1), min(self.left + self.part.shape[1], x1)
        if bottom > top and right > left:
            mine = self.part[top - self.top : bottom - self.top, left - self.left : right - self.left]
            inside[top - y0 : bottom - y0, left - x0 : right - x0] = mine
        return inside

    def joined(self, other: "Window") -> "Window":
        """The pixels of both."""
        ends = [
            (each.left, each.top, each.left + each.part.shape[1], each.top + each.part.shape[0])
            for each in (self, other)
            if each.part.size
        ]
        if not ends:
            return self
        lows, highs = [min(end[i] for end in ends) for i in (0, 1)], [max(end[i] for end in ends) for i in (2, 3)]
        box = lows[0], lows[1], highs[0], highs[1]
        return Window.of(self.within(box) | other.within(box), box[1], box[0], self.size)

    def encoded(self) -> RunLength:
        """The whole mask's run-length code."""
        return encode_part(self.part, self.top, self.left, self.size)
