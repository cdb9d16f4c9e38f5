"""What each object is worth in nats, and the removal of those that are not worth their price.

An object is worth what the image gains by it, all others being there, less what its latents cost. Of two that draw the
same thing each is worth next to nothing while the other is there, so they are removed one after another, the least
worthy first, and the others are weighed again. Everything is at the model's size. Shapes: B images, M objects, C H W
image.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from objectspace.models.parts.drawing import Drawables
from objectspace.models.parts.pictures import Backdrops
from objectspace.ops import geometry
from objectspace.ops.evidence import gains
from objectspace.ops.mixtures import log_weight, mix_shaded
from objectspace.ops.resample import paste

if TYPE_CHECKING:
    from objectspace.models.parts.grid import GridModel

LEAST_PRICE = 10.0  # nats that even the smallest object must be worth, where there is a price


def behind(model: GridModel, images: Tensor, backdrops: Backdrops) -> Tensor:
    """The log density of images (B, C, H, W) under their backgrounds: (B, C, H, W), or (B, 1, H, W) of whole pixels."""
    if backdrops.means is None:
        raise ValueError("objects can be weighed against a background only if it has its pictures")
    config, epsilon = model.config.background, model.config.mixture_epsilon
    log_masks, sigma = log_weight(backdrops.masks).unsqueeze(2), config.sigma_at(model.final)
    return mix_shaded(images, backdrops.means, log_masks, sigma, config.shadow, epsilon, config.whole_pixels)


def worth(model: GridModel, objects: Drawables, images: Tensor, behind: Tensor) -> Tensor:
    """What objects in images (B, C, H, W) over what is `behind` (B, C or 1, H, W) are worth: nats (M,)."""
    config, size = model.config.foreground, (images.shape[2], images.shape[3])
    gained = gains(
        images,
        behind,
        objects.picture,
        objects.alpha,
        torch.ones_like(objects.depth),
        objects.frame,
        objects.depth,
        objects.windows(size),
        cells=config.grid[0] * config.grid[1],
        sigma=config.sigma_at(model.final),
        unknown=model.final.unknown,
        premultiplied=config.premultiplied,
        epsilon=model.config.mixture_epsilon,
    )
    return gained - objects.cost


def prune(
    model: GridModel, objects: Drawables, images: Tensor, behind: Tensor, price: float, evidence: Tensor | None = None
) -> tuple[Drawables, Tensor, Tensor]:
    """The objects that are worth `price` nats for each pixel that they draw; what they are worth, and that price (M,).

    The smallest must be worth `LEAST_PRICE` all the same.

    `evidence` (M,) is what is known of their worth already; in images with an object of which it is NaN all are weighed
    again. Those that no cell holds pay for a whole object. Of those that are not worth it, the least worthy among any
    that overlap goes first.
    """
    size = images.shape[2], images.shape[3]
    pixels = torch.maximum(pixels_drawn(objects, size), ~objects.held * expected_pixels(model, size))
    prices = price * pixels
    if evidence is None:
        evidence = torch.full_like(objects.depth, torch.nan)
    evidence = _again(model, objects, images, behind, evidence, objects.image[evidence.isnan()])
    while len(gone := _least(objects, evidence - prices.clamp(min=LEAST_PRICE))):
        changed = objects.image[gone]
        kept = torch.ones_like(objects.image, dtype=torch.bool).index_fill(0, gone, False).nonzero().flatten()
        objects, prices, evidence = objects[kept], prices[kept], evidence[kept]
        evidence = _again(model, objects, images, behind, evidence, changed)
    return objects, evidence, prices


def _again(
    model: GridModel, objects: Drawables, images: Tensor, behind: Tensor, evidence: Tensor, changed: Tensor
) -> Tensor:
    """The evidence (M,), weighed again in the images `changed`."""
    again = torch.isin(objects.image, changed).nonzero().flatten()
    return evidence.index_copy(0, again, worth(model, objects[again], images, behind))


def expected_pixels(model: GridModel, size: tuple[int, int]) -> float:
    """How many pixels of a canvas H, W the box of an object has, by the prior of its scale."""
    side = 1 / (1 + math.exp(-model.final.scale_prior_mean))
    return side * size[0] * side * size[1]


def pixels_drawn(objects: Drawables, size: tuple[int, int]) -> Tensor:
    """How many pixels of a canvas H, W each object draws, hidden ones included: (M,)."""
    pixels = torch.zeros_like(objects.depth)
    for group in objects.windows(size):
        pixels[group.members] = (paste(objects.alpha, objects.frame, group) > 0.5).flatten(1).sum(1).to(pixels)
    return pixels


def _least(objects: Drawables, profit: Tensor) -> Tensor:
    """Those that lose (profit below 0) more than any other in their image that overlaps them: which (m,)."""
    losing = (profit < 0).nonzero().flatten()
    boxes, least = geometry.to_boxes(objects.frame, 1, 1), [losing[:0]]
    for image in sorted(set(objects.image[losing].tolist())):
        mine = losing[objects.image[losing] == image]
        mine = mine[profit[mine].argsort(stable=True)]
        low = torch.maximum(boxes[mine, None, :2], boxes[None, mine, :2])
        high = torch.minimum(boxes[mine, None, 2:], boxes[None, mine, 2:])
        worse = (high > low).all(-1).tril(-1)  # overlaps one that loses more, or as much and comes first
        least.append(mine[~worse.any(1)])
    return torch.cat(least)
