"""Binary masks as COCO run-length strings, and back: numpy only, and safe on foreign input.

A mask is read column by column (Fortran order); the runs of equal values are counted, the first run being zeros.
Counts are written as differences to the count two places before, in a variable-length base-32 alphabet. The libraries
that do this in C trust the string; this one checks it, because annotations come from anywhere.
"""

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from objectspace.errors import UserError

Mask = NDArray[np.bool_]


class RunLength(TypedDict):
    """A mask as COCO stores it: `size` is (height, width), `counts` the compressed string."""

    size: list[int]
    counts: str


def encode(mask: NDArray[np.generic]) -> RunLength:
    """Compress a mask (H, W), anything nonzero counting as inside.

    >>> mask = np.array([[0, 1], [1, 1]])
    >>> encode(mask)  # column by column: one outside, three inside, ... as differences, in letters
    {'size': [2, 2], 'counts': '13'}
    """
    height, width = mask.shape
    flat = (mask != 0).ravel(order="F")
    edges = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    starts_inside = flat.size > 0 and bool(flat[0])
    bounds = np.concatenate([[0, 0] if starts_inside else [0], edges, [flat.size]])
    return {"size": [int(height), int(width)], "counts": _to_string(np.diff(bounds))}


def encode_part(part: Mask, top: int, left: int, size: tuple[int, int]) -> RunLength:
    """Compress a mask of `size` (H, W) that is empty but for a part (h, w), whose first row and column are given.

    >>> encode_part(np.array([[True], [True]]), 0, 1, (2, 2)) == encode(np.array([[0, 1], [0, 1]]))
    True
    """
    padded = np.pad(part, ((1, 1), (0, 0))).T  # (w, h + 2): a run ends with its column at the latest
    columns, starts = np.nonzero(padded[:, 1:] & ~padded[:, :-1])
    _, ends = np.nonzero(padded[:, :-1] & ~padded[:, 1:])
    first = (columns + left) * size[0] + top
    starts, ends = first + starts, first + ends
    apart = starts[1:] != ends[:-1]  # runs that meet, from one column's end to the next one's beginning, are one
    starts, ends = starts[np.r_[True, apart][: len(starts)]], ends[np.r_[apart, True][: len(ends)]]
    bounds = np.stack([starts, ends], axis=1).ravel()
    total = size[0] * size[1]
    counts = np.diff(np.concatenate([[0], bounds, [total]]))
    if len(bounds) and bounds[-1] == total:  # nothing outside follows
        counts = counts[:-1]
    return {"size": [int(size[0]), int(size[1])], "counts": _to_string(counts)}


def decode(rle: RunLength) -> Mask:
    """Rebuild the mask (H, W); a string that does not fill exactly its size is an error.

    >>> decode({"size": [2, 2], "counts": "13"}).tolist()
    [[False, True], [True, True]]
    """
    height, width = (int(side) for side in rle["size"])
    counts = _from_string(rle["counts"])
    if height < 0 or width < 0 or (counts < 0).any() or int(counts.sum()) != height * width:
        raise UserError(
            f"a mask's run-length code does not fill its size {height} x {width}: the annotation is damaged"
        )
    values = np.arange(len(counts)) % 2 == 1
    return np.repeat(values, counts).reshape(height, width, order="F")


def area(rle: RunLength) -> int:
    """Number of pixels inside.

    >>> area({"size": [2, 2], "counts": "13"})
    3
    """
    return int(_from_string(rle["counts"])[1::2].sum())


def from_uncompressed(counts: list[int], size: list[int]) -> RunLength:
    """COCO's other spelling, a plain list of counts, as used for crowds."""
    return {"size": [int(side) for side in size], "counts": _to_string(np.asarray(counts, np.int64))}


def _to_string(counts: NDArray[np.int64]) -> str:
    differences = counts.astype(np.int64)
    differences[3:] -= counts[1:-2]
    letters: list[str] = []
    for value in differences.tolist():
        while True:
            digit = value & 0x1F
            value >>= 5
            more = value != (-1 if digit & 0x10 else 0)
            letters.append(chr((digit | 0x20 if more else digit) + 48))
            if not more:
                break
    return "".join(letters)


def _from_string(text: str) -> NDArray[np.int64]:
    counts: list[int] = []
    value, shift = 0, 0
    for letter in text:
        digit = ord(letter) - 48
        if not 0 <= digit < 64 or shift > 40:
            raise UserError(
                "a mask's run-length code holds a letter that does not belong there: the annotation is damaged"
            )
        value |= (digit & 0x1F) << shift
        shift += 5
        if not digit & 0x20:
            if digit & 0x10:
                value -= 1 << shift
            counts.append(value + counts[-2] if len(counts) > 2 else value)
            value, shift = 0, 0
    if shift:
        raise UserError("a mask's run-length code ends in the middle of a number: the annotation is damaged")
    return np.asarray(counts, np.int64)
