"""Numbers and pictures as they stand in a page: short, shrunk, and embedded so that nothing is fetched.

Reads numbers and arrays; gives what templates need.
"""

import base64
import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from objectspace.geometry.rle import Mask
from objectspace.scene import Picture

LARGE, SIDE = 512, 256  # the longest side of the input and of all other pictures, in pixels of the file
FEW_PIXELS = 200  # below this side a picture is enlarged on the page: its pixels are shown as squares, not smoothed
WORTH_IT = 3  # how much shorter than PNG a JPEG must be to be preferred to exact pixels


@dataclass(frozen=True)
class Embedded:
    """A picture that holds its own data; `image` in macros.html shows it."""

    address: str
    width: int
    height: int

    @property
    def pixels(self) -> bool:
        """Whether it is so small that its pixels are shown as squares."""
        return max(self.height, self.width) < FEW_PIXELS


def number(value: float, digits: int = 2) -> str:
    """A number with at most `digits` decimals, without trailing zeros."""
    text = f"{round(value, digits) + 0.0:.{digits}f}"  # + 0.0: no minus sign before a zero
    return text.rstrip("0").rstrip(".") if digits else text


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def shrink(picture: Picture, side: int) -> Picture:
    """The picture with its longest side at most `side`; a small one as it is."""
    size = shrunk_size(picture.shape[0], picture.shape[1], side)
    if size == picture.shape[1::-1]:
        return picture
    return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS))


def shrink_flat(picture: Picture, side: int) -> Picture:
    """As `shrink`, for pictures whose colours mean something: none is mixed from two others."""
    size = shrunk_size(picture.shape[0], picture.shape[1], side)
    return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.NEAREST))


def shrink_mask(mask: Mask, side: int) -> Mask:
    """A mask (H, W) with its longest side at most `side`: a pixel is inside when half of it was."""
    size = shrunk_size(mask.shape[0], mask.shape[1], side)
    if size == mask.shape[::-1]:
        return mask
    share = Image.fromarray(mask.astype(np.uint8) * 255).resize(size, Image.Resampling.BOX)
    return np.asarray(np.asarray(share) >= 128)


def shrunk_size(height: int, width: int, side: int) -> tuple[int, int]:
    """Width and height after shrinking, at least one pixel each."""
    factor = min(1.0, side / max(height, width))
    return max(1, round(width * factor)), max(1, round(height * factor))


def embedded(picture: Picture | NDArray[np.uint8]) -> Embedded:
    """A picture (h, w, 3) or (h, w) for the page."""
    height, width = picture.shape[:2]
    return Embedded(_data_address(picture), width, height)


def _data_address(picture: NDArray[np.uint8]) -> str:
    """PNG, unless JPEG is far shorter: most small pictures stay exact, and photographs do not fill the disk."""
    image = Image.fromarray(picture)
    png, jpeg = io.BytesIO(), io.BytesIO()
    image.save(png, format="PNG")
    image.save(jpeg, format="JPEG", quality=90, subsampling=0)
    kind, file = ("jpeg", jpeg) if png.tell() > WORTH_IT * jpeg.tell() else ("png", png)
    return f"data:image/{kind};base64,{base64.b64encode(file.getvalue()).decode()}"
