"""Pictures as an animated GIF, written one after the other: memory does not grow with their number.

Reads images (h, w, 3); gives a file that is whole or not there. Pillow writes the header and each frame; its
`save(save_all=True)` would keep all frames until the last one is there, and make one of frames that are alike. Of every
frame only the part that changed is written. Up to 256 colours stay exact, as those of a game do; a frame with more gets
the 256 that suit it best.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from PIL import GifImagePlugin, Image

from objectspace.errors import UserError
from objectspace.io.files import write_atomically
from objectspace.io.images import resize
from objectspace.scene import Picture

FASTEST = 50  # frames a second: delays are whole hundredths, and viewers do not believe in a single one
LARGEST = 65_535  # pixels of a side
COLORS = 256
_KEEP = 1  # what was drawn stays under the next frame


def write_gif(path: Path, pictures: Iterable[Picture], fps: float) -> int:
    """Write pictures as a GIF that repeats for ever; gives their number, and without any writes nothing.

    All have the size of the first; others are resized to it. `fps` is as exact as whole hundredths of a second allow.
    """
    if not 0 < fps <= FASTEST:
        raise UserError(f"a GIF shows up to {FASTEST} pictures a second, not {fps:g}")
    given = iter(pictures)
    first = next(given, None)
    if first is None:
        return 0
    if max(first.shape[:2]) > LARGEST:
        raise UserError(f"a GIF has sides of at most {LARGEST} pixels, not {first.shape[1]} x {first.shape[0]}")
    written = [0]
    write_atomically(path, _pieces(first, given, round(100 / fps), written))
    return written[0]


def _pieces(first: Picture, others: Iterator[Picture], hundredths: int, written: list[int]) -> Iterator[bytes]:
    height, width = first.shape[:2]
    header, _ = GifImagePlugin.getheader(_indexed(first), info={"loop": 0})  # again and again
    yield b"".join(header)
    yield _frame(first, (0, 0), hundredths)
    before, written[0] = first, 1
    for picture in others:
        now = resize(picture, height, width)
        rows, columns = _changed(before, now)
        yield _frame(now[rows, columns], (columns.start, rows.start), hundredths)
        before, written[0] = now, written[0] + 1
    yield b";"


def _frame(picture: Picture, offset: tuple[int, int], hundredths: int) -> bytes:
    """A frame of an animation, with a palette of its own."""
    pieces = GifImagePlugin.getdata(
        _indexed(picture), offset, duration=10 * hundredths, disposal=_KEEP, include_color_table=True
    )
    content = b"".join(pieces)
    pieces.clear()  # Pillow ties it into a cycle, where it would wait for the garbage collector
    return content


def _changed(before: Picture, now: Picture) -> tuple[slice, slice]:
    """The rows and columns that hold all that changed; of equal pictures one pixel, as a frame needs something."""
    different = (before != now).any(2)
    rows, columns = np.flatnonzero(different.any(1)), np.flatnonzero(different.any(0))
    if not len(rows):
        return slice(0, 1), slice(0, 1)
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)


def _indexed(picture: Picture) -> Image.Image:
    """The picture with a palette: its own colours, if these are few enough."""
    packed = picture.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)  # (h, w)
    colors, index = np.unique(packed, return_inverse=True)
    if len(colors) > COLORS:
        return Image.fromarray(np.ascontiguousarray(picture)).quantize(COLORS, dither=Image.Dither.NONE)
    image = Image.fromarray(index.reshape(packed.shape).astype(np.uint8))
    image.putpalette(colors.astype(">u4").view(np.uint8).reshape(-1, 4)[:, 1:].tobytes())
    return image
