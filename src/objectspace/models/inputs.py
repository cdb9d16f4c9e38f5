"""Images as users have them, for models that want tensors of one size.

Reads PIL images, file paths, uint8, uint16 or float arrays (H, W, 3) or (H, W), and tensors (3, H, W); gives float
tensors in [0, 1], RGB, stretched and resized to the model's size as training images are. Shapes: B images, H W image.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from objectspace.config import View
from objectspace.errors import UserError
from objectspace.io.images import BadImage, Photo, from_pil, read_deep, read_image, resize
from objectspace.io.view import stretched, to_bytes
from objectspace.models.base import Input

PLAIN = View()


@dataclass(frozen=True)
class Prepared:
    """An image at the model's size, and as it was."""

    image: Tensor  # (3, H, W) in [0, 1]
    photo: Tensor  # (3, height, width), the same, or bytes, which take less room

    @property
    def height(self) -> int:
        return self.photo.shape[1]

    @property
    def width(self) -> int:
        return self.photo.shape[2]

    @property
    def pixels(self) -> Tensor:
        """The photo in [0, 1]: (3, height, width)."""
        return self.photo if self.photo.is_floating_point() else self.photo.to(self.image) / 255


def as_list(images: Input | Sequence[Input]) -> list[Input]:
    """One image, a list of them, or an array or tensor that holds a batch."""
    if isinstance(images, Tensor):
        return [images] if images.ndim < 4 else list(images)
    if isinstance(images, np.ndarray):
        return [images] if images.ndim < 4 else list(images)
    if isinstance(images, (Image.Image, str, PathLike)):
        return [images]
    if not isinstance(images, Iterable):
        kind = type(images).__name__
        raise UserError(f"images are a {kind}: give a PIL image, a path, an array, a tensor, or a list of them")
    return list(images)


def checked_generator(generator: object) -> torch.Generator | None:
    """What random numbers are drawn with; a number is no generator, though it could be the seed of one."""
    if generator is None or isinstance(generator, torch.Generator):
        return generator
    advice = f"torch.Generator().manual_seed({generator})" if isinstance(generator, int) else "a torch.Generator"
    raise UserError(f"generator is {generator!r}: give {advice}")


def prepare(image: Input, size: tuple[int, int], number: int = 0, view: View = PLAIN) -> Prepared:
    """One image as the model wants it; `number` names it in errors. The photo is as the view stretches it."""
    if isinstance(image, (Image.Image, str, PathLike)):
        image = _read(image, number, view.stretches)
    if view.stretches:
        image = stretched(_deep(image, number), view)
    elif isinstance(image, np.ndarray) and image.dtype == np.uint16:
        image = to_bytes(image)
    pixels = _from_array(image, number) if isinstance(image, np.ndarray) else _from_tensor(image, number)
    height, width = pixels.shape[1:]
    if height < 1 or width < 1:
        raise UserError(f"image {number} has no pixels: its size is {height} x {width}")
    if (height, width) == tuple(size):
        whole = _to_floats(pixels)
        return Prepared(whole, whole)
    photo = pixels if pixels.dtype == torch.uint8 else (_to_floats(pixels) * 255).round().to(torch.uint8)
    resized = torch.from_numpy(resize(photo.permute(1, 2, 0).contiguous().cpu().numpy(), *size))
    return Prepared(_to_floats(resized.permute(2, 0, 1)).to(photo.device), photo)


def photo_of(image: Input, number: int, view: View) -> NDArray[np.uint8]:
    """An image of any kind as bytes (H, W, 3), at its own size, stretched as the view says."""
    if isinstance(image, (Image.Image, str, PathLike)):
        image = _read(image, number, view.stretches)
    return stretched(_deep(image, number), view)


def _deep(image: Input, number: int) -> Photo:
    """Pixels of any kind as bytes, or as words where they are deeper: (H, W, 3)."""
    if isinstance(image, np.ndarray) and image.dtype == np.uint16:
        return _of_three(image, number).astype(np.uint16, copy=False)
    pixels = _from_array(image, number) if isinstance(image, np.ndarray) else _from_tensor(image, number)
    values: NDArray[Any] = pixels.permute(1, 2, 0).cpu().numpy()
    return values if values.dtype == np.uint8 else np.rint(values.astype(np.float64) * 65535).astype(np.uint16)


def _read(image: Image.Image | str | PathLike[str], number: int, deep: bool) -> Photo:
    """A PIL image or a file as RGB (H, W, 3), whatever its mode; see `objectspace.io.images`."""
    try:
        if isinstance(image, Image.Image):
            return from_pil(image, deep=deep)
        return read_deep(Path(image)) if deep else read_image(Path(image))
    except BadImage as error:
        name = f"image {number}" if isinstance(image, Image.Image) else f"the image {os.fspath(image)}"
        raise UserError(f"cannot use {name}: it {error}") from error


def _from_array(array: NDArray[Any], number: int) -> Tensor:
    array = _of_three(array, number)
    return _checked(torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1))), number)


def _of_three(array: NDArray[Any], number: int) -> NDArray[Any]:
    """An array (H, W) or (H, W, 3) with its three channels."""
    if array.ndim == 2:
        array = np.repeat(array[:, :, None], 3, axis=2)
    if array.ndim != 3 or array.shape[2] != 3:
        raise UserError(
            f"image {number} is an array of shape {array.shape}: give (height, width, 3) or (height, width)"
        )
    return array


def _from_tensor(tensor: Any, number: int) -> Tensor:
    if not isinstance(tensor, Tensor):
        kind = type(tensor).__name__
        raise UserError(f"image {number} is a {kind}: give a PIL image, a path, an array or a tensor")
    if tensor.ndim != 3 or tensor.shape[0] != 3:
        raise UserError(f"image {number} is a tensor of shape {tuple(tensor.shape)}: give (3, height, width)")
    return _checked(tensor.detach(), number)


def _checked(pixels: Tensor, number: int) -> Tensor:
    """Pixels (3, H, W) that are bytes, or floats in [0, 1]."""
    if pixels.dtype == torch.uint8:
        return pixels
    if not pixels.is_floating_point():
        raise UserError(f"image {number} holds {pixels.dtype}: give uint8 from 0 to 255, or floats from 0 to 1")
    if pixels.numel() and not (bool(pixels.isfinite().all()) and float(pixels.min()) >= 0 and float(pixels.max()) <= 1):
        raise UserError(f"image {number} holds floats outside 0 to 1: divide by 255, or give uint8")
    return pixels


def _to_floats(pixels: Tensor) -> Tensor:
    """Bytes or floats as floats in [0, 1]; bytes as training divides them."""
    values = pixels.to(torch.get_default_dtype())
    return values if pixels.is_floating_point() else values / 255
