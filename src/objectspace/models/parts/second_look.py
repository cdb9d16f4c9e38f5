"""A second look: what neither the background nor the objects found so far explain is offered to the glimpse nets.

A cell holds one object, and cells are inferred apart, so that in a crowd one is missed that could well be drawn. The
regions that are left are taken as boxes, as in the warm start, and what the nets draw there is weighed like every other
object: it is found if it is worth its price, which is that of an object of the size that is expected, as slivers are
left of many objects. What is long and thin is an edge that the background blurs. Everything is at the model's size.
Shapes: B images, M objects, R regions, C H W image.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from objectspace.models.parts.drawing import Drawables, draw
from objectspace.models.parts.regions import find_regions
from objectspace.models.parts.warm import LARGEST, LEAST_PIXELS, LONGEST
from objectspace.models.parts.worth import expected_pixels
from objectspace.ops import geometry
from objectspace.ops.compositing import colour_of
from objectspace.ops.distributions import gaussian_kl
from objectspace.ops.mixtures import mix_pixels, share_of_unknown

if TYPE_CHECKING:
    from objectspace.models.parts.grid import GridModel

LEAST = 0.15  # of the pixels of an object that is expected: smaller regions are slivers of others
NEARER = 1.0  # in the latent of depth: what was overlooked lies before what was drawn over it
PRESENCE = 0.5  # no cell vouches for it


def unexplained(model: GridModel, objects: Drawables, images: Tensor, behind: Tensor) -> Tensor:
    """How likely it is that nobody explains a pixel (B, H, W) of images (B, C, H, W).

    `behind` is the log density of every channel under the background (B, C, H, W).
    """
    config, final = model.config.foreground, model.final
    layers = draw(objects, config.grid[0] * config.grid[1], (len(images), *images.shape[2:]))
    mean = layers.image if config.premultiplied else colour_of(layers.image, layers.alpha)
    log_pixel = mix_pixels(
        images, mean, layers.alpha, behind, config.sigma_at(final), final.unknown, model.config.mixture_epsilon
    )
    return share_of_unknown(log_pixel, final.unknown)


def look_again(model: GridModel, objects: Drawables, images: Tensor, behind: Tensor) -> Drawables:
    """What the glimpse nets make of each region that is left over; none of it is weighed yet."""
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
    return _attend(model, images, torch.tensor(image, dtype=torch.long, device=images.device), where, objects)


def join(first: Drawables, second: Drawables) -> Drawables:
    """The objects of both, image by image."""
    both = Drawables(*(torch.cat([getattr(first, f.name), getattr(second, f.name)]) for f in fields(Drawables)))
    return both[both.image.argsort(stable=True)]


def _attend(model: GridModel, images: Tensor, image: Tensor, where: Tensor, others: Drawables) -> Drawables:
    """What lies at `where` (R, 4) in the images numbered (R,), before all `others`."""
    foreground, final = model.foreground, model.final
    frame = foreground.frame(where)
    what = foreground.attend(images, frame, foreground.plan(frame, image, images), False, None)
    picture, alpha = foreground.decode(what.value)
    nearest = images.new_zeros(len(images)).scatter_reduce(0, others.image, others.depth, "amin")
    depth = nearest[image] - NEARER
    std = torch.tensor(foreground.config.scale_std_at(final))
    scale = where[:, :2].clamp(geometry.NEARLY, 1 - geometry.NEARLY).logit()
    cost = what.kl(0.0, 1.0) + gaussian_kl(scale, std.expand_as(scale), final.scale_prior_mean, std).sum(1)
    presence, held = torch.full_like(depth, PRESENCE), torch.zeros_like(image, dtype=torch.bool)
    return Drawables(image, where, frame, depth, presence, what.value, picture, alpha, cost, held)
