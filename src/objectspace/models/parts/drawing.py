"""Objects laid over one another, at any size and for many images at once.

An object is drawn as present (presence 1), straight at the size of the image it came from, so nothing needs resizing.
Shapes: B images of one size, M objects, C H W image, g the glimpse's side, D latent.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from objectspace.models.parts.settings import GridConfig
from objectspace.ops.compositing import Composite, composite
from objectspace.ops.resample import Windows, plan_windows


@dataclass(frozen=True)
class Objects:
    """The objects of some images, decoded."""

    image: Tensor  # (M,) which image each belongs to
    where: Tensor  # (M, 4) the object
    frame: Tensor  # (M, 4) its glimpse: the object and a margin
    depth: Tensor  # (M,)
    presence: Tensor  # (M,) a probability, or a relaxed sample of it
    what: Tensor  # (M, D)
    picture: Tensor  # (M, C, g, g)
    alpha: Tensor  # (M, 1, g, g), not weighted by presence

    def __len__(self) -> int:
        return len(self.where)


@dataclass(frozen=True)
class Drawables(Objects):
    """Objects that can be weighed, picked and drawn at any size: those of decomposed and of sampled images."""

    cost: Tensor  # (M,) nats that its latents cost
    held: Tensor  # (M,) whether a cell holds it; others were found by a second look

    def __getitem__(self, index: Tensor) -> Drawables:
        return Drawables(*(getattr(self, field.name)[index] for field in fields(self)))

    def windows(self, size: tuple[int, int]) -> tuple[Windows, ...]:
        """The windows under the objects on canvases H, W."""
        return plan_windows(self.frame, self.image, size, self.alpha.shape[-1])


def together(first: Drawables, second: Drawables) -> Drawables:
    """The objects of both, in the order of their images; within an image the first come first."""
    names = [field.name for field in fields(Drawables)]
    both = Drawables(*(torch.cat([getattr(first, name), getattr(second, name)]) for name in names))
    return both[both.image.argsort(stable=True)]


def draw(objects: Drawables, cells: int, shape: tuple[int, int, int]) -> Composite:
    """The objects laid over one another on the canvases `shape` = B, H, W."""
    pictures = objects.picture * objects.alpha
    return composite(pictures, objects.alpha, objects.frame, objects.depth, objects.windows(shape[1:]), cells, shape)


def over(config: GridConfig, layers: Composite, background: Tensor) -> Tensor:
    """Objects over backgrounds (..., C, H, W), mixed as their model mixes them: (..., C, H, W)."""
    mean = layers.alpha * layers.image if config.foreground.premultiplied else layers.image
    return mean + (1 - layers.alpha) * background
