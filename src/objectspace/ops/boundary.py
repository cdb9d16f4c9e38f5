"""The boundary penalty: an object's mask should not touch the rim of its glimpse.

A kernel of 1 / g^2 on the rim and 0 inside is pasted at every object's place, times its presence; where the sum
meets the foreground's alpha the objective pays. The kernel is the difference of two boxes, so it is pasted as
two outer products.

Convention: as in `resample`. Shapes: B images, M objects, m objects in a window group, g the glimpse's side.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from objectspace.ops.mixtures import gaussian_log_density
from objectspace.ops.resample import Windows, paste_weights

RIM = 6 / 32  # of the glimpse's side: the paper's 6 pixels of 32
STRENGTH = 1000.0
SIGMA = 0.7


def rim_width(glimpse: int) -> int:
    """Pixels of the rim on each side."""
    return max(1, round(RIM * glimpse))


def boundary_map(
    presence: Tensor, where: Tensor, windows: Sequence[Windows], glimpse: int, shape: tuple[int, int, int]
) -> Tensor:
    """The kernels of all objects, presence (M,) and where (M, 4), added up: (B, 1, H, W) for `shape` = B, H, W."""
    batch, height, width = shape
    rim = rim_width(glimpse)
    inside = where.new_zeros(glimpse)
    inside[rim : glimpse - rim] = 1
    both = torch.stack([torch.ones_like(inside), inside], dim=-1)  # (g, 2)
    total = where.new_zeros(batch * height * width)
    for group in windows:
        w, h, x, y = where[group.members].unbind(-1)
        vertical = paste_weights(h, y, glimpse, group.rows, height) @ both  # (m, R, 2)
        horizontal = paste_weights(w, x, glimpse, group.columns, width) @ both  # (m, Q, 2)
        signed = vertical * vertical.new_tensor([1, -1]) * presence[group.members][:, None, None]
        kernels = signed @ horizontal.transpose(1, 2)  # (m, R, Q)
        total = total.scatter_add(0, group.index().flatten(), kernels.flatten())
    return total.view(batch, 1, height, width) * (STRENGTH / glimpse**2)


def boundary_penalty(kernel: Tensor, alpha: Tensor) -> Tensor:
    """Minus the log density of N(0, 0.7) at the overlap of kernel and alpha (B, 1, H, W), summed: (B,)."""
    return -gaussian_log_density(kernel * alpha, 0.0, SIGMA).flatten(1).sum(1)
