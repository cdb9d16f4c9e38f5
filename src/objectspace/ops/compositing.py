"""Laying objects over one another: a softmax over all cells, computed without the empty ones.

Every cell weighs in with exp(l), l = 100 sigmoid(-depth) alpha. Where a cell has nothing its alpha is 0, so it weighs
exp(0): the sum over N cells is N + sum over covering cells of (exp(l) - 1). Logits lie in [0, 100]; everything is
shifted by 50 so that float32 holds it.

Convention: nearer is a smaller depth. Pictures are premultiplied by alpha. Shapes: B images, N cells, M objects,
m objects in a window group, C H W image, g the glimpse's side, R Q a window.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from objectspace.ops.resample import Windows, paste

SHARPNESS = 100.0
SHIFT = 50.0
LEAST_ALPHA = 1e-6  # below it there is nothing to have a colour
EMPTY = math.exp(-SHIFT)  # what a cell without anything weighs, after the shift


@dataclass(frozen=True)
class Composite:
    """Objects over nothing."""

    image: Tensor  # (B, C, H, W) premultiplied
    alpha: Tensor  # (B, 1, H, W)
    total: Tensor  # (B, 1, H, W) sum of all shifted weights

    def __getitem__(self, number: int) -> "Composite":
        """One image's, (C, H, W) and so on."""
        return Composite(self.image[number], self.alpha[number], self.total[number])


def colour_of(premultiplied: Tensor, alpha: Tensor) -> Tensor:
    """The colours (..., C, H, W) of premultiplied pictures and alphas (..., 1, H, W); black where there is nothing."""
    return premultiplied / alpha.clamp(min=LEAST_ALPHA)


def composite(
    pictures: Tensor,
    alphas: Tensor,
    where: Tensor,
    depth: Tensor,
    windows: Sequence[Windows],
    cells: int,
    shape: tuple[int, int, int],
) -> Composite:
    """Composite premultiplied pictures (M, C, g, g) with alphas (M, 1, g, g) at depth (M,) on `shape` = B, H, W."""
    channels = pictures.shape[1]
    batch, height, width = shape
    sums = pictures.new_zeros(channels + 2, batch * height * width)
    glimpses = torch.cat([alphas, pictures], dim=1)
    nearness = SHARPNESS * torch.sigmoid(-depth)
    for group in windows:
        pasted = paste(glimpses, where, group).transpose(0, 1)  # (1 + C, m, R, Q)
        weight = shifted_weight(pasted[0], nearness[group.members])  # (m, R, Q)
        values = torch.cat([(weight - EMPTY).unsqueeze(0), weight * pasted]).flatten(1)
        sums = sums.scatter_add(1, group.index().flatten().expand(channels + 2, -1), values)
    total = cells * EMPTY + sums[0]
    image = (sums[1:] / total).view(channels + 1, batch, height, width).transpose(0, 1)
    return Composite(image[:, 1:], image[:, :1], total.view(batch, 1, height, width))


def shifted_weight(alpha: Tensor, nearness: Tensor) -> Tensor:
    """The softmax numerators exp(l - 50) of objects with alpha (m, R, Q) and nearness (m,)."""
    return torch.exp(nearness[:, None, None] * alpha - SHIFT)
