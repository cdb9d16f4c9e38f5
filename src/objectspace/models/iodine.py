"""IODINE (Greff et al. 2019): a scene as a mixture of slots whose posteriors are guessed, then refined step by step.

Every step decodes the slots, asks how well they explain the image and how the bound would like them changed, and lets a
recurrent net make that a change of the posteriors. Those gradients are inputs like others: nothing is learned through
them, so no second derivative is needed. How it departs from its paper is said in docs/decisions.md.

Shapes: B images, K slots, C H W image, D latent; h w as decoded.
"""

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional as F

from objectspace.config import Stage
from objectspace.config.base import Positive, Whole
from objectspace.models.parts.mixture import MixtureModel, MixtureOutput, owned
from objectspace.models.parts.pictures import Backdrops
from objectspace.models.parts.settings import MixtureConfig, Widths
from objectspace.nn.broadcast import coordinate_map
from objectspace.nn.recompute import activate_convolve, add_activate_convolve
from objectspace.ops.distributions import LEAST_STD, gaussian
from objectspace.ops.mixtures import gaussian_log_density

INPUTS = 17  # channels that the refinement reads of a slot, see `Iodine._refiner_inputs`

State = tuple[Tensor, Tensor]  # of the LSTM, (B K, hidden) twice


class IodineConfig(MixtureConfig):
    """The IODINE model; the defaults are those of its paper for CLEVR6."""

    laptop: ClassVar[Widths] = {
        "refinements": 3,
        "slot_dim": 32,
        "hidden": 128,
        "fraction": 4,
        "input_fraction": 4,
        "decoder_channels": (32, 32, 32),
        "encoder_channels": (32, 32, 32),
    }

    own_recipe = "iodine-rooms-small"

    kind: Literal["iodine"] = "iodine"
    components: Annotated[int, Field(ge=2)] = 7  # slots; two at least, for what others make of an image without one
    refinements: Whole = 5
    sigma: Positive = 0.1
    slot_dim: Whole = 64
    hidden: Whole = 256  # of the refinement's MLP and LSTM
    fraction: Literal[1, 2, 4, 8] = 1  # slots are decoded at 1/fraction of the resolution and upsampled
    input_fraction: Literal[1, 2, 4, 8] = 1  # the refinement reads everything at 1/input_fraction
    decoder_channels: tuple[Whole, ...] = Field(default=(64, 64, 64, 64), min_length=1)
    encoder_channels: tuple[Whole, ...] = Field(default=(64, 64, 64, 64), min_length=1)  # each halves the resolution
    # The form of zhixuan-lin/IODINE, by the SPACE paper's first author, differs in these; see docs/decisions.md.
    squashed: bool = False  # slots' pictures pass through a sigmoid
    whole_pixels: bool = True  # a pixel belongs to one slot in all its channels; False: every channel by itself
    start_counts: bool = False  # bounds weigh (t + 1) / (T + 1), that of the start too; False: t / T

    @model_validator(mode="after")
    def _image_fits(self) -> "IodineConfig":
        height, width = self.image_size
        if height % self.input_fraction or width % self.input_fraction:
            raise ValueError(
                f"image_size {height} x {width}: both sides must be multiples of input_fraction, {self.input_fraction}"
            )
        return self


@dataclass(frozen=True)
class Guess:
    """What some posteriors make of the images."""

    means: Tensor  # (B, K, C, H, W)
    logits: Tensor  # (B, K, 1, H, W) of the masks
    log_masks: Tensor  # (B, K, 1, H, W)
    by_slot: Tensor  # (B, K, 1, H, W) log of mask times density of each pixel
    by_pixel: Tensor  # (B, 1, 1, H, W) log density of each pixel under the mixture
    kl: Tensor  # (B,)

    @property
    def log_likelihood(self) -> Tensor:
        """(B,)."""
        return self.by_pixel.flatten(1).sum(1)

    @property
    def loss(self) -> Tensor:
        """The negative bound (B,)."""
        return self.kl - self.log_likelihood


class SlotDecoder(nn.Module):
    """A spatial broadcast decoder without norms: vectors (n, D) -> pictures and mask logits (n, C + 1, h, w).

    As in nn/broadcast.py the map that is convolved is larger than the picture by a pixel a layer on each side, and
    the first layer is the sum of what a vector and what a pixel's coordinates give: the vector is never repeated.
    Of every other layer one map is kept for the backward pass, the one before its activation.
    """

    def __init__(self, config: IodineConfig) -> None:
        super().__init__()
        channels = config.slot_dim + 2, *config.decoder_channels, 4
        self.convolutions = nn.ModuleList(nn.Conv2d(before, after, 3) for before, after in pairwise(channels))
        margin = 2 * len(self.convolutions)
        height, width = (-(-side // config.fraction) + margin for side in config.image_size)
        self.size = height, width

    def forward(self, latent: Tensor) -> Tensor:
        first, *others = self.convolutions
        assert isinstance(first, nn.Conv2d)
        dimensions = latent.shape[1]
        by_vector = F.linear(latent, first.weight[:, :dimensions].sum((2, 3)), first.bias)  # (n, channels)
        by_pixel = F.conv2d(coordinate_map(*self.size, latent), first.weight[:, dimensions:])  # (1, channels, h, w)
        if not others:
            return by_vector[:, :, None, None] + by_pixel
        assert isinstance(others[0], nn.Conv2d)
        maps = add_activate_convolve(by_vector, by_pixel[0], others[0])
        for convolution in others[1:]:
            assert isinstance(convolution, nn.Conv2d)
            maps = activate_convolve(maps, convolution)
        return maps


class Refiner(nn.Module):
    """What is seen of a slot, and its posterior -> the change of its posterior."""

    def __init__(self, config: IodineConfig) -> None:
        super().__init__()
        channels = INPUTS, *config.encoder_channels
        layers: list[nn.Module] = []
        for before, after in pairwise(channels):
            layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.ELU(inplace=True)]
        self.look = nn.Sequential(*layers)  # the name is that of the weights
        self.think = nn.Sequential(
            nn.Linear(channels[-1], config.hidden), nn.ELU(inplace=True), nn.Linear(config.hidden, config.hidden)
        )
        self.remember = nn.LSTMCell(config.hidden + 4 * config.slot_dim, config.hidden)
        self.change = nn.Linear(config.hidden, 2 * config.slot_dim)

    def forward(self, seen: Tensor, vectors: Tensor, state: State | None) -> tuple[Tensor, State]:
        """Pictures (B K, INPUTS, h, w) and vectors (B K, 4D) -> a change (B K, 2D)."""
        features = self.think(self.look(seen).mean((2, 3)))
        hidden, cell = self.remember(torch.cat([features, vectors], dim=1), state)
        return self.change(hidden), (hidden, cell)


class Iodine(MixtureModel, config=IodineConfig):
    """The whole model; images (B, C, H, W) in [0, 1], in the channel order of the config."""

    config: IodineConfig

    def __init__(self, config: IodineConfig, final: Stage | None = None) -> None:
        super().__init__(config, final)
        slots, dim = config.components, config.slot_dim
        self.initial = nn.Parameter(torch.cat([torch.randn(slots, dim), torch.zeros(slots, dim)], dim=1))
        self.decoder = SlotDecoder(config)
        self.refiner = Refiner(config)

    def forward(
        self,
        images: Tensor,
        stage: Stage | None = None,
        *,
        sample: bool = True,
        generator: torch.Generator | None = None,
    ) -> MixtureOutput:
        losses, last = self._refine(images, sample, generator)
        steps, first = self.config.refinements, int(self.config.start_counts)
        weights = ((t + first) / (steps + first) for t in range(steps))
        early = sum((weight * loss for weight, loss in zip(weights, losses, strict=True)), torch.zeros_like(last.kl))
        return MixtureOutput(
            target=images,
            reconstruction=(last.log_masks.exp() * last.means).sum(1),
            log_likelihood=last.log_likelihood,
            kl={"slot": last.kl},
            penalties={"early": early},  # the last step's weight is one: that is the bound itself
            objects=owned(last.log_masks),
            means=last.means,
            log_masks=last.log_masks,
        )

    def infer(self, images: Tensor, pictures: bool) -> Backdrops:
        last = self._refine(images, False, None)[1]
        return Backdrops(last.log_masks.exp()[:, :, 0], last.means)

    def generate(self, generator: torch.Generator | None) -> Backdrops:
        config, like = self.config, self.initial
        shape = config.components, config.slot_dim
        means, logits = self._decode(torch.randn(shape, generator=generator, dtype=like.dtype, device=like.device), 1)
        return Backdrops(logits.softmax(1)[:, :, 0], means)

    def _refine(self, images: Tensor, sample: bool, generator: torch.Generator | None) -> tuple[list[Tensor], Guess]:
        """The loss (B,) before each refinement, and the guess after the last."""
        if torch.is_inference_mode_enabled():  # in which no gradient can be had, and refining needs some
            with torch.inference_mode(False), torch.no_grad():
                return self._refine(images.clone(), sample, generator)
        learning, losses, state = torch.is_grad_enabled(), list[Tensor](), None
        posteriors = self.initial.repeat(len(images), 1)  # (B K, 2D): means and raw stdevs
        for _ in range(self.config.refinements):
            with torch.enable_grad():
                if not posteriors.requires_grad:
                    posteriors.requires_grad_()
                guess = self._guess(images, posteriors, sample, generator)
                wanted = posteriors, guess.means, guess.logits
                by_posteriors, *by_pictures = torch.autograd.grad(guess.loss.sum(), wanted, retain_graph=learning)
            losses.append(guess.loss if learning else guess.loss.detach())
            vectors = torch.cat([posteriors, _normed(by_posteriors, 1)], dim=1)
            change, state = self.refiner(self._refiner_inputs(images, guess, *by_pictures), vectors, state)
            posteriors = posteriors + change
        return losses, self._guess(images, posteriors, sample, generator)

    def _guess(self, images: Tensor, posteriors: Tensor, sample: bool, generator: torch.Generator | None) -> Guess:
        """Decode slots that are drawn from posteriors (B K, 2D), and score the images (B, C, H, W) under them."""
        slots = gaussian(posteriors, sample, generator, LEAST_STD)
        means, logits = self._decode(slots.value, len(images))
        log_masks = logits.log_softmax(1)
        density = gaussian_log_density(images[:, None], means, self.config.sigma)  # (B, K, C, H, W)
        by_slot = log_masks + density.sum(2, keepdim=True)
        mixed = by_slot if self.config.whole_pixels else log_masks + density
        by_pixel = mixed.logsumexp(1, keepdim=True).sum(2, keepdim=True)
        return Guess(means, logits, log_masks, by_slot, by_pixel, slots.kl(0.0, 1.0).view(len(images), -1).sum(1))

    def _decode(self, latent: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """Slots (B K, D) of so many images -> means (B, K, C, H, W) and mask logits (B, K, 1, H, W)."""
        pictures = self.decoder(latent)
        if self.config.fraction > 1:
            pictures = F.interpolate(pictures, size=self.config.image_size, mode="bilinear", align_corners=False)
        pictures = pictures.view(count, self.config.components, *pictures.shape[1:])
        means, logits = pictures[:, :, :3], pictures[:, :, 3:]
        return means.sigmoid() if self.config.squashed else means, logits

    def _refiner_inputs(self, images: Tensor, guess: Guess, by_means: Tensor, by_logits: Tensor) -> Tensor:
        """All that the refinement sees of every slot, the loss's gradients among it: (B K, INPUTS, h, w)."""
        with torch.no_grad():
            notes = [by_means, by_logits, guess.by_pixel, counterfactual(guess)]
            notes = [_normed(note, 3) for note in notes]
        masks, owners = guess.log_masks.exp(), guess.by_slot.softmax(1)
        coordinates = coordinate_map(*self.config.image_size, images)[:, None]
        parts = [images[:, None], guess.means, masks, guess.logits, owners, *notes, coordinates]
        count, slots = guess.means.shape[:2]
        seen = torch.cat([part.expand(count, slots, -1, -1, -1) for part in parts], dim=2).flatten(0, 1)
        return seen if self.config.input_fraction == 1 else F.avg_pool2d(seen, self.config.input_fraction)


def counterfactual(guess: Guess) -> Tensor:
    """How much better each pixel is explained with each slot than without it: (B, K, 1, H, W)."""
    return guess.by_pixel - leave_one_out(guess)


def leave_one_out(guess: Guess) -> Tensor:
    """The log density of each pixel without each slot, the others' masks filling its place: (B, K, 1, H, W)."""
    return _others(guess.by_slot) - _others(guess.log_masks)


def _others(logs: Tensor) -> Tensor:
    """log of the sum over all slots but one, for each: (B, K, ...).

    From sums of those before and of those behind it: a difference from the sum of all would be lost where a slot is
    nearly all of it.
    """
    slots = logs.unbind(1)
    before, behind = (list(accumulate(row[:-1], torch.logaddexp)) for row in (slots, slots[::-1]))
    between = map(torch.logaddexp, before[:-1], behind[-2::-1])
    return torch.stack([behind[-1], *between, before[-1]], dim=1)


def _normed(values: Tensor, dimensions: int) -> Tensor:
    """Layer norm over the last dimensions, with nothing to learn."""
    return F.layer_norm(values, values.shape[-dimensions:])
