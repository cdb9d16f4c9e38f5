"""The warm start: what the background leaves unexplained teaches the foreground its first objects.

Connected regions of unexplained pixels serve as boxes, masks and looks. The cell that is to hold one (`targets.py`)
learns to be present and where the region is; the glimpse nets learn to draw what is inside its mask. `what` is hardly
charged for at first: with its full price it falls to the prior before the decoder has learned to use it, and the
objects die later. After the warm start regions go on teaching: those that nobody explains teach cells that hold
nothing, presence only by what their object would be worth, and those that hold one object and stand alone teach it
where it ends. Nothing here is a bound, and the background learns nothing.
Shapes: B images, N cells, M regions, C H W image, g the glimpse's side, D what.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from objectspace.config import Stage
from objectspace.geometry.regions import find_regions
from objectspace.models.parts.cells import Cells
from objectspace.models.parts.foreground import Foreground
from objectspace.models.parts.targets import LEAST_PIXELS, LONGEST, Targets, find_targets
from objectspace.ops import geometry
from objectspace.ops.distributions import gaussian_kl
from objectspace.ops.mixtures import gaussian_log_density
from objectspace.ops.resample import cut, plan_windows

if TYPE_CHECKING:
    from objectspace.models.parts.grid import GridModel

FIRST_PRICE = 0.02  # of `what`: its KL counts so much in the first half, and then rises until it counts fully
PLACE_STD = 0.25  # how exactly a region's place is taught, in the latents' units: loosely, or it drowns presence
PRESENCE = 10.0  # presence counts so many times: a few cells of many are present
MISSED = 0.4  # of the side of an object that is expected: smaller regions are slivers, and no missed objects
ALONE = 0.6  # IoU of a region with the one object in it, for the region to be that object
ALONE_STD = 0.05  # how exactly the place of such an object is taught


@dataclass(frozen=True)
class Lesson:
    """What the regions teach, (B,) each but the targets."""

    targets: Targets
    log_likelihood: Tensor  # of the regions' pixels and masks
    kl: dict[str, Tensor]


@dataclass(frozen=True)
class Missed:
    """What is taught after the warm start."""

    image: Tensor  # (M,)
    cell: Tensor  # (M,) into the B N cells: those that should hold what nobody explains
    worth: Tensor  # (M,) nats that it would be worth there, without gradient
    terms: Tensor  # (B,) how far places and looks are from what they should be


def learn(
    model: GridModel,
    images: Tensor,
    unexplained: Tensor,
    stage: Stage,
    sample: bool,
    generator: torch.Generator | None,
) -> Lesson:
    """What images (B, C, H, W) teach by what the background does not explain (B, H, W)."""
    foreground = model.foreground
    cells = foreground.propose(images, stage.temperature, sample, generator)
    targets = find_targets(images, unexplained, foreground)
    drawn, what = _draw(foreground, images, targets, model.config.foreground.sigma_at(stage), sample, generator)
    over = 1.0 if stage.warm is None else stage.warm
    price = FIRST_PRICE + (1 - FIRST_PRICE) * max(0.0, 2 * over - 1)
    placed = _place(cells, targets)

    def per_image(values: Tensor) -> Tensor:
        return images.new_zeros(len(images)).index_add(0, targets.image, values)

    present = torch.zeros_like(cells.presence_logits).flatten().index_fill(0, targets.cell, 1.0)
    presence = F.binary_cross_entropy_with_logits(cells.presence_logits.flatten(), present, reduction="none")
    kl = {"presence": PRESENCE * presence.view(len(images), -1).sum(1), "what": price * per_image(what)}
    return Lesson(targets, per_image(drawn), kl | {name: per_image(term) for name, term in placed.items()})


def lesson(
    model: GridModel,
    images: Tensor,
    unexplained: Tensor,
    leftover: Tensor | None,
    cells: Cells,
    stage: Stage,
    sample: bool,
    generator: torch.Generator | None,
) -> Missed:
    """What images (B, C, H, W) go on teaching after the warm start.

    By regions that nobody explains, `unexplained` (B, H, W), and by those that the background leaves, `leftover`
    (B, H, W), if that is known.
    """
    foreground, (height, width) = model.foreground, model.config.image_size  # of the images, or whole ones if patches
    side = MISSED / (1 + math.exp(-stage.scale_prior_mean))
    least = max(LEAST_PIXELS, round(side * height * side * width))
    targets = find_targets(images, unexplained, foreground, least, LONGEST, cells.probability > 0.5)
    drawn, what = _draw(foreground, images, targets, model.config.foreground.sigma_at(stage), sample, generator)
    place = _place(cells, targets)
    terms = images.new_zeros(len(images)).index_add(0, targets.image, sum(place.values(), what - drawn))
    if leftover is not None:
        terms = terms + _alone(foreground, cells, leftover, least)
    area = targets.masks.flatten(1).sum(1)
    worth = drawn - area * math.log(stage.unknown) - what  # its pixels are nobody's now
    return Missed(targets.image, targets.cell, worth.detach(), terms)


def _alone(foreground: Foreground, cells: Cells, leftover: Tensor, least: int) -> Tensor:
    """How far the objects in regions of `leftover` (B, H, W) that hold one each are from the regions' boxes: (B,)."""
    height, width = leftover.shape[1:]
    count = cells.where.shape[1]
    where, present = cells.where.detach(), cells.probability > 0.5
    numbers, boxes = list[Tensor](), list[Tensor]()
    for number, left in enumerate(leftover.cpu().numpy()):
        found = [region.box for region in find_regions(left, least_pixels=least, split=False)]
        regions = geometry.from_boxes(where.new_tensor(found).view(-1, 4), height, width)
        own = present[number].nonzero().flatten()
        off = (where[number, own, 2:] - regions[:, None, 2:]).abs()
        inside = (off < regions[:, None, :2]).all(2)  # (regions, objects): the object's centre lies in the region's box
        same = geometry.overlaps(regions, where[number, own]) >= ALONE
        which, of = (inside & same & (inside.sum(1, keepdim=True) == 1)).nonzero().unbind(1)
        numbers.append(number * count + own[of])
        boxes.append(regions[which])
    cell = torch.cat(numbers)
    scale, shift = foreground.to_latents(torch.cat(boxes), cell % count, (height, width))
    off = torch.cat([cells.scale.mean.flatten(0, 1)[cell] - scale, cells.shift.mean.flatten(0, 1)[cell] - shift], dim=1)
    terms = 0.5 * (off / ALONE_STD).square().sum(1)
    return leftover.new_zeros(len(leftover)).index_add(0, cell // count, terms)


def _draw(
    foreground: Foreground,
    images: Tensor,
    targets: Targets,
    sigma: float,
    sample: bool,
    generator: torch.Generator | None,
) -> tuple[Tensor, Tensor]:
    """How well the regions' glimpses are drawn, in nats of the image's pixels, and what `what` costs: (M,) each."""
    frame, side = foreground.frame(targets.where), foreground.config.glimpse
    windows = foreground.plan(frame, targets.image, images)
    what = foreground.attend(images, frame, windows, sample, generator)
    picture, alpha = foreground.decode(what.value)
    size = images.shape[2], images.shape[3]
    each = torch.arange(len(frame), device=images.device)
    mask = cut(targets.masks, frame, plan_windows(frame, each, size, side), side)
    seen = cut(images, frame, windows, side)
    colour = (gaussian_log_density(seen, picture, sigma) * mask).flatten(1).sum(1)
    outline = -F.binary_cross_entropy(alpha, mask.clamp(0, 1), reduction="none").flatten(1).sum(1)
    pixels = frame[:, 0] * size[1] * frame[:, 1] * size[0] / side**2  # image pixels to each of the glimpse's
    return pixels * (colour + outline), what.kl(0.0, 1.0)


def _place(cells: Cells, targets: Targets) -> dict[str, Tensor]:
    """How far the latents of the regions' cells are from where the regions are: (M,) each."""

    def of(values: Tensor) -> Tensor:
        return values.flatten(0, 1)[targets.cell]

    scale, shift, depth = cells.scale, cells.shift, cells.depth
    return {
        "scale": gaussian_kl(of(scale.mean), of(scale.std), targets.scale, PLACE_STD).sum(-1),
        "shift": gaussian_kl(of(shift.mean), of(shift.std), targets.shift, PLACE_STD).sum(-1),
        "depth": gaussian_kl(of(depth.mean), of(depth.std), 0.0, 1.0).sum(-1),
    }
