"""Where a run stands, and what it works on; saved to and restored from a checkpoint."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lightning_fabric import Fabric
from torch import Tensor, nn

from objectspace.data.dataset import Dataset
from objectspace.models.base import SceneModel
from objectspace.recipes import files as recipe_files
from objectspace.recipes.recipe import Recipe
from objectspace.training import checkpoint
from objectspace.training.distributed import on_rank_zero


@dataclass
class State:
    """Where a run stands, beyond weights and optimisers."""

    step: int = 0
    put_back: int = 0  # steps of phases that were done again
    seconds: float = 0.0
    processor: float = 0.0  # seconds that this process computed, which other work on the machine hardly changes
    skipped: int = 0
    skipped_in_a_row: int = 0
    best: float = -math.inf  # the highest val_ap of all validations, where boxes exist ...
    best_step: int = 0  # ... and its step
    measures: dict[str, float] = field(default_factory=dict)  # of the last validation
    lasting: dict[str, int] = field(default_factory=dict)  # for how many validations a collapse has shown
    warnings: dict[str, str] = field(default_factory=dict)  # those that hold, by name (`signs.py`)

    @property
    def clock(self) -> int:
        """Where the schedules stand: the steps, less those that were done again."""
        return self.step - self.put_back


@dataclass(frozen=True)
class Start:
    """One start of a run: everything the loop works on."""

    fabric: Fabric
    recipe: Recipe
    seed: int
    model: SceneModel
    objective: nn.Module  # the model with its loss, as Fabric wraps it
    optimisers: dict[str, Any]
    train: Dataset
    held_out: Dataset
    run: Path


def save(start: Start, state: State) -> None:
    """Write a checkpoint (the first process does, and with it its batch norms' averages)."""
    on_rank_zero(start.fabric, lambda: _write(start, state))


def restore(start: Start, saved: checkpoint.Checkpoint) -> State:
    """Put a checkpoint's weights and optimiser states in place."""

    def part(name: str) -> dict[str, Tensor]:
        return {
            key.removeprefix(f"{name}/"): value for key, value in saved.tensors.items() if key.startswith(f"{name}/")
        }

    start.model.load_state_dict(part("model"))
    for name, optimiser in start.optimisers.items():
        groups = optimiser.state_dict()["param_groups"]
        optimiser.load_state_dict(checkpoint.unflatten_optimiser(part(name), groups))
    return State(**saved.facts["state"])


def _write(start: Start, state: State) -> None:
    tensors = {f"model/{name}": tensor for name, tensor in start.model.state_dict().items()}
    for name, optimiser in start.optimisers.items():
        flat = checkpoint.flatten_optimiser(optimiser.state_dict())
        tensors |= {f"{name}/{key}": tensor for key, tensor in flat.items()}
    facts = {"seed": start.seed, "state": vars(state), "recipe": recipe_files.dump(start.recipe)}
    checkpoint.save(start.run / "checkpoints", checkpoint.Checkpoint(state.step, tensors, facts))
