"""SPACE the straightforward way: what the fast path is measured against.

Same nets, same weights, same terms. The image is repeated for every cell to cut its glimpse; every cell's picture,
alpha and boundary kernel is pasted on a full canvas of its own with `grid_sample`; the softmax goes over all cells; the
component decoder convolves a broadcast map. Shapes: B images, N cells, K components, C H W image, g glimpse.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from objectspace.config import Stage
from objectspace.models.parts.cells import Cells
from objectspace.models.space import Space
from objectspace.models.space import SpaceConfig as Config
from objectspace.nn.broadcast import BroadcastDecoder, coordinate_map
from objectspace.ops.boundary import SIGMA, STRENGTH, rim_width
from objectspace.ops.distributions import Gaussian, gaussian
from objectspace.ops.geometry import to_affine
from objectspace.ops.mixtures import gaussian_log_density, mix_two


class BroadcastLiterally(nn.Module):
    """The component decoder as the paper draws it: repeat the vector over the image, add coordinates, convolve."""

    def __init__(self, fast: BroadcastDecoder) -> None:
        super().__init__()
        self.decoder, self.size = fast.decoder, fast.size

    def forward(self, latent: Tensor) -> Tensor:
        vectors = latent[:, :, None, None].expand(-1, -1, *self.size)
        coordinates = coordinate_map(*self.size, latent).expand(len(latent), -1, -1, -1)
        pictures: Tensor = self.decoder(torch.cat([vectors, coordinates], dim=1))
        return pictures


class DenseSpace(nn.Module):
    """A `Space` whose foreground lives on full canvases."""

    def __init__(self, config: Config, final: Stage) -> None:
        super().__init__()
        self.space = Space(config, final).to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        decoder = self.space.background.component_decoder
        if isinstance(decoder, BroadcastDecoder):
            self.space.background.component_decoder = BroadcastLiterally(decoder)

    def forward(self, images: Tensor, stage: Stage, sample: bool, generator: torch.Generator | None) -> Tensor:
        """The loss of each image (B,)."""
        config, foreground = self.space.config, self.space.foreground
        cells = foreground.heads(foreground.encoder(images), stage.temperature, sample, generator)
        what, image, alpha, kernel = self._canvases(images, cells, sample, generator)
        background = self.space.background(images, sample, generator, config.mixture_epsilon)
        by_foreground = gaussian_log_density(images, image, config.foreground.sigma)
        log_density = mix_two(by_foreground, background.log_density, alpha, config.mixture_epsilon)
        kl = cells.kl(stage, config.foreground.scale_prior_std, stage.presence_prior)
        kl |= {"what": what.kl(0.0, 1.0).view_as(cells.presence)}
        presence_kl = kl.pop("presence")
        weight = cells.presence if config.foreground.presence_weighted_kl else 1
        cost = presence_kl.sum(1) + sum((term * weight).sum(1) for term in kl.values())
        cost = cost + background.kl["mask"] + background.kl["component"]
        penalty = -gaussian_log_density(kernel * alpha, 0.0, SIGMA).flatten(1).sum(1)
        loss: Tensor = cost - log_density.flatten(1).sum(1) + stage.boundary_weight * penalty
        return loss

    def _canvases(
        self, images: Tensor, cells: Cells, sample: bool, generator: torch.Generator | None
    ) -> tuple[Gaussian, Tensor, Tensor, Tensor]:
        """What (B N, D), foreground (B, C, H, W), alpha (B, 1, H, W) and boundary kernel (B, 1, H, W)."""
        foreground = self.space.foreground
        (count, channels, height, width), side = images.shape, foreground.config.glimpse
        number = cells.presence.shape[1]
        where = cells.where.flatten(0, 1)
        repeated = images[:, None].expand(-1, number, -1, -1, -1).reshape(-1, channels, height, width)
        grid = F.affine_grid(to_affine(where), [len(where), channels, side, side], align_corners=False)
        glimpses = F.grid_sample(repeated, grid, align_corners=False)
        what = gaussian(foreground.glimpse_encoder(glimpses), sample, generator)
        picture, alpha = foreground.glimpse_decoder(what.value)
        alpha = alpha * cells.presence.flatten()[:, None, None, None]
        rim = rim_width(side)
        kernel = torch.ones(side, side)
        kernel[rim:-rim, rim:-rim] = 0
        kernels = kernel * (STRENGTH / side**2) * cells.presence.flatten()[:, None, None, None]
        back = F.affine_grid(to_affine(where, inverse=True), [len(where), 1, height, width], align_corners=False)
        shape = (count, number, -1, height, width)
        alphas = F.grid_sample(alpha, back, align_corners=False).view(shape)
        pictures = F.grid_sample(picture * alpha, back, align_corners=False).view(shape)
        pasted_kernels = F.grid_sample(kernels, back, align_corners=False).view(shape)
        weights = torch.softmax(100 * torch.sigmoid(-cells.depth.value)[..., None, None] * alphas, dim=1)
        return what, (weights * pictures).sum(1), (weights * alphas).sum(1), pasted_kernels.sum(1)
