"""GENESIS (Engelcke et al. 2019): a scene as a mixture of components, inferred and generated one after another.

The SPACE paper's rival has the nets of its background module, so it is that module: mask latents by an LSTM, stick
breaking, a component VAE and an autoregressive prior. How it departs from GENESIS's own paper is said in
docs/decisions.md. Shapes: B images, C H W image.
"""

from collections.abc import Mapping
from math import prod
from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from objectspace.config import Section, Stage
from objectspace.config.base import Positive
from objectspace.models.parts.background import Background
from objectspace.models.parts.mixture import MixtureModel, MixtureOutput, owned
from objectspace.models.parts.pictures import Backdrops
from objectspace.models.parts.settings import ComponentsConfig, MixtureConfig, Widths

LEAST_BETA, LARGEST_BETA = 1e-10, 1e10


class GecoConfig(Section):
    """Training towards a likelihood: the KL weighs more once the goal is met, and less as long as it is not."""

    goal: float | None = (
        None  # negative log-likelihood of a pixel's channel, in nats, to be reached; None: the plain bound
    )
    step: Positive = 0.12  # how fast the KL's weight moves, for each nat from the goal
    smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.99  # of the likelihood that is compared with the goal


class GenesisConfig(MixtureConfig, ComponentsConfig):
    """The GENESIS model: the nets and options of SPACE's background, as the whole model."""

    laptop: ClassVar[Widths] = {
        "mask_dim": 16,
        "component_dim": 16,
        "fraction": 4,
        "input_fraction": 2,
        "encoder_channels": (32, 32, 32, 32),
        "mask_decoder": {"channels": (64, 64, 32, 32, 16), "groups": (8, 8, 8, 8, 4)},
        "component_encoder_channels": (16, 16, 32, 32),
        "component_decoder_channels": (32, 32, 32),
    }

    own_recipe = "genesis-rooms-small"

    kind: Literal["genesis"] = "genesis"
    prior_std: Literal["sigmoid", "softplus"] = "sigmoid"  # how priors' stdevs are made; softplus: as SPACE's are
    geco: GecoConfig = GecoConfig()

    @model_validator(mode="after")
    def _image_fits(self) -> "GenesisConfig":
        self.check_size(*self.image_size)
        return self


class Genesis(MixtureModel, config=GenesisConfig):
    """The whole model; images (B, C, H, W) in [0, 1], in the channel order of the config."""

    config: GenesisConfig
    beta: Tensor  # the weight of the KL, with a goal for the likelihood
    error: Tensor  # the negative log-likelihood of a pixel's channel, smoothed over steps; at first, as if at its goal

    def __init__(self, config: GenesisConfig, final: Stage | None = None) -> None:
        super().__init__(config, final)
        self.mixture = Background(config, config.image_size, bounded_priors=config.prior_std == "sigmoid")
        if config.geco.goal is not None:
            self.register_buffer("beta", torch.tensor(1.0))
            self.register_buffer("error", torch.tensor(config.geco.goal))
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(
        self,
        images: Tensor,
        stage: Stage | None = None,
        *,
        sample: bool = True,
        generator: torch.Generator | None = None,
    ) -> MixtureOutput:
        images = images.contiguous(memory_format=torch.channels_last)
        parts = self.mixture(images, sample, generator)
        penalties = {}
        if self.config.geco.goal is not None:  # the bound has the KL once already
            penalties["geco"] = (self.beta - 1) * (parts.kl["mask"] + parts.kl["component"])
        return MixtureOutput(
            target=images,
            reconstruction=parts.image,
            log_likelihood=parts.log_density.flatten(1).sum(1),
            kl=parts.kl,
            penalties=penalties,
            objects=owned(parts.log_masks),
            means=parts.means,
            log_masks=parts.log_masks,
        )

    @torch.no_grad()
    def after_step(self, terms: Mapping[str, float]) -> None:
        """Move the KL's weight: up where the smoothed likelihood is better than its goal, down where it is worse."""
        geco = self.config.geco
        if geco.goal is None:
            return
        error = -terms["log_likelihood"] / (3 * prod(self.config.image_size))
        self.error.mul_(geco.smoothing).add_((1 - geco.smoothing) * error)
        self.beta.mul_(torch.exp(geco.step * (geco.goal - self.error))).clamp_(LEAST_BETA, LARGEST_BETA)

    def infer(self, images: Tensor, pictures: bool) -> Backdrops:
        images = images.contiguous(memory_format=torch.channels_last)
        log_masks = self.mixture.infer_masks(images)  # (B, K, 1, H, W)
        means = self.mixture.infer_means(images, log_masks) if pictures else None
        return Backdrops(log_masks.exp()[:, :, 0], means)

    def generate(self, generator: torch.Generator | None) -> Backdrops:
        means, log_masks = self.mixture.generate(1, generator)
        return Backdrops(log_masks.exp()[:, :, 0], means)
