"""Small SPAIRs for tests: every part of the real ones, a few channels wide."""

from typing import Any

import torch

from objectspace.models.spair import SequentialConfig, SequentialModel, SpairConfig, SpairPConfig
from oracle.small import SMALL_FOREGROUND, small_model

# The last group norm sees one pixel: with two channels a group it is nearly a step.
SMALL_SEQUENTIAL: dict[str, Any] = SMALL_FOREGROUND | {
    "glimpse_encoder": {"channels": (4, 4, 4, 4, 4, 6), "groups": (2, 2, 1, 2, 4, 1)}
}
SMALL_SINGLE: dict[str, Any] = {
    "dim": 3,
    "encoder_dim": 5,
    "encoder_channels": (3, 4, 4, 5),
    "decoder": {"channels": (6, 4, 4, 4, 4, 4), "groups": (3, 2, 1, 2, 2, 4)},
}
SMALL_PATCH: dict[str, Any] = {
    "dim": 3,
    "encoder": {"channels": (4, 4, 4, 6, 4), "groups": (2, 2, 1, 3, 2)},
    "decoder": {"channels": (6, 4, 4, 4, 4), "groups": (3, 2, 1, 2, 2)},
}


def small_spair(
    image_size: tuple[int, int] = (32, 32),
    grid: tuple[int, int] = (4, 4),
    foreground: dict[str, Any] | None = None,
    background: dict[str, Any] | None = None,
    **rest: Any,
) -> SpairConfig:
    return SpairConfig(
        image_size=image_size,
        foreground={**SMALL_SEQUENTIAL, "grid": grid, "glimpse": 8, **(foreground or {})},
        background={**SMALL_SINGLE, **(background or {})},
        **{"context_dim": 5, **rest},
    )


def small_spair_p(
    image_size: tuple[int, int] = (64, 64),
    grid: tuple[int, int] = (4, 4),
    foreground: dict[str, Any] | None = None,
    background: dict[str, Any] | None = None,
    **rest: Any,
) -> SpairPConfig:
    return SpairPConfig(
        image_size=image_size,
        foreground={**SMALL_SEQUENTIAL, "grid": grid, "glimpse": 8, **(foreground or {})},
        background={**SMALL_PATCH, **(background or {})},
        **{"context_dim": 5, **rest},
    )


def sequential_model(config: SequentialConfig, seed: int = 0, spread: float = 3.0) -> SequentialModel:
    """A model in float64 whose cells differ, and listen to one another, but not so much that rounding errors grow.

    On images of noise a box that moves by a hair sees something else, and tells its neighbour so: with random weights
    as large as `small_model` makes them a chain of cells is chaotic.
    """
    model = small_model(config, seed, spread)
    assert isinstance(model, SequentialModel)
    with torch.no_grad():
        model.foreground.context[0].weight.mul_(0.2)
    return model
