"""Which cell is to hold which region of unexplained pixels.

The cell nearest to a region's centre, and of two regions that want one cell the other one's neighbour: all as near as
can be, by the assignment problem. Shapes: B images, N cells, M regions, C H W image.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from objectspace.geometry.regions import Region, find_regions
from objectspace.models.parts.foreground import Foreground
from objectspace.ops import geometry

LARGEST = 0.25  # a region that covers more of the image than this is no object
LEAST_PIXELS = 4
LONGEST = 4.0  # times as long as wide: after the warm start longer regions are edges that the background blurs
REACH = 0.97  # of a cell: how far from its own centre a cell is taught to hold a region's; one cell is the most it can
_FAR = 1e6


@dataclass(frozen=True)
class Targets:
    """The regions of some images, one a cell at most."""

    image: Tensor  # (M,)
    cell: Tensor  # (M,) into the B N cells
    where: Tensor  # (M, 4)
    scale: Tensor  # (M, 2) the latents that put a cell's object there
    shift: Tensor  # (M, 2)
    masks: Tensor  # (M, 1, H, W)


def find_targets(
    images: Tensor,
    unexplained: Tensor,
    foreground: Foreground,
    least_pixels: int = LEAST_PIXELS,
    longest: float = math.inf,
    taken: Tensor | None = None,
) -> Targets:
    """The regions of unexplained pixels (B, H, W) as what cells should hold that are not `taken` (B, N) yet.

    Regions of fewer than `least_pixels`, or more than `longest` times as long as wide, are left out.
    """
    height, width = unexplained.shape[1:]
    rows, columns = height // foreground.cell, width // foreground.cell
    pictures = images.detach().permute(0, 2, 3, 1).float().cpu().numpy()
    others = np.zeros((len(images), rows * columns), np.bool_) if taken is None else taken.cpu().numpy()
    found: dict[int, tuple[int, Region]] = {}
    for number, (left, picture) in enumerate(zip(unexplained.cpu().numpy(), pictures, strict=True)):
        regions = find_regions(left, picture, least_pixels=least_pixels)
        most = LARGEST * math.prod(foreground.image_size)
        regions = [region for region in regions if region.area <= most and region.length <= longest]
        for region, cell in zip(regions, _cells_of(regions, foreground.cell, columns, others[number]), strict=True):
            if cell is not None:
                found[number * rows * columns + cell] = number, region
    order = sorted(found)
    boxes = np.array([found[cell][1].box for cell in order], np.float64).reshape(-1, 4)
    masks = np.zeros((len(order), 1, height, width), np.float32)
    for mask, cell in zip(masks, order, strict=True):
        x0, y0, x1, y1 = (int(side) for side in found[cell][1].box)
        mask[0, y0:y1, x0:x1] = found[cell][1].mask
    cells = torch.tensor(order, dtype=torch.long)
    where = geometry.from_boxes(torch.from_numpy(boxes), height, width)
    scale, shift = foreground.to_latents(where, cells % (rows * columns), (height, width))
    return Targets(
        image=torch.tensor([found[cell][0] for cell in order], dtype=torch.long, device=images.device),
        cell=cells.to(images.device),
        where=where.to(images),
        scale=scale.to(images),
        shift=shift.to(images),
        masks=torch.from_numpy(masks).to(images),
    )


def _cells_of(regions: list[Region], side: int, columns: int, taken: NDArray[np.bool_]) -> list[int | None]:
    """Which of the cells (N,) of `side` pixels is to hold each region: all as near as can be, and each one's own."""
    cells = np.arange(len(taken))
    centres = np.stack([cells % columns, cells // columns], axis=1) + 0.5
    boxes = np.array([region.box for region in regions], np.float64).reshape(-1, 4)
    off = (boxes[:, None, :2] + boxes[:, None, 2:]) / (2 * side) - centres  # (regions, N, 2) in cells
    distance = np.square(off).sum(2)
    distance[(np.abs(off).max(2) > REACH) | taken] = _FAR
    chosen: list[int | None] = [None] * len(regions)
    for region, cell in zip(*linear_sum_assignment(distance), strict=True):
        if distance[region, cell] < _FAR:
            chosen[region] = int(cell)
    return chosen
