"""The latents of the cells but for `what`: presence, where (scale and shift) and depth.

Shapes: B images, N cells (row by row), M chosen cells, F features.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from objectspace.config import Stage
from objectspace.ops import geometry
from objectspace.ops.distributions import Gaussian, bernoulli_kl, gaussian, sample_relaxed_bernoulli

ToWhere = Callable[[Tensor, Tensor], Tensor]  # scale and shift (B, N, 2) -> where (B, N, 4)
Noise = Mapping[str, Tensor]  # of presence (B, N), uniform; of depth, scale, shift and what (B, N, D), normal
PRESENCE_LIMIT = 8.8  # presence logits are squashed to +-8.8, so that presence never saturates for good


@dataclass(frozen=True)
class Cells:
    """What every cell proposes."""

    presence_logits: Tensor  # (B, N)
    presence: Tensor  # (B, N) relaxed, in (0, 1)
    scale: Gaussian  # (B, N, 2)
    shift: Gaussian  # (B, N, 2)
    depth: Gaussian  # (B, N, 1)
    where: Tensor  # (B, N, 4), see ops.geometry

    @property
    def probability(self) -> Tensor:
        """Presence probabilities (B, N)."""
        return self.presence_logits.sigmoid()

    def kl(self, stage: Stage, scale_std: float, presence_prior: Tensor | float) -> dict[str, Tensor]:
        """KL of each latent of each cell against its prior, (B, N) each; the latents' own not weighted by presence."""
        return {
            "presence": bernoulli_kl(self.presence_logits, presence_prior),
            "scale": self.scale.kl(stage.scale_prior_mean, scale_std),
            "shift": self.shift.kl(0.0, 1.0),
            "depth": self.depth.kl(0.0, 1.0),
        }


@dataclass(frozen=True)
class Hints:
    """Where in images objects are likely; None where that is not known, or not looked at."""

    motion: Tensor | None = None  # (B, H, W) pixels that move
    unexplained: Tensor | None = None  # (B, H, W) how likely it is that the background does not explain a pixel

    def candidates(self, cell: int) -> Tensor | None:
        """The cells (B, N) of `cell` pixels in which the background leaves something unexplained, if that is known."""
        return None if self.unexplained is None else _any_in_cell(self.unexplained > 0.5, cell)

    def presence_prior(self, stage: Stage, cell: int) -> Tensor | float:
        """How likely cells of `cell` pixels are to hold an object: the same for all, or (B, N).

        More where something moves, less where the background leaves nothing unexplained and nothing moves.
        """
        prior: Tensor | float = stage.presence_prior
        if self.unexplained is not None and stage.explained_prior is not None:
            left = _any_in_cell(self.unexplained > 0.5, cell)
            explained = min(stage.presence_prior, stage.explained_prior)
            prior = torch.where(left, self.unexplained.new_tensor(stage.presence_prior), explained)
        if self.motion is not None and stage.motion_prior is not None:
            moving = _any_in_cell(self.motion, cell)
            likely = max(stage.presence_prior, stage.motion_prior)
            rest = prior if isinstance(prior, Tensor) else torch.full(moving.shape, prior, device=moving.device)
            prior = rest.masked_fill(moving, likely)
        return prior


def _any_in_cell(pixels: Tensor, cell: int) -> Tensor:
    """The cells with a marked pixel: (B, H, W) -> (B, N)."""
    return F.max_pool2d(pixels[:, None].float(), cell).flatten(1) > 0


@dataclass(frozen=True)
class Chosen:
    """The cells that are attended to, decoded and rendered."""

    flat: Tensor  # (M,) into the B N cells, rising
    image: Tensor  # (M,) which image each belongs to
    mask: Tensor | None  # (B, N), None: all of them
    explored: Tensor | None = None  # (M,) those that are absent and only weighed; None: none of them


def choose(presence: Tensor, budget: int | None, threshold: float, kept: Tensor | None = None) -> Chosen:
    """The most present cells of each image, at most `budget`, each at or above `threshold`; presence is (B, N).

    `kept` (B, N) are those among which to choose.
    """
    count, cells = presence.shape
    if kept is not None:
        presence = presence.masked_fill(~kept, -1.0)
        threshold = max(threshold, 0.0)
    elif threshold <= 0 and (budget is None or budget >= cells):
        flat = torch.arange(count * cells, device=presence.device)
        return Chosen(flat, flat // cells, None)
    mask = presence >= threshold
    if budget is not None and budget < cells:
        best = presence.detach().topk(budget, dim=1).indices
        mask &= torch.zeros_like(mask).scatter(1, best, True)
    return _chosen(mask)


def explore(chosen: Chosen, candidates: Tensor, most: int, generator: torch.Generator | None) -> Chosen:
    """The chosen cells and, at random, at most so many more of each image's candidates (B, N), which stay absent."""
    if chosen.mask is None or most == 0:
        return chosen
    draw = torch.rand(candidates.shape, generator=generator, device=candidates.device)
    draw, numbers = draw.masked_fill(chosen.mask | ~candidates, -1.0).topk(min(most, draw.shape[1]), dim=1)
    more = torch.zeros_like(chosen.mask).scatter(1, numbers, draw >= 0)
    both = _chosen(chosen.mask | more)
    return replace(both, explored=more.flatten()[both.flat])


def above(probability: Tensor, threshold: float) -> Chosen:
    """The cells whose presence probability (B, N) exceeds `threshold`."""
    return _chosen(probability > threshold)


def _chosen(mask: Tensor) -> Chosen:
    flat = mask.flatten().nonzero().flatten()
    return Chosen(flat, flat // mask.shape[1], mask)


class CellHeads(nn.Module):
    """Features (B, F, rows, columns) -> the cells' latents; cells give way to surer ones as `give_way` says."""

    def __init__(self, features: int, grid: tuple[int, int], give_way: float = 0.0) -> None:
        super().__init__()
        self.grid = grid
        self.give_way = give_way
        self.z_pres_net = nn.Conv2d(features, 1, 1)
        self.z_depth_net = nn.Conv2d(features, 2, 1)
        self.z_scale_net = nn.Conv2d(features, 4, 1)
        self.z_shift_net = nn.Conv2d(features, 4, 1)

    def forward(
        self,
        features: Tensor,
        temperature: float,
        sample: bool,
        generator: torch.Generator | None,
        to_where: ToWhere | None = None,
        noise: Noise | None = None,
    ) -> Cells:
        """The latents; `to_where` places them where the features are not those of the whole grid.

        `noise` has been drawn before; without it the generator's is used.
        """
        noise = noise or {}
        logits = PRESENCE_LIMIT * _per_cell(self.z_pres_net(features)).squeeze(-1).tanh()  # (B, N)
        scales, shifts = _per_cell(self.z_scale_net(features)), _per_cell(self.z_shift_net(features))  # (B, N, 4) each
        if self.give_way:
            means = (to_where or self._to_where)(scales[..., :2].detach(), shifts[..., :2].detach())
            logits = logits.masked_fill(giving_way(logits.detach(), means, self.give_way), -PRESENCE_LIMIT)
        if sample:
            presence = sample_relaxed_bernoulli(logits, temperature, generator, noise.get("presence"))
        else:
            presence = torch.sigmoid(logits / temperature)
        depth = gaussian(_per_cell(self.z_depth_net(features)), sample, generator, noise=noise.get("depth"))
        scale = gaussian(scales, sample, generator, noise=noise.get("scale"))
        shift = gaussian(shifts, sample, generator, noise=noise.get("shift"))
        where = (to_where or self._to_where)(scale.value, shift.value)
        return Cells(logits, presence, scale, shift, depth, where)

    def _to_where(self, scale: Tensor, shift: Tensor) -> Tensor:
        return geometry.to_where(scale, shift, *self.grid)


def giving_way(logits: Tensor, where: Tensor, least: float) -> Tensor:
    """The cells (B, N) that give way: those whose box overlaps that of a surer cell, which stays, by an IoU of `least`.

    Of all cells, logits (B, N) and where (B, N, 4), the surest stays, then the surest that does not overlap it, and so
    on, as if cells spoke up in that order. Of equally sure ones, as saturated ones are, the first speaks first.
    """
    turn = logits.argsort(dim=1, descending=True, stable=True).argsort(dim=1)  # (B, N) of each cell
    overlaps = geometry.overlaps(where, where) >= least  # (B, N, N)
    rivals = overlaps & (turn.unsqueeze(1) < turn.unsqueeze(2))  # [i, j]: j speaks up before i, of the same thing
    gone = torch.zeros_like(logits, dtype=torch.bool)
    for _ in range(logits.shape[1]):  # settles after as many rounds as the longest chain of rivals has links
        before, gone = gone, (rivals & ~gone.unsqueeze(1)).any(2)
        if torch.equal(before, gone):
            break
    return gone


def _per_cell(maps: Tensor) -> Tensor:
    return maps.flatten(2).transpose(1, 2)  # (B, N, channels)
