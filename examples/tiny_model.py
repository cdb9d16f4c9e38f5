"""A model of one's own in one file: a VAE with K slots, encoded in a single pass and drawn by one broadcast decoder.

    objectspace --with examples/tiny_model.py train examples/tiny.toml --data DATA --out RUN

An encoder reads the image once and gives a Gaussian for each slot; every slot is drawn as a picture and a mask, and the
image is a mixture of the pictures. docs/adding-a-model.md walks through it. Shapes: B images, K slots, D latent,
C H W image.
"""

from typing import Literal, Self

import torch
from pydantic import model_validator
from torch import Tensor
from torch.nn import functional as F

from objectspace.config import ModelConfig, Stage
from objectspace.config.base import Positive, Whole
from objectspace.models.parts.mixture import MixtureModel, MixtureOutput, owned
from objectspace.models.parts.pictures import Backdrops
from objectspace.nn.broadcast import BroadcastDecoder
from objectspace.nn.stacks import halving_encoder
from objectspace.ops.distributions import gaussian_kl, sample_gaussian
from objectspace.ops.mixtures import mix_components

HALVINGS = 4  # of the encoder


class Tiny(ModelConfig):
    """What a recipe may say about the model, in its section `model`; the kind is how it asks for it."""

    kind: Literal["tiny"] = "tiny"
    collapses = frozenset({"one-component"})  # what training watches for

    slots: Whole = 5
    slot_dim: Whole = 16
    width: Whole = 16  # channels of all nets
    sigma: Positive = 0.15  # standard deviation of a pixel

    @model_validator(mode="after")
    def _image_fits(self) -> "Tiny":
        if any(side % 2**HALVINGS for side in self.image_size):
            raise ValueError(f"image_size {self.image_size}: both sides must be multiples of {2**HALVINGS}")
        return self

    @property
    def parts(self) -> int:
        """Components, for the decomposition capacity."""
        return self.slots

    @classmethod
    def sized(cls, size: tuple[int, int], grid: int, components: int) -> Self:
        """With this it takes part in `objectspace compare`: as many slots as others have cells and components."""
        return cls(image_size=size, slots=grid * grid + components)


class TinyModel(MixtureModel, config=Tiny):
    """Images (B, C, H, W) in [0, 1] -> K pictures and masks."""

    config: Tiny

    def __init__(self, config: Tiny, final: Stage | None = None) -> None:
        super().__init__(config, final)
        height, width = config.image_size
        positions = height * width // 4**HALVINGS
        outputs = config.slots * 2 * config.slot_dim  # a mean and a standard deviation each
        self.encoder = halving_encoder(3, [config.width] * HALVINGS, positions, outputs)
        self.decoder = BroadcastDecoder(config.slot_dim, [config.width] * 3, 4, config.image_size)

    def forward(
        self,
        images: Tensor,
        stage: Stage | None = None,
        *,
        sample: bool = True,
        generator: torch.Generator | None = None,
    ) -> MixtureOutput:
        """Infer, reconstruct and score; terms are per image, (B,). Nothing here is annealed, so `stage` is not used."""
        mean, std = self.encode(images)
        slots = sample_gaussian(mean, std, generator) if sample else mean
        means, log_masks = self.decode(slots)
        log_density = mix_components(images, means, log_masks, self.config.sigma)  # (B, C, H, W)
        return MixtureOutput(
            target=images,
            reconstruction=(log_masks.exp() * means).sum(1),
            log_likelihood=log_density.flatten(1).sum(1),
            kl={"slots": gaussian_kl(mean, std, 0.0, 1.0).flatten(1).sum(1)},
            penalties={},
            objects=owned(log_masks),
            means=means,
            log_masks=log_masks,
        )

    def encode(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """The slots' means and standard deviations: (B, K, D) each."""
        numbers: Tensor = self.encoder(images)
        mean, raw = numbers.view(len(images), self.config.slots, 2 * self.config.slot_dim).chunk(2, dim=2)
        return mean, F.softplus(raw) + 1e-4

    def decode(self, slots: Tensor) -> tuple[Tensor, Tensor]:
        """Slots (B, K, D) -> pictures (B, K, C, H, W) and log-masks (B, K, 1, H, W), whose masks sum to one."""
        drawn: Tensor = self.decoder(slots.flatten(0, 1)).unflatten(0, slots.shape[:2])
        return drawn[:, :, :3].sigmoid(), drawn[:, :, 3:].log_softmax(1)

    # What follows is all that MixtureModel needs to make scenes, with boxes, masks and pictures at any image's size. It
    # also says that all parameters are the background's: the recipe's `training.background` trains them.

    def infer(self, images: Tensor, pictures: bool) -> Backdrops:
        """The slots of images, at the posterior means."""
        means, log_masks = self.decode(self.encode(images)[0])
        return Backdrops(log_masks.exp()[:, :, 0], means if pictures else None)

    def generate(self, generator: torch.Generator | None) -> Backdrops:
        """The slots of one image, from the prior."""
        shape = (1, self.config.slots, self.config.slot_dim)
        means, log_masks = self.decode(torch.randn(shape, generator=generator).to(next(self.parameters())))
        return Backdrops(log_masks.exp()[:, :, 0], means)
