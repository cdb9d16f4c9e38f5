"""Any image file as RGB pixels, or a plain reason why not; and `resize`, the one way an image gets another size.

Reads a file, gives uint8 (H, W, 3). Files come from anywhere, so nothing about them is believed: the size is checked in
the header before anything is decoded, and what is truncated is refused rather than filled up with grey.

How the unusual kinds are read:
- grey, 1-bit, palette: as the colours they show. Animated or of several pages: the first frame.
- transparency: laid over white, as viewers, browsers and annotation tools show it; what lies hidden under transparent
  pixels is often garbage. `matte` chooses another grey, or None to take the colours as they are stored.
- 16 bit grey: divided by 257, so that 65535 is white, for every file alike. Numbers of other kinds (32 bit, float) that
  leave the range 0..65535 are stretched from the file's own minimum to its maximum, for want of a meaning. Who asks for
  `deep` pictures gets 16 bit words of such files, and bytes of all others; colours of 16 bit come as bytes anyway.
- CMYK: converted; JPEGs in CMYK count as inverted, the way Adobe writes them.
- EXIF orientation: applied.
"""

import os
import re
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from objectspace.errors import UserError

MAX_PIXELS = 178_956_970  # 13k x 13k; Pillow itself refuses to open more than this, without a way around for one file
_KINDS = ("apng", "avif", "bmp", "gif", "jp2", "jpeg", "jpg", "pbm", "pgm", "png", "ppm", "tga", "tif", "tiff", "webp")
SUFFIXES = frozenset(f".{kind}" for kind in _KINDS)
# Whatever a file's name says, its content decides, and Pillow would hand some kinds (EPS) to an interpreter.
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "DIB", "TIFF", "WEBP", "PPM", "TGA", "JPEG2000", "AVIF", "ICO")
_MOVING = ("GIF", "PNG", "WEBP", "TIFF")  # a JPEG's further pictures are thumbnails and depth maps
_ORIENTATION = 0x0112  # the EXIF tag
_BITS, _PLANAR = 258, 284  # those of TIFF
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


Photo = NDArray[np.uint8] | NDArray[np.uint16]  # (H, W, 3) at full depth


class BadImage(Exception):  # noqa: N818 - it is the image that is bad; callers list it, it is no program error
    """A file that cannot be used as an image; the message is the reason, without the file's name."""

    @property
    def reason(self) -> str:
        return str(self)


def read_image(source: Path | IO[bytes], matte: int | None = 255) -> NDArray[np.uint8]:
    """The image as RGB (H, W, 3), upright; raises `BadImage`."""
    return _as_bytes(_read(source, matte, deep=False))


def read_deep(source: Path | IO[bytes], matte: int | None = 255) -> Photo:
    """As `read_image`, in 16 bit words where the file has more than bytes."""
    return _read(source, matte, deep=True)


def read_frames(path: Path, matte: int | None = 255) -> Iterator[tuple[int | None, NDArray[np.uint8]]]:
    """As `read_deep_frames`, in bytes."""
    for number, pixels in _frames(path, matte, deep=False):
        yield number, _as_bytes(pixels)


def read_deep_frames(path: Path, matte: int | None = 255) -> Iterator[tuple[int | None, Photo]]:
    """Every frame of an animation, or page of a TIFF, with its number from 0; of any other image the one, with None.

    Frames are decoded one at a time. `BadImage` is raised where it is met: the frames before it are good.
    """
    return _frames(path, matte, deep=True)


def _frames(path: Path, matte: int | None, deep: bool) -> Iterator[tuple[int | None, Photo]]:
    with _open(path) as file:
        with _explained():
            _check_content(file)
            image = Image.open(file, formats=_formats())
            _check_size(*image.size)
            moving = image.format in _MOVING and getattr(image, "is_animated", False)
        number = 0
        while True:
            with _explained():
                try:
                    image.seek(number)
                except EOFError:
                    return
                _check_layout(image)
                image.load()
                pixels = _upright_rgb(image, matte, deep)
            yield number if moving else None, pixels
            if not moving:
                return
            number += 1


def from_pil(image: Image.Image, matte: int | None = 255, *, deep: bool = False) -> Photo:
    """An image that Pillow has opened, of any mode, as RGB (H, W, 3), upright; raises `BadImage`."""
    try:
        _check_size(*image.size)
        image.load()
        return _upright_rgb(image, matte, deep)
    except BadImage:
        raise
    except Exception as error:  # decoders meet foreign bytes with exceptions of every kind
        raise BadImage(f"is truncated or damaged: {error or type(error).__name__}") from error


def list_images(directory: Path) -> list[Path]:
    """All image files below a directory, by their suffix, in natural order (2 before 10), without hidden ones."""
    if not directory.is_dir():
        raise UserError(f"{directory} is {'not a directory' if directory.exists() else 'missing'}: give a directory")
    found: list[Path] = []
    visited: set[str] = set()

    def refuse(error: OSError) -> None:
        raise UserError(f"cannot list {error.filename}: {error.strerror}") from error

    for parent, folders, files in os.walk(directory, followlinks=True, onerror=refuse):
        real = os.path.realpath(parent)
        if real in visited:  # a link that leads back
            folders.clear()
            continue
        visited.add(real)
        folders[:] = sorted((name for name in folders if not name.startswith(".")), key=natural_key)
        found += [Path(parent, name) for name in files if _is_image_name(name)]
    return sorted(found, key=lambda path: [natural_key(part) for part in path.relative_to(directory).parts])


def natural_key(name: str) -> tuple[list[str | int], str]:
    """Sorts frame2 before frame10; the name itself decides between 1 and 01.

    >>> sorted(["frame10.png", "frame2.png"], key=natural_key)
    ['frame2.png', 'frame10.png']
    """
    return [int(part) if index % 2 else part for index, part in enumerate(re.split("([0-9]+)", name))], name


def resize(image: NDArray[np.uint8], height: int, width: int, *, keep_thin: bool = False) -> NDArray[np.uint8]:
    """An image (H, W, 3) at another size: averaged when it shrinks, interpolated when it grows.

    Whatever reaches a model goes through here, in training as when images are taken apart, so that an image is the same
    bytes to it either way. Whole factors average exact blocks. For others Pillow's bilinear filter is used, which
    widens as it shrinks; a box filter would take alternately one and two pixels there and shift edges. `keep_thin`
    takes the box filter all the same: of what is one pixel wide it keeps most, at least half of its contrast where
    bilinear keeps two fifths. That is for screens, see `data/atari/screen.py`.

    >>> image = np.zeros((2, 4, 3), np.uint8)
    >>> image[0, :2] = 200
    >>> resize(image, 1, 2)[..., 0]
    array([[100,   0]], dtype=uint8)
    """
    if image.shape[:2] == (height, width):
        return image
    whole = image.shape[0] % height == 0 and image.shape[1] % width == 0
    method = Image.Resampling.BOX if whole or keep_thin else Image.Resampling.BILINEAR
    return np.array(Image.fromarray(image).resize((width, height), method))


def _is_image_name(name: str) -> bool:
    return not name.startswith(".") and os.path.splitext(name)[1].lower() in SUFFIXES


def _open(path: Path) -> IO[bytes]:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise BadImage("is a directory")
        if not stat.S_ISREG(mode):  # opening a pipe would wait for ever
            raise BadImage("is not a regular file")
        return path.open("rb")
    except FileNotFoundError as error:
        reason = "is a link to a file that does not exist" if path.is_symlink() else "does not exist"
        raise BadImage(reason) from error
    except PermissionError as error:
        raise BadImage("may not be read: permission denied") from error
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte, out of an annotation file
        raise BadImage(f"cannot be opened: {error}") from error


def _read(source: Path | IO[bytes], matte: int | None, deep: bool) -> Photo:
    if isinstance(source, Path):
        with _open(source) as file:
            return _decode(file, matte, deep)
    return _decode(source, matte, deep)


def _as_bytes(pixels: Photo) -> NDArray[np.uint8]:
    assert pixels.dtype == np.uint8, "who does not ask for deep pictures gets bytes"
    return pixels.astype(np.uint8, copy=False)


def _decode(file: IO[bytes], matte: int | None, deep: bool) -> Photo:
    with _explained():
        _check_content(file)
        with Image.open(file, formats=_formats()) as image:
            _check_size(*image.size)
            _check_layout(image)
            image.load()
            return _upright_rgb(image, matte, deep)


@contextmanager
def _explained() -> Iterator[None]:
    """Whatever goes wrong while a file is decoded becomes a `BadImage` with a plain reason."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the size is checked by us
        warnings.simplefilter("ignore", UserWarning)  # Pillow's remarks on odd metadata
        try:
            yield
        except BadImage:
            raise
        except UnidentifiedImageError as error:
            raise BadImage("is not an image of a known kind, or its first bytes are damaged") from error
        except Image.DecompressionBombError as error:
            raise BadImage(f"is enormous: {str(error).split(', could')[0]}") from error
        except MemoryError as error:
            raise BadImage("does not fit into memory") from error
        except Exception as error:  # decoders meet foreign bytes with exceptions of every kind
            raise BadImage(f"is truncated or damaged: {error or type(error).__name__}") from error


def _check_content(file: IO[bytes]) -> None:
    file.seek(0)
    if not file.read(1):
        raise BadImage("is empty (0 bytes)")
    file.seek(0)


@cache
def _formats() -> list[str]:
    """Those of our formats that this build of Pillow can read."""
    Image.init()
    return [name for name in _FORMATS if name in Image.OPEN]


def _check_size(width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        raise BadImage(f"is enormous: {width} x {height} pixels, more than the limit of {MAX_PIXELS:,} in all")
    if width < 1 or height < 1:
        raise BadImage(f"has no pixels: {width} x {height}")


def _check_layout(image: Image.Image) -> None:
    """Refuse colours of 16 bit that lie one after another in a TIFF: Pillow mixes their bytes up without a word."""
    tags = getattr(image, "tag_v2", None)
    if tags is not None and tags.get(_PLANAR) == 2 and max(tags.get(_BITS, (8,))) > 8:
        raise BadImage(
            "has colours of more than 8 bit that are stored apart (planar), which cannot be read: "
            "save it interleaved, or each channel as a file of its own"
        )


def _orientation(image: Image.Image) -> int:
    try:
        value = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # damaged metadata is no reason to refuse good pixels
        return 1
    return value if value in _UPRIGHT else 1


def _upright_rgb(image: Image.Image, matte: int | None, deep: bool) -> Photo:
    turn = _UPRIGHT.get(_orientation(image))  # after loading: TIFFs are turned by then, and say so
    return _to_rgb(image if turn is None else image.transpose(turn), matte, deep)


def _to_rgb(image: Image.Image, matte: int | None, deep: bool) -> Photo:
    """The pixels of a loaded image of any mode as (H, W, 3)."""
    if image.mode[0] in "IF":
        grey = _narrowed(np.asarray(image), image.mode == "F", 65535 if deep else 255)
        rgb: NDArray[Any] = np.repeat(grey[:, :, None], 3, axis=2)
        return rgb
    try:
        if image.has_transparency_data:
            image = image.convert("RGBA")
            if matte is not None:
                image = Image.alpha_composite(Image.new("RGBA", image.size, (matte, matte, matte, 255)), image)
        return np.array(image.convert("RGB"))
    except ValueError as error:
        raise BadImage(f"has colours of a kind that is not supported ({image.mode})") from error


def _narrowed(values: NDArray[np.generic], is_float: bool, white: int) -> NDArray[Any]:
    """Numbers (H, W) wider than a byte, from 0 to `white`, 255 or 65535; see the top of this file for the rule."""
    if values.dtype == np.uint16 and white == 65535:
        return values
    numbers = values.astype(np.float64)
    known = np.isfinite(numbers)
    low, high = (float(numbers[known].min()), float(numbers[known].max())) if known.any() else (0.0, 0.0)
    numbers = np.where(known, numbers, low)
    if low < 0 or high > 65535:
        scaled = (numbers - low) * (white / ((high - low) or 1))
    elif is_float and high <= 255:
        scaled = numbers * (white if high <= 1 else white // 255)
    else:
        scaled = numbers / (65535 // white)
    narrowed: NDArray[Any] = np.rint(scaled).astype(np.uint8 if white == 255 else np.uint16)
    return narrowed
