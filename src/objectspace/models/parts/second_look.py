"""A second look at images, guided by what is unexplained; nothing is trained for it.

Closer: a region that the background leaves, and that has an object's box, shows where the object ends better than its
cell knows. The glimpse is cut there, and the object stays so if it is worth more.

Again: a cell holds one object, and cells are inferred apart, so that in a crowd one is missed that could well be drawn.
Regions that nobody explains are taken as boxes, as in the warm start, and what the nets draw there is weighed like all
objects: it is found if it is worth its price, which is that of an object of the size that is expected, as slivers are
left of many objects. What is long and thin is an edge that the background blurs.

Everything is at the model's size. Shapes: B images, M objects, R regions, C H W image.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from objectspace.geometry.regions import find_regions
from objectspace.models.parts.drawing import Drawables, draw
from objectspace.models.parts.targets import LARGEST, LEAST_PIXELS, LONGEST
from objectspace.models.parts.worth import expected_pixels, worth
from objectspace.ops import geometry
from objectspace.ops.compositing import colour_of
from objectspace.ops.distributions import gaussian_kl
from objectspace.ops.mixtures import mix_pixels, share_of_unknown, with_unknown

if TYPE_CHECKING:
    from objectspace.models.parts.grid import GridModel

SAME = 0.5  # IoU by which a region has an object's box
LEAST = 0.15  # of the pixels of an object that is expected: smaller regions are slivers of others
NEARER = 1.0  # in the latent of depth: what was overlooked lies before what was drawn over it
PRESENCE = 0.5  # no cell vouches for it


def unexplained(model: GridModel, objects: Drawables, images: Tensor, behind: Tensor) -> Tensor:
    """How likely it is that nobody explains a pixel (B, H, W) of images (B, C, H, W)."""
    return share_of_unknown(log_density(model, objects, images, behind), model.final.unknown)


def log_density(model: GridModel, objects: Drawables, images: Tensor, behind: Tensor) -> Tensor:
    """The log density of pixels (B, H, W) of images (B, C, H, W) under objects, background and nobody together.

    `behind` is the log density of channels or whole pixels under the background (B, C or 1, H, W).
    """
    config, final = model.config.foreground, model.final
    layers = draw(objects, config.grid[0] * config.grid[1], (len(images), *images.shape[2:]))
    mean = layers.image if config.premultiplied else colour_of(layers.image, layers.alpha)
    return mix_pixels(
        images, mean, layers.alpha, behind, config.sigma_at(final), final.unknown, model.config.mixture_epsilon
    )


def look_closer(
    model: GridModel, objects: Drawables, evidence: Tensor, images: Tensor, behind: Tensor
) -> tuple[Drawables, Tensor]:
    """The objects and their worth (M,), some of them at the box of the region that the background leaves there."""
    left = share_of_unknown(with_unknown(behind, model.final.unknown), model.final.unknown).cpu().numpy()
    size = left.shape[1], left.shape[2]
    where, found = objects.where.clone(), torch.zeros(len(objects), dtype=torch.bool, device=images.device)
    for number, picture in enumerate(images.permute(0, 2, 3, 1).float().cpu().numpy()):
        mine = (objects.image == number).nonzero().flatten()
        boxes = [region.box for region in find_regions(left[number], picture, LEAST_PIXELS)] if len(mine) else []
        if not boxes:
            continue
        regions = geometry.from_boxes(images.new_tensor(boxes), *size)
        overlap, which = geometry.overlaps(objects.where[mine], regions).max(1)
        where[mine], found[mine] = regions[which], overlap >= SAME
    there = found.nonzero().flatten()
    old = objects[there]
    closer = replace(attend(model, images, old.image, where[there], old.depth), presence=old.presence, held=old.held)
    gained = worth(model, _put(objects, there, closer), images, behind)[there]
    better = gained > evidence[there]
    return _put(objects, there[better], closer[better]), evidence.index_copy(0, there[better], gained[better])


def look_again(
    model: GridModel, objects: Drawables, evidence: Tensor, images: Tensor, behind: Tensor
) -> tuple[Drawables, Tensor]:
    """The objects and their worth (M,), and what the glimpse nets make of each region that is left over.

    That has not been weighed yet: its worth is NaN.
    """
    left = unexplained(model, objects, images, behind).cpu().numpy()
    height, width = left.shape[1:]
    least = max(LEAST_PIXELS, round(LEAST * expected_pixels(model, (height, width))))
    image: list[int] = []
    boxes: list[tuple[int, int, int, int]] = []
    for number, picture in enumerate(images.permute(0, 2, 3, 1).float().cpu().numpy()):
        for region in find_regions(left[number], picture, least):
            if region.area <= LARGEST * height * width and region.length <= LONGEST:
                image.append(number)
                boxes.append(region.box)
    where = geometry.from_boxes(images.new_tensor(np.array(boxes, np.float64).reshape(-1, 4)), height, width)
    numbers = torch.tensor(image, dtype=torch.long, device=images.device)
    nearest = images.new_zeros(len(images)).scatter_reduce(0, objects.image, objects.depth, "amin")
    more = attend(model, images, numbers, where, nearest[numbers] - NEARER)
    both = Drawables(*(torch.cat([getattr(objects, name), getattr(more, name)]) for name in _names()))
    order = both.image.argsort(stable=True)
    return both[order], torch.cat([evidence, evidence.new_full((len(more),), torch.nan)])[order]


def attend(model: GridModel, images: Tensor, image: Tensor, where: Tensor, depth: Tensor) -> Drawables:
    """What the nets draw at `where` (R, 4), this deep (R,), in the images numbered (R,)."""
    foreground, final = model.foreground, model.final
    frame = foreground.frame(where)
    what = foreground.attend(images, frame, foreground.plan(frame, image, images), False, None)
    picture, alpha = foreground.decode(what.value)
    std = torch.tensor(foreground.config.scale_std_at(final))
    scale = where[:, :2].clamp(geometry.NEARLY, 1 - geometry.NEARLY).logit()
    cost = what.kl(0.0, 1.0) + gaussian_kl(scale, std.expand_as(scale), final.scale_prior_mean, std).sum(1)
    presence, held = torch.full_like(depth, PRESENCE), torch.zeros_like(image, dtype=torch.bool)
    return Drawables(image, where, frame, depth, presence, what.value, picture, alpha, cost, held)


def _put(objects: Drawables, places: Tensor, others: Drawables) -> Drawables:
    """The objects with others in the places (R,)."""
    return Drawables(*(getattr(objects, name).index_copy(0, places, getattr(others, name)) for name in _names()))


def _names() -> list[str]:
    return [field.name for field in fields(Drawables)]
