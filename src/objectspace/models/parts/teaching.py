"""What training teaches beyond the bound: a background's own bound, regions that objects miss, presence by evidence.

For the models of `grid.py`; each lesson is a penalty of its own, there while the stage asks for it. Shapes: B images,
N cells, M objects, C H W image.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from objectspace.config import Stage
from objectspace.models.parts import warm
from objectspace.models.parts.cells import Hints
from objectspace.models.parts.foreground import ForegroundOutput
from objectspace.ops.evidence import gains
from objectspace.ops.mixtures import share_of_unknown, with_unknown

if TYPE_CHECKING:
    from objectspace.models.parts.grid import GridModel, GridOutput

TAUGHT = 10.0  # how much what presence is taught counts: a few cells of many hold an object


def taught(
    model: GridModel, output: GridOutput, hints: Hints, stage: Stage, sample: bool, generator: torch.Generator | None
) -> GridOutput:
    """An output with what the stage teaches beyond its bound."""
    images, foreground, background = output.target, output.foreground, output.background
    assert foreground is not None
    penalties, missed = dict(output.penalties), None
    if stage.own_background:  # which the objects take as it is
        penalties["own_background"] = -model.score_background(images, background, stage).elbo
    if stage.lesson:
        left, cells = hints.unexplained, foreground.cells
        missed = warm.lesson(model, images, output.unexplained, left, cells, stage, sample, generator)
        penalties["lesson"] = stage.lesson * missed.terms
    if stage.presence_by_evidence:
        worth = _worth(model, images, foreground, background.log_density.detach(), stage)
        candidates = hints.candidates(model.foreground.cell)
        penalties["presence_by_evidence"] = teach_presence(foreground, worth, candidates, missed)
    return replace(output, penalties=penalties)


def flattered(behind: Tensor, sigma: float, unknown: float, channels: int) -> Tensor:
    """Log densities (B, C or 1, H, W) as if the background drew perfectly what it explains: nothing is to gain there.

    A ground that is a little off everywhere, such as a gradient behind one colour, is no object.
    """
    explained = share_of_unknown(with_unknown(behind, unknown), unknown) < 0.5  # (B, H, W)
    best = -math.log(sigma * math.sqrt(2 * math.pi)) * channels / behind.shape[1]
    return behind.masked_fill(explained.unsqueeze(1), best)


def teach_presence(
    foreground: ForegroundOutput, worth: Tensor, candidates: Tensor | None, missed: warm.Missed | None = None
) -> Tensor:
    """A term (B,) that teaches presence the posterior which is exact given all other objects.

    There an object is present with probability sigmoid(worth + log odds of the prior), whatever the net says of it: the
    bound's optimum, and cross-entropy leads to it from anywhere, while the bound's own gradient vanishes where presence
    has died. `worth` (M,) is that of the chosen cells' objects. Of the others those that the background explains, being
    no `candidates` (B, N), are absent; the rest learns when it is its turn to be explored. Cells that should hold what
    is `missed` learn from what that would be worth, not from what they hold now.
    """
    logits, chosen = foreground.cells.presence_logits, foreground.objects.chosen

    def taught(cell: Tensor, worth: Tensor) -> Tensor:
        best = torch.sigmoid(worth + foreground.prior.flatten()[cell].logit())
        return F.binary_cross_entropy_with_logits(logits.flatten()[cell], best, reduction="none")

    known = torch.zeros_like(logits, dtype=torch.bool).flatten().index_fill(0, chosen.flat, True)
    terms = taught(chosen.flat, worth)
    if missed is not None:
        others = torch.zeros_like(known).index_fill(0, missed.cell, True)
        terms, known = terms.masked_fill(others[chosen.flat], 0.0), known | others
    known = known.view_as(logits)
    explained = ~known if candidates is None else ~known & ~candidates
    absent = (F.softplus(logits) * explained).sum(1).index_add(0, chosen.image, terms)
    if missed is not None:
        absent = absent.index_add(0, missed.image, taught(missed.cell, missed.worth))
    return TAUGHT * absent


def _worth(model: GridModel, images: Tensor, foreground: ForegroundOutput, behind: Tensor, stage: Stage) -> Tensor:
    """What the image gains by each object, the others being as they were sampled, less what it costs: (M,)."""
    found, config = foreground.objects, model.config.foreground
    if stage.unexplained_only:
        behind = flattered(behind, model.config.background.sigma_at(stage), stage.unknown, images.shape[1])
    gained = gains(
        images,
        behind,
        found.picture,
        found.alpha,
        found.presence,
        found.frame,
        found.depth,
        found.windows,
        foreground.cells.presence.shape[1],  # a patch has fewer than the model
        config.sigma_at(stage),
        stage.unknown,
        config.premultiplied,
        model.config.mixture_epsilon,
    )
    return gained.to(images) - foreground.cost
