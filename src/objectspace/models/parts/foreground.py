"""The foreground: cells propose objects; the chosen ones are attended to, decoded and laid over one another.

Departs from the paper only by options that are off by default: a budget of objects an image and a presence threshold
choose which cells are worked on; the others count as absent. Shapes: B images, N cells, M chosen objects, C H W image,
g the glimpse's side, D latent.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from objectspace.config import Foreground as Config
from objectspace.config import Stage
from objectspace.models.parts.cells import CellHeads, Cells, Chosen, Gaussian, above, choose, gaussian
from objectspace.models.parts.drawing import Drawables
from objectspace.models.parts.encoder import ImageEncoder
from objectspace.models.parts.glimpses import GlimpseDecoder, GlimpseEncoder
from objectspace.ops.boundary import boundary_map, boundary_penalty
from objectspace.ops.compositing import Composite, composite
from objectspace.ops.resample import Windows, cut, plan_windows

Pick = Callable[[Cells], Chosen]


@dataclass(frozen=True)
class Objects:
    """The chosen cells' objects."""

    chosen: Chosen
    where: Tensor  # (M, 4)
    depth: Tensor  # (M,)
    presence: Tensor  # (M,)
    what: Gaussian  # (M, D)
    picture: Tensor  # (M, C, g, g)
    alpha: Tensor  # (M, 1, g, g), not yet weighted by presence
    windows: tuple[Windows, ...]


@dataclass(frozen=True)
class ForegroundOutput:
    """Objects over nothing, and what they cost."""

    image: Tensor  # (B, C, H, W), premultiplied by alpha
    alpha: Tensor  # (B, 1, H, W)
    cells: Cells
    objects: Objects
    kl: dict[str, Tensor]  # (B,) each
    boundary: Tensor  # (B,), zero when it is switched off


class Foreground(nn.Module):
    """Images (B, C, H, W) -> objects."""

    def __init__(self, config: Config, image_size: tuple[int, int], context: int = 0) -> None:
        """`context` is how many numbers the heads read beside a cell's features."""
        super().__init__()
        self.config = config
        self.cell = image_size[0] // config.grid[0]  # pixels
        self.encoder = ImageEncoder(config, cell=self.cell)
        self.heads = CellHeads(self.encoder.outputs + context, config.grid)
        self.glimpse_encoder = GlimpseEncoder(config)
        self.glimpse_decoder = GlimpseDecoder(config)

    def forward(
        self,
        images: Tensor,
        stage: Stage,
        sample: bool,
        generator: torch.Generator | None,
        motion: Tensor | None = None,
    ) -> ForegroundOutput:
        """`motion` (B, H, W) marks the pixels that move, where that is known."""
        cells, objects = self.infer(images, stage.temperature, sample, generator)
        layers = self.lay(objects, cells.presence.shape[1], (images.shape[0], *images.shape[2:]))
        return ForegroundOutput(
            image=layers.image,
            alpha=layers.alpha,
            cells=cells,
            objects=objects,
            kl=self._kl(cells, objects, stage, motion),
            boundary=self._boundary(objects, layers.alpha, stage),
        )

    def infer(
        self, images: Tensor, temperature: float, sample: bool, generator: torch.Generator | None
    ) -> tuple[Cells, Objects]:
        """What every cell proposes, and the objects of the chosen ones."""
        budget, threshold = self.config.budget, self.config.presence_threshold
        return self.look(
            images, lambda cells: choose(cells.presence, budget, threshold), temperature, sample, generator
        )

    def find(self, images: Tensor, temperature: float, threshold: float) -> Drawables:
        """The objects whose presence probability exceeds `threshold`, at the posterior means."""
        cells, found = self.look(images, lambda cells: above(cells.probability, threshold), temperature, False, None)
        presence = cells.probability.flatten()[found.chosen.flat]
        return Drawables(
            found.chosen.image, found.where, found.depth, presence, found.what.value, found.picture, found.alpha
        )

    def look(
        self, images: Tensor, pick: Pick, temperature: float, sample: bool, generator: torch.Generator | None
    ) -> tuple[Cells, Objects]:
        """What every cell proposes, and the objects of those that `pick` chooses."""
        cells = self.heads(self.encoder(images), temperature, sample, generator)
        chosen = pick(cells)
        where = of_chosen(cells.where, chosen)
        windows = self.plan(where, chosen.image, images)
        what = self.attend(images, where, windows, sample, generator)
        return cells, self.objects(cells, chosen, windows, what)

    def plan(self, where: Tensor, image: Tensor, images: Tensor) -> tuple[Windows, ...]:
        """The windows of objects `where` (M, 4) of the images numbered (M,), on a canvas as large as the images."""
        return plan_windows(where, image, (images.shape[2], images.shape[3]), self.config.glimpse)

    def attend(
        self,
        images: Tensor,
        where: Tensor,
        windows: tuple[Windows, ...],
        sample: bool,
        generator: torch.Generator | None,
    ) -> Gaussian:
        """Cut and encode a glimpse for every object: what (M, D)."""
        glimpses = cut(images, where, windows, self.config.glimpse)
        return gaussian(self._encode(glimpses), sample, generator)

    def objects(self, cells: Cells, chosen: Chosen, windows: tuple[Windows, ...], what: Gaussian) -> Objects:
        """The chosen cells' objects, what (M, D), decoded."""
        where, depth, presence = (
            of_chosen(values, chosen) for values in (cells.where, cells.depth.value.squeeze(-1), cells.presence)
        )
        picture, alpha = self.decode(what.value)
        return Objects(chosen, where, depth, presence, what, picture, alpha, windows)

    def decode(self, what: Tensor) -> tuple[Tensor, Tensor]:
        """What (M, D) -> pictures (M, C, g, g) and alphas (M, 1, g, g)."""
        if len(what) == 0:
            side = self.config.glimpse
            return what.new_zeros(0, 3, side, side), what.new_zeros(0, 1, side, side)
        picture, alpha = self.glimpse_decoder(what)
        return picture, alpha

    def lay(self, objects: Objects, cells: int, shape: tuple[int, int, int]) -> Composite:
        """Lay the objects of so many cells an image over one another on `shape` = B, H, W."""
        alpha = objects.alpha * objects.presence[:, None, None, None]
        return composite(objects.picture * alpha, alpha, objects.where, objects.depth, objects.windows, cells, shape)

    def _encode(self, glimpses: Tensor) -> Tensor:
        if len(glimpses) == 0:
            return glimpses.new_zeros(0, 2 * self.config.what_dim)
        parameters: Tensor = self.glimpse_encoder(glimpses.contiguous(memory_format=torch.channels_last))
        return parameters

    def _kl(self, cells: Cells, objects: Objects, stage: Stage, motion: Tensor | None) -> dict[str, Tensor]:
        """Sums over cells. By the paper only what is present has latents, so their terms are weighted by presence."""
        moving = None if motion is None else self._moving(motion)
        terms = cells.kl(stage, self.config.scale_std_at(stage), moving)
        kl = {"presence": terms.pop("presence").sum(1)}
        what = objects.what.kl(0.0, 1.0)  # (M,)
        if self.config.presence_weighted_kl:
            mask = objects.chosen.mask
            weight = cells.presence if mask is None else cells.presence * mask
            terms = {name: term * weight for name, term in terms.items()}
            what = what * objects.presence
        kl |= {name: term.sum(1) for name, term in terms.items()}
        kl["what"] = torch.zeros_like(kl["presence"]).index_add(0, objects.chosen.image, what)
        return kl

    def _moving(self, motion: Tensor) -> Tensor:
        """The cells in which a pixel moves: (B, H, W) -> (B, N)."""
        pooled = F.max_pool2d(motion[:, None].float(), self.cell)
        return pooled.flatten(1) > 0

    def _boundary(self, objects: Objects, alpha: Tensor, stage: Stage) -> Tensor:
        if stage.boundary_weight == 0:
            return alpha.new_zeros(alpha.shape[0])
        shape = (alpha.shape[0], alpha.shape[2], alpha.shape[3])
        kernel = boundary_map(objects.presence, objects.where, objects.windows, self.config.glimpse, shape)
        return stage.boundary_weight * boundary_penalty(kernel, alpha)


def of_chosen(values: Tensor, chosen: Chosen) -> Tensor:
    """The chosen ones of all cells' values: (B, N, ...) -> (M, ...)."""
    return values.flatten(0, 1).index_select(0, chosen.flat)
