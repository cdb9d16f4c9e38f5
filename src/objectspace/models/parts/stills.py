"""SPACE's background beyond the paper: stills before components or in their place, and other ways to draw these.

A component may be of one colour, a plane of colour, or of the colour that its mask sees in the image (`nn/palette.py`).

Stills are pictures of free pixels. Every image has the best-fitting one of n stills, each a picture and a mask, the
same for all images. A still takes its mask's share of every pixel and the components share the rest; where there are
none it takes all. It draws screens, borders, dashboards and fixed cameras at full resolution for nothing, and it cannot
draw what moves. The choice of the still is part of the posterior: against a uniform prior it costs log n. Without any
of this it is the paper's background. Shapes: B images, K components, S stills, C H W image.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from objectspace.errors import UserError
from objectspace.models.parts.background import Background, BackgroundOutput
from objectspace.models.parts.settings import SpaceBackgroundConfig as Config
from objectspace.nn.palette import EDGE, ColourDecoder, seen_colours
from objectspace.nn.plane import PlaneDecoder
from objectspace.ops import stills
from objectspace.ops.distributions import Gaussian, inverse_softplus

LEAST_SHARE = 0.05  # a still's mask starts between this and one minus this
SMALL_START = 0.1  # on the weights of an encoder that starts at what is seen
SURE = 0.05  # the stdev that its latents start with
SMALL = 6  # a still thing is small if it is less than this fraction of the image's height


class StillBackground(Background):
    """Images (B, C, H, W) -> a still and K components."""

    config: Config

    def __init__(self, config: Config, image_size: tuple[int, int]) -> None:
        if config.components:
            super().__init__(config, image_size)
            if config.plane:
                size = -(-image_size[0] // config.fraction), -(-image_size[1] // config.fraction)
                self.component_decoder = PlaneDecoder(config.component_dim, 3, size)
            if config.palette:
                self.component_decoder = ColourDecoder(config.component_dim, 3)
                self._start_at_seen_colours()
        else:
            nn.Module.__init__(self)
            self.config, self.image_size = config, image_size
        if config.stills:
            self.pictures = nn.Parameter(torch.full((config.stills, 3, *image_size), 0.5))
        if config.stills and config.components:
            self.mask_logits = nn.Parameter(torch.zeros(config.stills, 1, *image_size))

    @torch.no_grad()
    def start_from(self, images: Tensor, generator: torch.Generator) -> None:
        """Start the stills from medians of clusters of images (n, C, H, W), bytes in the model's channel order."""
        if not self.config.stills:
            return
        if len(images) < self.config.stills:
            raise UserError(
                f"{self.config.stills} stills cannot be made of {len(images)} images: "
                f"set model.background.stills to at most {len(images)}"
            )
        pictures, shares = stills.medians(images, self.config.stills, generator)
        if self.config.still_things == "objects":
            pictures = stills.without_small_things(pictures, self.image_size[0] // SMALL)
        self.pictures.copy_(pictures)
        if self.config.components:
            self.mask_logits.copy_(shares[:, None].clamp(LEAST_SHARE, 1 - LEAST_SHARE).logit())

    def forward(
        self,
        images: Tensor,
        sample: bool,
        generator: torch.Generator | None,
        epsilon: float = 0.0,
        sigma: float | None = None,
    ) -> BackgroundOutput:
        if not self.config.stills:
            return super().forward(images, sample, generator, epsilon, sigma)
        sigma = sigma or self.config.sigma
        chosen = self.choose(images, sigma)
        means, log_masks = self._still(chosen)
        kl = {"still": images.new_full((len(images),), math.log(self.config.stills))}
        nothing = images.new_zeros(len(images), 0, 1)
        mask_latent = component_latent = Gaussian(nothing, nothing, nothing)
        if self.config.components:
            mask_latent = self._infer_masks(images, sample, generator)
            log_masks = self._behind(self.decode_masks(mask_latent.value), chosen)
            component_latent = self._infer_components(images, log_masks[:, 1:], sample, generator)
            means = torch.cat([means, self.decode_components(component_latent.value)], dim=1)
            kl |= self._kl(mask_latent, component_latent)
        return BackgroundOutput(
            means=means,
            log_masks=log_masks,
            log_density=self._mix(images, means, log_masks, sigma, epsilon),
            mask_latent=mask_latent,
            component_latent=component_latent,
            kl=kl,
        )

    @torch.no_grad()
    def choose(self, images: Tensor, sigma: float) -> Tensor:
        """The best-fitting still of each image (B,)."""
        if self.config.stills == 1:
            return torch.zeros(len(images), dtype=torch.long, device=images.device)
        return stills.best_fit(images, self._pictures(), sigma)

    def decode_masks(self, latent: Tensor) -> Tensor:
        """Mask latents (B, K, D) -> log-masks (B, K, 1, H, W); a share of every pixel is for all components alike."""
        log_masks, stray = super().decode_masks(latent), self.config.stray
        if not stray:
            return log_masks
        alike = log_masks.new_tensor(stray / self.config.components).log()
        return torch.logaddexp(log_masks + math.log1p(-stray), alike)

    def decode_components(self, latent: Tensor) -> Tensor:
        """Component latents (B, K, D) -> pictures (B, K, C, H, W) in (0, 1), each of one colour where they are flat."""
        if self.config.palette:
            colours = self.component_decoder(latent).sigmoid()  # (B, K, C, 1, 1)
            return colours.expand(-1, -1, -1, *self.image_size)  # type: ignore[no-any-return]
        pictures = super().decode_components(latent)
        return pictures.mean((-2, -1), keepdim=True).expand_as(pictures) if self.config.flat else pictures

    @torch.no_grad()
    def _start_at_seen_colours(self) -> None:
        """Have the component encoder add nearly nothing to what is seen, and be sure of it."""
        last, dim = self.component_encoder[-1], self.config.component_dim
        assert isinstance(last, nn.Linear)
        last.weight.mul_(SMALL_START)
        last.bias[:dim] = 0
        last.bias[dim:] = inverse_softplus(SURE)

    def _encode_components(self, images: Tensor, log_masks: Tensor) -> Tensor:
        parameters = super()._encode_components(images, log_masks)
        if not self.config.palette:
            return parameters
        masks = self._shrink(log_masks.exp().flatten(0, 1)).view(*log_masks.shape[:3], *images.shape[2:])
        seen = seen_colours(images, masks).clamp(EDGE, 1 - EDGE).logit()
        return parameters + F.pad(seen, (0, parameters.shape[-1] - seen.shape[-1]))

    def infer_masks(self, images: Tensor) -> Tensor:
        """Only the log-masks (B, K, 1, H, W) of images, a still's first, at the posterior means."""
        if not self.config.stills:
            return super().infer_masks(images)
        chosen = self.choose(images, self.config.sigma)
        if not self.config.components:
            return self._still(chosen)[1]
        return self._behind(super().infer_masks(images), chosen)

    def infer_means(self, images: Tensor, log_masks: Tensor) -> Tensor:
        """Only the pictures (B, K, C, H, W) that go with those masks, at the posterior means."""
        if not self.config.stills:
            return super().infer_means(images, log_masks)
        still = self._still(self.choose(images, self.config.sigma))[0]
        if not self.config.components:
            return still
        return torch.cat([still, super().infer_means(images, log_masks[:, 1:])], dim=1)

    def generate(self, count: int, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
        """Means (B, K, C, H, W) and log-masks (B, K, 1, H, W) from the prior: any still, and the paper's algorithm."""
        if not self.config.stills:
            return super().generate(count, generator)
        device = self.pictures.device
        chosen = torch.randint(self.config.stills, (count,), generator=generator, device=device)
        means, log_masks = self._still(chosen)
        if not self.config.components:
            return means, log_masks
        others, masks = super().generate(count, generator)
        return torch.cat([means, others], dim=1), self._behind(masks, chosen)

    def _pictures(self) -> Tensor:
        """The stills (S, C, H, W); small still things that are objects must not be learned again."""
        return self.pictures.detach() if self.config.still_things == "objects" else self.pictures

    def _still(self, chosen: Tensor) -> tuple[Tensor, Tensor]:
        """The pictures (B, 1, C, H, W) of stills (B,), and their log-masks if they take all (B, 1, 1, H, W)."""
        pictures = self._pictures()[chosen][:, None]
        return pictures, torch.zeros_like(pictures[:, :, :1])

    def _behind(self, log_masks: Tensor, chosen: Tensor) -> Tensor:
        """The log-masks of stills (B,), and of components (B, K, 1, H, W) in what they leave: (B, 1 + K, 1, H, W)."""
        logits = self.mask_logits[chosen][:, None]
        return torch.cat([F.logsigmoid(logits), F.logsigmoid(-logits) + log_masks], dim=1)
