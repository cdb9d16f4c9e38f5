"""The rungs of the ladder of backgrounds, weakest first: what each is, and what it makes of the data.

A rung is a fresh model of the recipe with another background, trained for a few cheap steps on the bound of background
and unknown alone, and measured on held-out images. Shapes: B images, C H W image.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from objectspace.config import Stage
from objectspace.data.dataset import Dataset
from objectspace.data.sampler import Sampler
from objectspace.models import create
from objectspace.models.base import SceneModel
from objectspace.models.parts.settings import SpaceBackgroundConfig
from objectspace.recipes.phases import UNKNOWN
from objectspace.recipes.recipe import Optimiser, Recipe
from objectspace.training import optimisers
from objectspace.training.ground import compact_regions

STILLS = (1, 8)
COMPONENTS = 5  # the paper's, for a recipe with fewer than two
IMAGES_A_STILL = 10  # with fewer a still would be one of the images
STRAY = 0.02  # share of a palette's pixels that are any component's
SLACK = 0.5  # nats: a pixel that misses so much is explained well enough for a background that has just begun
# How a rung learns, its steps in per cent.
RATE = Optimiser.model_validate({"name": "adam", "rate": 5e-3, "decay": "(1.0 -> 0.2):(50 -> 100)"})
WIDE = 4.0  # a rung begins with so many times its sigma
SHOWN = 2000  # training images that stills are started from, at most

OnStep = Callable[[int, float], None]  # called after every step, counted from 1, and its loss


@dataclass(frozen=True)
class Rung:
    """A background, in plain words and as a recipe says it."""

    name: str
    background: SpaceBackgroundConfig


@dataclass(frozen=True, eq=False)
class Result:
    """What a rung made of n held-out images."""

    rung: Rung
    log_pixel: Tensor  # (n, H, W) nats, at the posterior's means
    kl: Tensor  # (n,)
    bound: float  # nats a pixel, with the KL
    best: float  # nats that a pixel has if it is explained perfectly
    unexplained: NDArray[np.bool_]  # (n, H, W)
    compact: NDArray[np.bool_]  # (n, H, W) those of the unexplained pixels that may be objects

    @property
    def left(self) -> dict[str, float]:
        """The unexplained share of all pixels, and the share of it that is compact (1 where nothing is left)."""
        left = int(self.unexplained.sum())
        return {"unexplained": left / self.unexplained.size, "compact": int(self.compact.sum()) / left if left else 1.0}

    @property
    def room(self) -> float:
        """Nats a pixel that a perfect background would gain, outside of what may be objects."""
        return self._outside(self.best - SLACK - self._enough(), self.kl)

    def gain_over(self, weaker: "Result") -> float:
        """Nats a pixel by which this rung is better, outside of what may be objects: drawing those is no gain."""
        return weaker._outside(self._enough() - weaker._enough(), weaker.kl - self.kl)

    def _enough(self) -> Tensor:
        """The nats of pixels (n, H, W), those that are explained well enough being all alike."""
        return self.log_pixel.clamp(max=self.best - SLACK)

    def _outside(self, pixels: Tensor, images: Tensor) -> float:
        """The sum of values of pixels (n, H, W) outside of compact regions and of images (n,), a pixel."""
        pixels = pixels.masked_fill(torch.from_numpy(self.compact), 0)
        return float(pixels.double().sum() + images.double().sum()) / pixels.numel()

    def __str__(self) -> str:
        return (
            f"{self.rung.name}: bound {self.bound:.2f} nats a pixel, {self.left['unexplained']:.1%} of the pixels "
            f"unexplained, {self.left['compact']:.0%} of these in compact regions"
        )


def rungs(own: SpaceBackgroundConfig, images: int) -> list[Rung]:
    """The backgrounds to try, weakest first; with the widths of the recipe's `own`, for so many training images."""
    ways = {"flat": False, "plane": False, "palette": False, "stray": 0.0, "strong_decoder": False}
    plain = own.model_copy(update={"stills": 0, "still_things": "background", **ways})
    several = own.components if own.components > 1 else COMPONENTS
    stills = [count for count in STILLS if count == 1 or images >= IMAGES_A_STILL * count]
    return [
        Rung("one colour an image", plain.model_copy(update={"components": 1, "flat": True})),
        Rung("one plane of colour an image", plain.model_copy(update={"components": 1, "plane": True})),
        *(
            Rung(
                "one still" if count == 1 else f"{count} stills",
                plain.model_copy(update={"components": 0, "stills": count, "still_things": own.still_things}),
            )
            for count in stills
        ),
        Rung(
            f"{several} colours an image",
            plain.model_copy(update={"components": several, "palette": True, "stray": STRAY}),
        ),
        Rung("one smooth component", plain.model_copy(update={"components": 1})),
        Rung(f"{several} components", plain.model_copy(update={"components": several})),
        Rung("a strong decoder", plain.model_copy(update={"components": 1, "strong_decoder": True})),
    ]


def with_background(recipe: Recipe, background: SpaceBackgroundConfig) -> Recipe:
    """The recipe with that background, which it now fixes: there is nothing left to climb for."""
    model = recipe.model.model_copy(update={"background": background})
    training = recipe.training.model_copy(update={"ladder": 0})
    return recipe.model_copy(update={"model": model, "training": training})


def attempt(
    rung: Rung, recipe: Recipe, data: tuple[Dataset, Dataset], seed: int, device: torch.device, on_step: OnStep
) -> Result:
    """Train a rung on the first data set and measure it on the second; a pure function of all but `device`."""
    train_set, held_out = data
    model = create(with_background(recipe, rung.background).model, recipe.anneal, seed)
    model.start_from(_some(train_set, SHOWN), torch.Generator().manual_seed(seed))
    begin = recipe.anneal.at(0)
    sigma = rung.background.sigma_at(begin)
    stage = replace(begin, unknown=begin.unknown or UNKNOWN, background_sigma=sigma, background_only=True, warm=None)
    _train(model.to(device).train(), recipe, stage, train_set, seed, on_step)
    images = _some(held_out, recipe.training.validate_images)
    images = images.flip(1) if recipe.model.channels == "bgr" else images  # held-out images are in RGB
    return _measure(rung, model.eval(), images, stage, recipe.training.batch, seed)


def _train(model: SceneModel, recipe: Recipe, stage: Stage, dataset: Dataset, seed: int, on_step: OnStep) -> None:
    """Train the background alone for the ladder's steps."""
    assert stage.background_sigma is not None
    training, device = recipe.training, next(model.parameters()).device
    parameters = model.parameter_groups()["background"]
    optimiser = optimisers.build(RATE, parameters)
    sampler = Sampler(len(dataset), training.batch, seed)
    for step in range(training.ladder):
        optimisers.set_rate(optimiser, optimisers.rate_at(RATE, 100 * step // training.ladder))
        wide = replace(stage, background_sigma=stage.background_sigma * _widened(step / training.ladder))
        images = torch.from_numpy(dataset.batch(sampler.indices(step))).permute(0, 3, 1, 2)
        generator = torch.Generator(device=device).manual_seed(seed * 1_000_003 + step)
        loss = model(_floats(images, device), wide, generator=generator).loss.mean()
        optimiser.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_([each for each in parameters if each.grad is not None], training.clip)
        if torch.isfinite(norm):
            optimiser.step()
        on_step(step + 1, float(loss.detach()))


@torch.no_grad()
def _measure(rung: Rung, model: SceneModel, images: Tensor, stage: Stage, batch: int, seed: int) -> Result:
    """What a trained rung makes of bytes (n, C, H, W)."""
    device = next(model.parameters()).device
    generator = torch.Generator(device=device).manual_seed(seed)
    bounds, shares, kls = [], [], []
    for part in torch.split(images, batch):
        pixels = _floats(part, device)
        bounds.append(model(pixels, stage, generator=generator).elbo.double())
        output = model(pixels, stage, sample=False)
        shares.append(output.unexplained.cpu())
        kls.append(sum(output.kl.values(), torch.zeros(len(part), device=device)).cpu())
    unexplained = (torch.cat(shares) > 0.5).numpy()
    peak = (rung.background.sigma_at(stage) * math.sqrt(2 * math.pi)) ** -images.shape[1]  # density of a perfect pixel
    return Result(
        rung=rung,
        log_pixel=math.log(stage.unknown) - torch.cat(shares).log(),  # the share is unknown / density
        kl=torch.cat(kls),
        bound=float(torch.cat(bounds).mean()) / math.prod(images.shape[-2:]),
        best=math.log((1 - stage.unknown) * peak + stage.unknown),
        unexplained=unexplained,
        compact=np.stack([compact_regions(each) for each in unexplained]),
    )


def _widened(share: float) -> float:
    """The factor on sigma when a share of the steps is over: it falls to 1 in the first half.

    What is far from explained has no gradient beside the unknown: a rare ground would not be learned in a few steps.
    """
    return float(WIDE ** max(0.0, 1 - 2 * share))


def _some(dataset: Dataset, most: int) -> Tensor:
    """At most so many images, from all over a data set: bytes (n, C, H, W)."""
    numbers = np.linspace(0, len(dataset) - 1, min(len(dataset), most)).astype(np.int64)
    return torch.from_numpy(dataset.batch(numbers)).permute(0, 3, 1, 2)


def _floats(images: Tensor, device: torch.device) -> Tensor:
    return images.to(device).float() / 255
