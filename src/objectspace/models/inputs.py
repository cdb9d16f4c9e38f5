"""Images as users have them, for models that want tensors of one size.

Reads PIL images, file paths, uint8 or float arrays (H, W, 3) or (H, W), and tensors (3, H, W); gives float tensors in
[0, 1], RGB, resized to the model's size as training images are. Shapes: B images, H W image.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from objectspace.errors import UserError
from objectspace.io.images import BadImage, from_pil, read_image, resize
from objectspace.models.base import Input


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
    return list(images)


def prepare(image: Input, size: tuple[int, int], number: int = 0) -> Prepared:
    """One image as the model wants it; `number` names it in errors."""
    if isinstance(image, (Image.Image, str, PathLike)):
        image = _read(image, number)
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


def _read(image: Image.Image | str | PathLike[str], number: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """A PIL image or a file as RGB (H, W, 3), whatever its mode; see `objectspace.io.images`."""
    try:
        return from_pil(image) if isinstance(image, Image.Image) else read_image(Path(image))
    except BadImage as error:
        name = f"image {number}" if isinstance(image, Image.Image) else f"the image {os.fspath(image)}"
        raise UserError(f"cannot use {name}: it {error}") from error


def _from_array(array: np.ndarray[Any, Any], number: int) -> Tensor:
    if array.ndim == 2:
        array = np.repeat(array[:, :, None], 3, axis=2)
    if array.ndim != 3 or array.shape[2] != 3:
        raise UserError(
            f"image {number} is an array of shape {array.shape}: give (height, width, 3) or (height, width)"
        )
    pixels = torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))
    return _checked(pixels, number)


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
