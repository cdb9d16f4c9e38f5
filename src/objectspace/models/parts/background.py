"""The background: K components, each with a mask and a picture, inferred one after another.

Departs from the paper: the last component takes what the others leave, so its mask is not decoded; with `fraction`
above 1 masks and pictures are decoded smaller and enlarged, with `input_fraction` above 1 images and masks are encoded
smaller. With `strong_decoder` pictures come from the net that the published code has for a single component, which the
paper lists as SPAIR's background decoder. Shapes: B images, K components, C H W image, D latent, E image features.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from objectspace.models.parts.settings import ComponentsConfig as Config
from objectspace.nn.broadcast import BroadcastDecoder
from objectspace.nn.stacks import halving_encoder
from objectspace.nn.subpixel import PictureDecoder
from objectspace.ops.distributions import LEAST_STD, Gaussian, bounded_gaussian, gaussian
from objectspace.ops.mixtures import add_in_log_space, mix_shaded, stick_breaking

MASK_EPSILON = 1e-5  # added to a mask before its logarithm enters the component encoder


@dataclass(frozen=True)
class BackgroundOutput:
    """The components, and what they cost."""

    means: Tensor  # (B, K, C, H, W)
    log_masks: Tensor  # (B, K, 1, H, W), masks sum to one over K
    log_density: Tensor  # (B, C, H, W) of every pixel and channel under the mixture, or (B, 1, H, W) of whole pixels
    mask_latent: Gaussian  # (B, K, D)
    component_latent: Gaussian  # (B, K, D)
    kl: dict[str, Tensor]  # (B,) each

    @property
    def masks(self) -> Tensor:
        """Mixing weights (B, K, 1, H, W)."""
        return self.log_masks.exp()

    @property
    def image(self) -> Tensor:
        """The mean of the mixture (B, C, H, W)."""
        return (self.masks * self.means).sum(1)


class MaskChain(nn.Module):
    """An LSTM that gives one mask latent after another; with image features the posterior, without the prior."""

    def __init__(self, config: Config, features: int) -> None:
        super().__init__()
        self.rnn = nn.LSTMCell(config.mask_dim + features, config.hidden)
        self.predict = nn.Linear(config.hidden, 2 * config.mask_dim)
        self.h = nn.Parameter(torch.zeros(config.hidden))
        self.c = nn.Parameter(torch.zeros(config.hidden))

    def start(self, count: int) -> tuple[Tensor, Tensor]:
        """The state before the first component, (B, hidden) twice."""
        return self.h.expand(count, -1), self.c.expand(count, -1)


class Background(nn.Module):
    """Images (B, C, H, W) -> components."""

    def __init__(self, config: Config, image_size: tuple[int, int], bounded_priors: bool = False) -> None:
        """With `bounded_priors` the priors' stdevs are at most about one, as GENESIS's are."""
        super().__init__()
        self.config = config
        self.image_size = image_size
        self.bounded_priors = bounded_priors
        size = _ceil(image_size[0], config.fraction), _ceil(image_size[1], config.fraction)
        unit = 16 * config.input_fraction
        positions = (image_size[0] // unit) * (image_size[1] // unit)
        layers, dim = config.mask_decoder, config.component_dim
        self.image_encoder = halving_encoder(3, config.encoder_channels, positions, config.encoder_dim)
        self.z_mask_0 = nn.Parameter(torch.zeros(config.mask_dim))
        self.posterior = MaskChain(config, config.encoder_dim)
        self.prior = MaskChain(config, 0)
        self.mask_decoder = PictureDecoder(config.mask_dim, layers.channels, layers.groups, 1, size)
        self.component_encoder = halving_encoder(4, config.component_encoder_channels, positions, 2 * dim)
        self.component_decoder: nn.Module = (
            PictureDecoder(dim, layers.channels, layers.groups, 3, size, later=(4, 2, 4))
            if config.strong_decoder
            else BroadcastDecoder(dim, config.component_decoder_channels, 3, size)
        )
        self.component_prior = nn.Sequential(
            nn.Linear(config.mask_dim, config.hidden),
            nn.ELU(),
            nn.Linear(config.hidden, config.hidden),
            nn.ELU(),
            nn.Linear(config.hidden, 2 * dim),
        )

    def forward(
        self,
        images: Tensor,
        sample: bool,
        generator: torch.Generator | None,
        epsilon: float = 0.0,
        sigma: float | None = None,
    ) -> BackgroundOutput:
        mask_latent = self._infer_masks(images, sample, generator)
        log_masks = self.decode_masks(mask_latent.value)
        component_latent = self._infer_components(images, log_masks, sample, generator)
        means = self.decode_components(component_latent.value)
        return BackgroundOutput(
            means=means,
            log_masks=log_masks,
            log_density=self._mix(images, means, log_masks, sigma or self.config.sigma, epsilon),
            mask_latent=mask_latent,
            component_latent=component_latent,
            kl=self._kl(mask_latent, component_latent),
        )

    def _mix(self, images: Tensor, means: Tensor, log_masks: Tensor, sigma: float, epsilon: float) -> Tensor:
        """The log density of images under means (B, K, C, H, W) and log-masks (B, K, 1, H, W)."""
        return mix_shaded(images, means, log_masks, sigma, self.config.shadow, epsilon, self.config.whole_pixels)

    def infer_masks(self, images: Tensor) -> Tensor:
        """Only the log-masks (B, K, 1, H, W) of images, at the posterior means."""
        return self.decode_masks(self._infer_masks(images, False, None).value)

    def infer_means(self, images: Tensor, log_masks: Tensor) -> Tensor:
        """Only the pictures (B, K, C, H, W) that go with those masks, at the posterior means."""
        return self.decode_components(self._infer_components(images, log_masks, False, None).value)

    def decode_masks(self, latent: Tensor) -> Tensor:
        """Mask latents (B, K, D) -> log-masks (B, K, 1, H, W)."""
        count, components = latent.shape[:2]
        if components == 1:
            return latent.new_zeros(count, 1, 1, *self.image_size)
        logits = self.mask_decoder(latent[:, :-1].flatten(0, 1))  # ((B K-1), 1, h, w)
        return stick_breaking(self._enlarge(logits).view(count, components - 1, 1, *self.image_size))

    def decode_components(self, latent: Tensor) -> Tensor:
        """Component latents (B, K, D) -> pictures (B, K, C, H, W) in (0, 1)."""
        pictures = self._enlarge(self.component_decoder(latent.flatten(0, 1)).sigmoid())
        return pictures.view(*latent.shape[:2], *pictures.shape[1:])

    def generate(self, count: int, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
        """The paper's Algorithm "Background Generation": means (B, K, C, H, W) and log-masks (B, K, 1, H, W)."""
        state, masks = self._prior_start(count), list[Tensor]()
        for _ in range(self.config.components):
            masks.append(self._expected(self.prior.predict(state[0]), True, generator).value)
            state = self.prior.rnn(masks[-1], state)
        mask_latent = torch.stack(masks, dim=1)
        components = self._expected(self.component_prior(mask_latent), True, generator).value
        return self.decode_components(components), self.decode_masks(mask_latent)

    def _infer_masks(self, images: Tensor, sample: bool, generator: torch.Generator | None) -> Gaussian:
        features = F.elu(self.image_encoder(self._shrink(images)))
        count = len(images)
        latent, state, chain = self.z_mask_0.expand(count, -1), self.posterior.start(count), list[Gaussian]()
        for _ in range(self.config.components):
            state = self.posterior.rnn(torch.cat([latent, features], dim=1), state)
            chain.append(gaussian(self.posterior.predict(state[0]), sample, generator, LEAST_STD))
            latent = chain[-1].value
        means, stds, values = zip(*((link.mean, link.std, link.value) for link in chain), strict=True)
        return Gaussian(torch.stack(means, dim=1), torch.stack(stds, dim=1), torch.stack(values, dim=1))

    def _infer_components(
        self, images: Tensor, log_masks: Tensor, sample: bool, generator: torch.Generator | None
    ) -> Gaussian:
        parameters = self._encode_components(self._shrink(images), log_masks)
        return gaussian(parameters, sample, generator, LEAST_STD)

    def _encode_components(self, images: Tensor, log_masks: Tensor) -> Tensor:
        """Means and raw stdevs (B, K, 2D), from shrunk images (B, C, h, w) and whole log-masks (B, K, 1, H, W)."""
        repeated = images[:, None].expand(-1, log_masks.shape[1], -1, -1, -1)
        masks = self._shrink(add_in_log_space(log_masks, MASK_EPSILON).flatten(0, 1))
        inputs = torch.cat([masks, repeated.flatten(0, 1)], dim=1)
        parameters: Tensor = self.component_encoder(inputs.contiguous(memory_format=torch.channels_last))
        return parameters.view(*log_masks.shape[:2], -1)

    def _kl(self, masks: Gaussian, components: Gaussian) -> dict[str, Tensor]:
        """The priors: each mask given those before it, each component given its mask."""
        state, expected = self._prior_start(masks.value.shape[0]), list[Tensor]()
        for k in range(self.config.components):
            expected.append(self.prior.predict(state[0]))
            if k + 1 < self.config.components:
                state = self.prior.rnn(masks.value[:, k], state)
        mask_prior = self._expected(torch.stack(expected, dim=1))
        component_prior = self._expected(self.component_prior(masks.value))
        return {
            "mask": masks.kl(mask_prior.mean, mask_prior.std).sum(1),
            "component": components.kl(component_prior.mean, component_prior.std).sum(1),
        }

    def _expected(self, parameters: Tensor, sample: bool = False, generator: torch.Generator | None = None) -> Gaussian:
        """A prior from what its net gives."""
        if self.bounded_priors:
            return bounded_gaussian(parameters, sample, generator)
        return gaussian(parameters, sample, generator, LEAST_STD)

    def _prior_start(self, count: int) -> tuple[Tensor, Tensor]:
        """The prior's state from which the first mask is read: after the dummy mask, as in the paper's algorithm."""
        state = self.prior.start(count)
        if self.config.prior_from_state:
            return state
        hidden, cell = self.prior.rnn(self.z_mask_0.expand(count, -1), state)
        return hidden, cell

    def _shrink(self, pictures: Tensor) -> Tensor:
        return pictures if self.config.input_fraction == 1 else F.avg_pool2d(pictures, self.config.input_fraction)

    def _enlarge(self, pictures: Tensor) -> Tensor:
        if self.config.fraction == 1:
            return pictures
        return F.interpolate(pictures, size=self.image_size, mode="bilinear", align_corners=False)


def _ceil(side: int, fraction: int) -> int:
    return -(-side // fraction)
