"""One optimiser for each part of a model, with rates that follow the recipe."""

from collections.abc import Iterable, Mapping

from torch import nn
from torch.optim import Adam, AdamW, Optimizer, RMSprop

from objectspace.recipes.recipe import Optimiser as Config

KINDS: Mapping[str, type[Adam] | type[AdamW]] = {"adam": Adam, "adamw": AdamW}


def build(config: Config, parameters: Iterable[nn.Parameter]) -> Optimizer:
    """The optimiser that the recipe asks for."""
    if config.name == "rmsprop":
        return RMSprop(parameters, lr=config.rate)
    return KINDS[config.name](parameters, lr=config.rate, betas=(config.beta1, 0.999))


def rate_at(config: Config, step: int) -> float:
    """The learning rate at a step, counted from 0: warm-up times decay times the rate."""
    warm = min(1.0, (step + 1) / config.warmup) if config.warmup else 1.0
    return config.rate * warm * config.decay.at(step)


def set_rate(optimiser: Optimizer, rate: float) -> None:
    """Use this learning rate from now on."""
    for group in optimiser.param_groups:
        group["lr"] = rate
