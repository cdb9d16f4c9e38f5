"""Small models for tests: every part of the real ones, a few channels wide."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from objectspace.config import Stage
from objectspace.models import create
from objectspace.models.parts.cells import Chosen
from objectspace.models.parts.grid import GridModel, GridOutput
from objectspace.models.parts.settings import GridConfig, InitConfig
from objectspace.models.space import SpaceConfig

SMALL_FOREGROUND: dict[str, Any] = {
    "what_dim": 3,
    "encoder": {"channels": (4, 4, 4, 6, 6, 4), "groups": (2, 2, 1, 3, 2, 2)},
    "residual": {"channels": (4, 6), "groups": (2, 3)},
    "residual_encoder": {"channels": (6,), "groups": (2,)},
    "glimpse_encoder": {"channels": (4, 4, 4, 4, 4, 6), "groups": (2, 2, 1, 2, 4, 3)},
    "glimpse_decoder": {"channels": (6, 4, 4, 4), "groups": (3, 2, 1, 2)},
}
SMALL_BACKGROUND: dict[str, Any] = {
    "mask_dim": 3,
    "component_dim": 4,
    "encoder_dim": 5,
    "hidden": 6,
    "encoder_channels": (3, 4, 4, 5),
    "mask_decoder": {"channels": (6, 4, 4, 4, 4, 4), "groups": (3, 2, 1, 2, 2, 4)},
    "component_encoder_channels": (3, 4, 4, 5),
    "component_decoder_channels": (4, 3, 4, 3),
}


def small_config(
    image_size: tuple[int, int] = (32, 32),
    grid: tuple[int, int] = (4, 4),
    foreground: dict[str, Any] | None = None,
    background: dict[str, Any] | None = None,
    **rest: Any,
) -> SpaceConfig:
    return SpaceConfig(
        image_size=image_size,
        foreground={**SMALL_FOREGROUND, "grid": grid, "glimpse": 8, **(foreground or {})},
        background={**SMALL_BACKGROUND, "components": 3, **(background or {})},
        **rest,
    )


def small_model(config: GridConfig, seed: int = 0, spread: float = 3.0) -> GridModel:
    """A model in float64 whose cells differ: boxes of all sizes, near and far, present and absent."""
    model = create(config.model_copy(update={"init": InitConfig(heads="default")}), seed=seed).double()
    assert isinstance(model, GridModel)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype))
        for head in (model.foreground.heads.z_scale_net, model.foreground.heads.z_shift_net):
            head.weight.mul_(spread)
        for buffer in (module for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)):
            buffer.running_mean.normal_(0, 0.1, generator=generator)
            buffer.running_var.uniform_(0.5, 1.5, generator=generator)
    return model


def named(name: str) -> Callable[[str], str]:
    """What makes the message of a comparison say what was compared."""
    return lambda text: f"{name}: {text}"


def kept_cells(count: int, cells: int, share: float, generator: torch.Generator) -> Tensor | None:
    """The cells (B, N) left where a share is dropped: all of three images in ten, and of the others all but that."""
    if share == 0:
        return None
    draw = torch.rand(count, cells + 1, generator=generator)
    return torch.stack([torch.tensor([bool(row[0] >= 0.7) or bool(each >= share) for each in row[1:]]) for row in draw])


def looks_behind_first(stage: Stage) -> bool:
    """Whether the background is run before the objects, and draws its random numbers first."""
    return stage.own_background or stage.explained_prior is not None or stage.presence_by_evidence


def turns_of(count: int, cells: int, stage: Stage, chosen: Chosen, generator: torch.Generator) -> Tensor | None:
    """The numbers (B, N) by which absent cells are explored, where there are absent ones."""
    return torch.rand(count, cells, generator=generator) if stage.explored_cells and chosen.mask is not None else None


def present_cells(chosen: Chosen) -> Tensor | None:
    """The chosen cells (B, N) that are not only explored; None: all."""
    if chosen.mask is None or chosen.explored is None:
        return chosen.mask
    return chosen.mask.flatten().index_fill(0, chosen.flat[chosen.explored], False).view_as(chosen.mask)


def weighed_and_taught(output: GridOutput) -> dict[str, Tensor]:
    """The cells (B, N) that are decoded, and what presence is taught (B,), zero where it is not."""
    cells, chosen = output.foreground.cells.presence, output.foreground.objects.chosen
    nothing = torch.zeros_like(output.log_likelihood)
    return {
        "weighed": torch.ones_like(cells, dtype=torch.bool) if chosen.mask is None else chosen.mask,
        "taught": output.penalties.get("presence_by_evidence", nothing),
    }


def random_images(count: int, size: tuple[int, int], seed: int) -> Tensor:
    return torch.rand(count, 3, *size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
