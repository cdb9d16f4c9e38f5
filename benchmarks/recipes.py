"""How long recipes take: processor seconds of a training step in each phase, and the minutes that follow.

python -m benchmarks.recipes RECIPE ... --data DATA [--set model.wavefront=false] [--steps 3] [--threads 1]

A step in the middle of every phase, of a fresh model on training images: forward, backward, clipping, optimisers; the
median of some, after one that warms up, and after as many of the background's phase as `--first` says, so that there
are regions to learn from. Processor time hardly depends on what else the machine does; on quiet cores it is the time
that passes. Validation and start are not in it. Memory is what the process has held at the most.
"""

import argparse
import time
from pathlib import Path
from statistics import median

import numpy as np
import torch

from benchmarks.common import report
from objectspace.compare.machine import peak_memory
from objectspace.compare.steps import stepper
from objectspace.data.dataset import Dataset
from objectspace.models import create
from objectspace.recipes import files as recipe_files
from objectspace.recipes.recipe import Recipe
from objectspace.training.step import Objective


def middles(recipe: Recipe) -> dict[str, tuple[int, int]]:
    """The step in the middle of each phase, and how many steps the phase has."""
    phases: dict[str, list[int]] = {}
    for step in range(recipe.training.steps):
        phases.setdefault(recipe.anneal.phase_at(step) if recipe.phases else "all", []).append(step)
    return {name: (steps[len(steps) // 2], len(steps)) for name, steps in phases.items()}


def measure(name: str, changes: list[str], data: Path, steps: int, first: int) -> list[dict[str, object]]:
    """Rows of the table for one recipe."""
    recipe = recipe_files.load(name, changes)
    training, generator = recipe.training, torch.Generator().manual_seed(0)
    images = Dataset(data, "train", recipe.model.image_size, recipe.model.channels)
    model = create(recipe.model, recipe.anneal).train()
    objective, now = Objective(model, recipe.anneal), 0

    def loss(batch: torch.Tensor) -> torch.Tensor:
        value: torch.Tensor = objective(batch, now, generator)["loss"]
        return value

    step = stepper(loss, model.parameter_groups(), training)

    def take(number: int) -> float:
        chosen = np.random.default_rng(number).choice(len(images), training.batch)
        batch = torch.from_numpy(images.batch(chosen)).permute(0, 3, 1, 2) / 255
        begun = time.process_time()
        step(batch)
        return time.process_time() - begun

    rows: list[dict[str, object]] = []
    for phase, (middle, count) in middles(recipe).items():
        for now in range(first if phase == "background" else 0):
            take(now)
        now = middle
        seconds = median([take(number) for number in range(steps + 1)][1:])
        rows.append(
            {"recipe": name, "phase": phase, "steps": count, "seconds": seconds, "minutes": count * seconds / 60}
        )
    rows.append(
        {
            "recipe": name,
            "phase": f"whole, {peak_memory() / 1e9:.1f} GB",
            "steps": training.steps,
            "seconds": sum(float(str(row["seconds"])) * int(str(row["steps"])) for row in rows) / training.steps,
            "minutes": sum(float(str(row["minutes"])) for row in rows),
        }
    )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    rows: list[dict[str, object]] = []
    for name in arguments.recipes:
        rows += measure(name, arguments.set, arguments.data, arguments.steps, arguments.first)
    report("recipes", rows)


if __name__ == "__main__":
    main()
