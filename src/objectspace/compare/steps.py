"""A step to be timed: forward, backward, clipping, the optimisers, or inference; random images, all else real."""

import time
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from objectspace.compare.regimes import regime
from objectspace.config import ModelConfig
from objectspace.models import create
from objectspace.recipes.recipe import Training
from objectspace.training import optimisers

LATE = 50_000  # the step whose annealed values are used: all priors at their ends, SPACE's boundary loss on


def random_images(batch: int, size: tuple[int, int]) -> Tensor:
    """Images (B, 3, H, W) in [0, 1], the same each time."""
    return torch.rand(batch, 3, *size, generator=torch.Generator().manual_seed(0))


def model_step(config: ModelConfig) -> Callable[[int], None]:
    """A function that trains a fresh model for one step by its own recipe, on a batch of so many images."""
    own = regime(config.kind)
    anneal, training = own.anneal, own.training
    model, stage = create(config, anneal).train(), anneal.at(LATE)
    generator = torch.Generator().manual_seed(1)

    def loss(images: Tensor) -> Tensor:
        output: Tensor = model(images, stage, sample=True, generator=generator).loss
        return output

    update = stepper(loss, model.parameter_groups(), training)
    return lambda batch: update(random_images(batch, config.image_size))


def model_inference(config: ModelConfig) -> Callable[[int], None]:
    """A function that infers and draws a batch of so many images by a fresh model, at the posterior means."""
    anneal = regime(config.kind).anneal
    model, stage = create(config, anneal).eval(), anneal.at(LATE)

    def infer(batch: int) -> None:
        with torch.no_grad():
            model(random_images(batch, config.image_size), stage, sample=False)

    return infer


def stepper(
    loss: Callable[[Tensor], Tensor], groups: Mapping[str, list[nn.Parameter]], training: Training
) -> Callable[[Tensor], None]:
    """A function that does one training step on images (B, C, H, W), with the optimisers of the recipe's section."""
    built = {name: optimisers.build(getattr(training, name), group) for name, group in groups.items()}
    parameters = [parameter for group in groups.values() for parameter in group]

    def step(images: Tensor) -> None:
        for optimiser in built.values():
            optimiser.zero_grad()
        torch.autograd.backward(loss(images).mean())
        nn.utils.clip_grad_norm_(parameters, training.clip)
        for optimiser in built.values():
            optimiser.step()

    return step


def seconds_of(action: Callable[[], None]) -> float:
    """How long something takes."""
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun
