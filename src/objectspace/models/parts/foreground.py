"""The foreground: cells propose objects; the chosen ones are attended to, decoded and laid over one another.

Departs from the paper only by options that are off by default: a budget of objects an image and a presence threshold
choose which cells are worked on; the others count as absent. Shapes: B images, N cells, M chosen objects, C H W image,
g the glimpse's side, D latent.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from objectspace.config import Stage
from objectspace.models.parts.cells import (
    PRESENCE_LIMIT,
    CellHeads,
    Cells,
    Chosen,
    Hints,
    above,
    choose,
    explore,
)
from objectspace.models.parts.drawing import Drawables, Objects
from objectspace.models.parts.encoder import ImageEncoder
from objectspace.models.parts.glimpses import glimpse_nets
from objectspace.models.parts.settings import ForegroundConfig as Config
from objectspace.ops import geometry
from objectspace.ops.boundary import boundary_map, boundary_penalty
from objectspace.ops.compositing import Composite, colour_of, composite
from objectspace.ops.distributions import Gaussian, gaussian
from objectspace.ops.resample import Windows, cut, plan_windows

DROPPED_IN = 0.7  # of the images, where cells are dropped: the others show what whole ones look like
Pick = Callable[[Cells], Chosen]


@dataclass(frozen=True)
class ChosenObjects(Objects):
    """The chosen cells' objects."""

    chosen: Chosen
    what_posterior: Gaussian  # (M, D), of which `what` is the value
    windows: tuple[Windows, ...]


@dataclass(frozen=True)
class ForegroundOutput:
    """Objects over nothing, and what they cost."""

    image: Tensor  # (B, C, H, W), premultiplied by alpha
    mean: Tensor  # (B, C, H, W) what the likelihood compares the image with: that, or the colour itself
    alpha: Tensor  # (B, 1, H, W)
    cells: Cells
    objects: ChosenObjects
    kl: dict[str, Tensor]  # (B,) each
    prior: Tensor  # (B, N) of presence
    cost: Tensor  # (M,) nats that an object's own latents cost if it is there, without gradient
    boundary: Tensor  # (B,), zero when it is switched off


class Foreground(nn.Module):
    """Images (B, C, H, W) -> objects."""

    def __init__(self, config: Config, image_size: tuple[int, int], context: int = 0) -> None:
        """`context` is how many numbers the heads read beside a cell's features."""
        super().__init__()
        self.config = config
        self.image_size = image_size
        self.cell = image_size[0] // config.grid[0]  # pixels
        self.encoder = ImageEncoder(config, cell=self.cell)
        self.heads = CellHeads(self.encoder.outputs + context, config.grid, config.give_way)
        self.glimpse_encoder, self.glimpse_decoder = glimpse_nets(config)

    def forward(
        self,
        images: Tensor,
        stage: Stage,
        sample: bool,
        generator: torch.Generator | None,
        hints: Hints,
    ) -> ForegroundOutput:
        """`hints` say where objects are likely."""
        kept = self._drop(images, stage.dropped_cells, generator)
        cells, objects = self.infer(images, stage, sample, generator, kept, hints.candidates(self.cell))
        if stage.presence_by_evidence:
            cells = replace(cells, presence=cells.presence.detach())
            objects = replace(objects, presence=objects.presence.detach())
        layers = self.lay(objects, cells.presence.shape[1], (images.shape[0], *images.shape[2:]))
        prior = hints.presence_prior(stage, self.cell)
        kl, cost = self._kl(cells, objects, stage, prior, kept)
        return ForegroundOutput(
            image=layers.image,
            mean=layers.image if self.config.premultiplied else colour_of(layers.image, layers.alpha),
            alpha=layers.alpha,
            cells=cells,
            objects=objects,
            kl=kl,
            prior=torch.as_tensor(prior, dtype=images.dtype, device=images.device).expand_as(cells.presence),
            cost=cost,
            boundary=self._boundary(objects, layers.alpha, stage),
        )

    def infer(
        self,
        images: Tensor,
        stage: Stage,
        sample: bool,
        generator: torch.Generator | None,
        kept: Tensor | None = None,
        candidates: Tensor | None = None,
    ) -> tuple[Cells, ChosenObjects]:
        """What every cell proposes, and the objects of the chosen ones among those `kept` (B, N).

        Some `candidates` (B, N) are explored with them: they stay absent, but it is seen what they would draw.
        """
        budget, threshold = self.config.budget, self.config.presence_threshold

        def pick(cells: Cells) -> Chosen:
            chosen = choose(cells.presence, budget, threshold, kept)
            if candidates is None or not stage.explored_cells:
                return chosen
            heard = cells.presence_logits > -PRESENCE_LIMIT  # what has given way cannot learn
            return explore(chosen, candidates & heard, stage.explored_cells, generator)

        return self.infer_picked(images, pick, stage.temperature, sample, generator)

    def propose(self, images: Tensor, temperature: float, sample: bool, generator: torch.Generator | None) -> Cells:
        """What every cell proposes."""
        cells: Cells = self.heads(self.encoder(images), temperature, sample, generator)
        return cells

    def find(self, images: Tensor, stage: Stage, threshold: float) -> Drawables:
        """The objects whose presence probability exceeds `threshold`, at the posterior means."""

        def pick(cells: Cells) -> Chosen:
            return above(cells.probability, threshold)

        cells, found = self.infer_picked(images, pick, stage.temperature, False, None)
        terms = cells.kl(stage, self.config.scale_std_at(stage), stage.presence_prior)
        own = (of_chosen(term, found.chosen) for name, term in terms.items() if name != "presence")
        return Drawables(
            image=found.image,
            where=found.where,
            frame=found.frame,
            depth=found.depth,
            presence=of_chosen(cells.probability, found.chosen),
            what=found.what,
            picture=found.picture,
            alpha=found.alpha,
            cost=sum(own, found.what_posterior.kl(0.0, 1.0)),
            held=torch.ones_like(found.image, dtype=torch.bool),
        )

    def infer_picked(
        self, images: Tensor, pick: Pick, temperature: float, sample: bool, generator: torch.Generator | None
    ) -> tuple[Cells, ChosenObjects]:
        """What every cell proposes, and the objects of those that `pick` chooses."""
        cells = self.propose(images, temperature, sample, generator)
        chosen = pick(cells)
        frame = self.frame(of_chosen(cells.where, chosen))
        windows = self.plan(frame, chosen.image, images)
        what = self.attend(images, frame, windows, sample, generator)
        return cells, self.objects(cells, chosen, windows, what)

    def frame(self, where: Tensor) -> Tensor:
        """Where the glimpses of objects `where` (..., 4) lie: (..., 4)."""
        return geometry.enlarge(where, self.config.margin)

    def to_latents(self, where: Tensor, cell: Tensor, size: tuple[int, int]) -> tuple[Tensor, Tensor]:
        """The scale and shift (M, 2) with which cells (M,) of images of this size say `where` (M, 4)."""
        return geometry.to_latents(where, cell, size[0] // self.cell, size[1] // self.cell)

    def plan(self, frame: Tensor, image: Tensor, images: Tensor) -> tuple[Windows, ...]:
        """The windows of glimpses at (M, 4) in the images numbered (M,), on a canvas as large as the images."""
        return plan_windows(frame, image, (images.shape[2], images.shape[3]), self.config.glimpse)

    def attend(
        self,
        images: Tensor,
        frame: Tensor,
        windows: tuple[Windows, ...],
        sample: bool,
        generator: torch.Generator | None,
        noise: Tensor | None = None,
    ) -> Gaussian:
        """Cut and encode the glimpses at `frame` (M, 4): what (M, D); `noise` (M, D) may have been drawn before."""
        glimpses = cut(images, frame, windows, self.config.glimpse)
        return gaussian(self._encode(glimpses), sample, generator, noise=noise)

    def objects(self, cells: Cells, chosen: Chosen, windows: tuple[Windows, ...], what: Gaussian) -> ChosenObjects:
        """The chosen cells' objects, what (M, D), decoded."""
        where, depth, presence = (
            of_chosen(values, chosen) for values in (cells.where, cells.depth.value.squeeze(-1), cells.presence)
        )
        if chosen.explored is not None:
            presence = presence.masked_fill(chosen.explored, 0.0)
        picture, alpha = self.decode(what.value)
        return ChosenObjects(
            image=chosen.image,
            where=where,
            frame=self.frame(where),
            depth=depth,
            presence=presence,
            what=what.value,
            picture=picture,
            alpha=alpha,
            chosen=chosen,
            what_posterior=what,
            windows=windows,
        )

    def decode(self, what: Tensor) -> tuple[Tensor, Tensor]:
        """What (M, D) -> pictures (M, C, g, g) and alphas (M, 1, g, g)."""
        if len(what) == 0:
            side = self.config.glimpse
            return what.new_zeros(0, 3, side, side), what.new_zeros(0, 1, side, side)
        picture, alpha = self.glimpse_decoder(what)
        return picture, alpha

    def lay(self, objects: ChosenObjects, cells: int, shape: tuple[int, int, int]) -> Composite:
        """Lay the objects of so many cells an image over one another on `shape` = B, H, W."""
        alpha = objects.alpha * objects.presence[:, None, None, None]
        return composite(objects.picture * alpha, alpha, objects.frame, objects.depth, objects.windows, cells, shape)

    def _encode(self, glimpses: Tensor) -> Tensor:
        if len(glimpses) == 0:
            return glimpses.new_zeros(0, 2 * self.config.what_dim)
        parameters: Tensor = self.glimpse_encoder(glimpses.contiguous(memory_format=torch.channels_last))
        return parameters

    def _drop(self, images: Tensor, share: float, generator: torch.Generator | None) -> Tensor | None:
        """The cells that are left (B, N), if some are dropped: with a generator, in seven images of ten."""
        if share == 0 or generator is None:
            return None
        rows, columns = images.shape[2] // self.cell, images.shape[3] // self.cell
        draw = torch.rand(len(images), rows * columns + 1, generator=generator, device=images.device)
        return (draw[:, 1:] >= share) | (draw[:, :1] >= DROPPED_IN)

    def _kl(
        self, cells: Cells, objects: ChosenObjects, stage: Stage, prior: Tensor | float, kept: Tensor | None
    ) -> tuple[dict[str, Tensor], Tensor]:
        """Sums over cells, and what each object's own latents cost (M,).

        By the paper only what is present has latents, so their terms are weighted by presence.
        """
        terms = cells.kl(stage, self.config.scale_std_at(stage), prior)
        presence = terms.pop("presence")
        if stage.presence_by_evidence:
            presence = presence.detach()
        kl = {"presence": (presence if kept is None else presence * kept).sum(1)}
        what = objects.what_posterior.kl(0.0, 1.0)  # (M,)
        cost = sum((of_chosen(term, objects.chosen) for term in terms.values()), what).detach()
        if self.config.presence_weighted_kl:
            mask = objects.chosen.mask
            weight = cells.presence if mask is None else cells.presence * mask
            if (explored := objects.chosen.explored) is not None:
                weight = weight.flatten().index_fill(0, objects.chosen.flat[explored], 0.0).view_as(weight)
            terms = {name: term * weight for name, term in terms.items()}
            what = what * objects.presence
        kl |= {name: term.sum(1) for name, term in terms.items()}
        kl["what"] = torch.zeros_like(kl["presence"]).index_add(0, objects.image, what)
        return kl, cost

    def _boundary(self, objects: ChosenObjects, alpha: Tensor, stage: Stage) -> Tensor:
        if stage.boundary_weight == 0:
            return alpha.new_zeros(alpha.shape[0])
        shape = (alpha.shape[0], alpha.shape[2], alpha.shape[3])
        kernel = boundary_map(objects.presence, objects.frame, objects.windows, self.config.glimpse, shape)
        return stage.boundary_weight * boundary_penalty(kernel, alpha)


def of_chosen(values: Tensor, chosen: Chosen) -> Tensor:
    """The chosen ones of all cells' values: (B, N, ...) -> (M, ...)."""
    return values.flatten(0, 1).index_select(0, chosen.flat)
