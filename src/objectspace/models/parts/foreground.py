"""The foreground: cells propose objects; the chosen ones are attended to, decoded and laid over one another.

Departs from the paper only by options that are off by default: a budget of objects an image and a presence threshold
choose which cells are worked on; the others count as absent. Shapes: B images, N cells, M chosen objects, C H W image,
g the glimpse's side, D latent.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from objectspace.config import Foreground as Config
from objectspace.config import Stage
from objectspace.models.parts.cells import CellHeads, Cells, Chosen, Gaussian, choose, gaussian
from objectspace.models.parts.drawing import Drawables
from objectspace.models.parts.encoder import ImageEncoder
from objectspace.models.parts.glimpses import GlimpseDecoder, GlimpseEncoder
from objectspace.ops.boundary import boundary_map, boundary_penalty
from objectspace.ops.compositing import Composite, composite
from objectspace.ops.resample import Windows, cut, plan_windows


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

    def __init__(self, config: Config, image_size: tuple[int, int]) -> None:
        super().__init__()
        self.config = config
        self.encoder = ImageEncoder(config, cell=image_size[0] // config.grid[0])
        self.heads = CellHeads(self.encoder.outputs, config.grid)
        self.glimpse_encoder = GlimpseEncoder(config)
        self.glimpse_decoder = GlimpseDecoder(config)

    def forward(
        self, images: Tensor, stage: Stage, sample: bool, generator: torch.Generator | None
    ) -> ForegroundOutput:
        cells, objects = self.infer(images, stage.temperature, sample, generator)
        layers = self.lay(objects, objects.presence, (images.shape[0], *images.shape[2:]))
        return ForegroundOutput(
            image=layers.image,
            alpha=layers.alpha,
            cells=cells,
            objects=objects,
            kl=self._kl(cells, objects, stage),
            boundary=self._boundary(objects, layers.alpha, stage),
        )

    def infer(
        self, images: Tensor, temperature: float, sample: bool, generator: torch.Generator | None
    ) -> tuple[Cells, Objects]:
        """What every cell proposes, and the objects of the chosen ones."""
        cells = self.heads(self.encoder(images), temperature, sample, generator)
        chosen = choose(cells.presence, self.config.budget, self.config.presence_threshold)
        return cells, self.attend(images, cells, chosen, sample, generator)

    def find(self, images: Tensor, temperature: float, threshold: float) -> Drawables:
        """The objects whose presence probability exceeds `threshold`, at the posterior means."""
        cells = self.heads(self.encoder(images), temperature, False, None)
        mask = cells.probability > threshold
        flat = mask.flatten().nonzero().flatten()
        found = self.attend(images, cells, Chosen(flat, flat // mask.shape[1], mask), False, None)
        score = cells.probability.flatten()[flat]
        return Drawables(
            found.chosen.image, found.where, found.depth, score, found.what.value, found.picture, found.alpha
        )

    def attend(
        self, images: Tensor, cells: Cells, chosen: Chosen, sample: bool, generator: torch.Generator | None
    ) -> Objects:
        """Cut, encode and decode the chosen cells' glimpses."""
        where, depth, presence = (
            values.flatten(0, 1).index_select(0, chosen.flat)
            for values in (cells.where, cells.depth.value.squeeze(-1), cells.presence)
        )
        windows = plan_windows(where, chosen.image, (images.shape[2], images.shape[3]), self.config.glimpse)
        glimpses = cut(images, where, windows, self.config.glimpse)
        what = gaussian(self._encode(glimpses), sample, generator)
        picture, alpha = self.decode(what.value)
        return Objects(chosen, where, depth, presence, what, picture, alpha, windows)

    def decode(self, what: Tensor) -> tuple[Tensor, Tensor]:
        """What (M, D) -> pictures (M, C, g, g) and alphas (M, 1, g, g)."""
        if len(what) == 0:
            side = self.config.glimpse
            return what.new_zeros(0, 3, side, side), what.new_zeros(0, 1, side, side)
        picture, alpha = self.glimpse_decoder(what)
        return picture, alpha

    def lay(self, objects: Objects, presence: Tensor, shape: tuple[int, int, int]) -> Composite:
        """Lay the objects, presence (M,), over one another on `shape` = B, H, W."""
        alpha = objects.alpha * presence[:, None, None, None]
        cells = self.config.grid[0] * self.config.grid[1]
        return composite(objects.picture * alpha, alpha, objects.where, objects.depth, objects.windows, cells, shape)

    def _encode(self, glimpses: Tensor) -> Tensor:
        if len(glimpses) == 0:
            return glimpses.new_zeros(0, 2 * self.config.what_dim)
        parameters: Tensor = self.glimpse_encoder(glimpses.contiguous(memory_format=torch.channels_last))
        return parameters

    def _kl(self, cells: Cells, objects: Objects, stage: Stage) -> dict[str, Tensor]:
        """Sums over cells. By the paper only what is present has latents, so their terms are weighted by presence."""
        terms = cells.kl(stage, self.config.scale_std_at(stage))
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

    def _boundary(self, objects: Objects, alpha: Tensor, stage: Stage) -> Tensor:
        if stage.boundary_weight == 0:
            return alpha.new_zeros(alpha.shape[0])
        shape = (alpha.shape[0], alpha.shape[2], alpha.shape[3])
        kernel = boundary_map(objects.presence, objects.where, objects.windows, self.config.glimpse, shape)
        return stage.boundary_weight * boundary_penalty(kernel, alpha)
