"""What all models need to make a `Scene` of tensors: evaluation mode, channel order, pictures, their size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from objectspace.config import ModelConfig
from objectspace.scene import Picture


@dataclass(frozen=True)
class Backdrop:
    """The background of one image at the model's size."""

    masks: Tensor  # (K, H, W)
    means: Tensor | None  # (K, C, H, W), None where no pictures are wanted

    @property
    def image(self) -> Tensor:
        """The mean of the mixture (C, H, W)."""
        return _mixed(self.masks, self.means)


@dataclass(frozen=True)
class Backdrops:
    """The backgrounds of some images at the model's size."""

    masks: Tensor  # (B, K, H, W)
    means: Tensor | None  # (B, K, C, H, W), None where no pictures are wanted

    @property
    def image(self) -> Tensor:
        """The mean of the mixture (B, C, H, W)."""
        return _mixed(self.masks, self.means)

    def __getitem__(self, index: Tensor) -> Backdrops:
        """Those of some images, numbered (b,)."""
        return Backdrops(self.masks[index], None if self.means is None else self.means[index])

    def of(self, number: int) -> Backdrop:
        """That of one image."""
        return Backdrop(self.masks[number], None if self.means is None else self.means[number])


def _mixed(masks: Tensor, means: Tensor | None) -> Tensor:
    """Pictures (..., K, C, H, W) mixed by masks (..., K, H, W): (..., C, H, W)."""
    if means is None:
        raise ValueError("backgrounds without pictures have no image")
    return (masks.unsqueeze(-3) * means).sum(-4)


class evaluating:  # noqa: N801
    """Evaluation mode without gradients, and back to whatever mode it was."""

    def __init__(self, model: nn.Module) -> None:
        self.model, self.was_training, self.quiet = model, model.training, torch.inference_mode()

    def __enter__(self) -> None:
        self.model.eval()
        self.quiet.__enter__()

    def __exit__(self, *error: object) -> None:
        self.quiet.__exit__(None, None, None)
        self.model.train(self.was_training)


def swap(config: ModelConfig, images: Tensor) -> Tensor:
    """RGB to the model's channel order, and back: (..., C, H, W)."""
    return images.flip(-3) if config.channels == "bgr" else images


def to_picture(config: ModelConfig, image: Tensor) -> Picture:
    """A model's image (C, H, W) as bytes (H, W, C), RGB."""
    return to_bytes(swap(config, image).permute(1, 2, 0))


def to_bytes(values: Tensor) -> NDArray[np.uint8]:
    """Numbers in [0, 1] as bytes, of any shape."""
    return (values.clamp(0, 1) * 255).round().to(torch.uint8).contiguous().cpu().numpy()


def to_size(maps: Tensor, size: tuple[int, int]) -> Tensor:
    """What a model has drawn, masks or a picture in [0, 1], at the size of a photo: (C, H, W) -> (C, *size)."""
    if tuple(maps.shape[1:]) == tuple(size):
        return maps
    resized = F.interpolate(maps[None], size=size, mode="bilinear", align_corners=False, antialias=True)
    return resized[0].clamp(0, 1)
