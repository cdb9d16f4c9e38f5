"""The trainings of an item: ordinary run directories, trained as far as the given minutes go.

A run that has weights and has finished is left as it is. One that was stopped goes on from its last checkpoint. A new
one gets a schedule that fits its minutes, as long as that is not too short; what is then cut off is said to be.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np
import torch

from objectspace.compare.machine import is_out_of_memory
from objectspace.compare.steps import seconds_of
from objectspace.data.dataset import Dataset
from objectspace.errors import UserError
from objectspace.io.files import read_json, write_json
from objectspace.models import create
from objectspace.paper.findings import FINISHED, Model
from objectspace.paper.fitting import LEAST, shortened
from objectspace.paper.place import Place, has_weights
from objectspace.recipes import files as recipe_files
from objectspace.recipes.recipe import Recipe
from objectspace.training.loop import DivergedError
from objectspace.training.run import RunOptions, train
from objectspace.training.step import Objective

PROBED = (0.1, 0.35, 0.6, 0.85)  # of a schedule
FAILED = "failed.json"  # in a run that cannot go on, with the reason
PATIENCE = 1.25  # how much longer than foreseen a training may take before it is cut off
Say = Callable[[str], None]


@dataclass(frozen=True)
class Training:
    """A model with a seed."""

    model: Model
    seed: int
    full: bool

    @property
    def name(self) -> str:
        return self.model.run_name(self.seed, self.full)

    @property
    def changes(self) -> list[str]:
        """What `--set` would say."""
        own = self.model.paper_changes if self.full else self.model.changes
        return [*own, f"training.seed={self.seed}"]

    def recipe(self) -> Recipe | None:
        """Its recipe; None where this version has none of that name."""
        name = self.model.recipe_name(self.full)
        there = name in recipe_files.shipped() or Path(name).is_file()
        return recipe_files.load(name, self.changes) if there else None

    def command(self, data: Path) -> str:
        """The training as a user would type it."""
        sets = "".join(f" --set {change}" for change in self.changes)
        return f"objectspace train {self.model.recipe_name(self.full)} --data {data.name} --out {self.name}{sets}"


def trainings_of(models: Sequence[Model], seeds: int, full: bool) -> list[Training]:
    """Each model with each seed, all models with the first seed before the second."""
    return [Training(model, seed, full) for seed in range(seeds) for model in models]


def failure_of(run: Path) -> str | None:
    """Why a run ended without weights, and will not go on."""
    return str(read_json(run / FAILED)["failure"]) if (run / FAILED).exists() else None


def is_done(training: Training, place: Place) -> bool:
    """Whether there is nothing left to train."""
    run = place.run(training.name)
    if place.is_brought(run) or failure_of(run) is not None:
        return True
    return has_weights(run) and read_json(run / "summary.json").get("ended") == FINISHED


def carry_out(training: Training, place: Place, minutes: float | None, say: Say) -> None:
    """Train until the end of the schedule or of the minutes; what goes wrong is kept as the run's failure."""
    recipe = training.recipe()
    if recipe is None or is_done(training, place):
        return
    run, data = place.run(training.name), place.data(training.model.data + ("-full" if training.full else ""))
    try:
        chosen, limit = _plan(training, recipe, run, data, minutes, say)
        summary = train(chosen, RunOptions(data, run, resume=True, minutes=limit), say)
    except DivergedError as error:
        _give_up(run, str(error), say, training)
        return
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        _give_up(run, "out of memory", say, training)
        return
    if summary["ended"] == "stopped":
        raise KeyboardInterrupt
    say(f"{training.name}: {summary['ended']} at step {summary['state']['step']} of {summary['steps']}")


def _plan(
    training: Training, recipe: Recipe, run: Path, data: Path, minutes: float | None, say: Say
) -> tuple[Recipe, float | None]:
    """The recipe that is trained, and the minutes after which it is cut off."""
    begun = (run / "recipe.toml").exists()
    chosen = recipe_files.load_run(run) if begun else recipe
    if minutes is None:
        say(f"{training.name}: {chosen.training.steps} steps, {'going on' if begun else 'the whole schedule'}")
        return chosen, None
    if begun:
        say(f"{training.name}: going on for {minutes:.1f} minutes at the most")
        return chosen, minutes
    needed = chosen.training.steps * seconds_a_step(chosen, data) / 60
    factor = min(1.0, 0.9 * minutes / needed)
    if factor == 1:
        say(f"{training.name}: the whole schedule, about {needed:.0f} of {minutes:.0f} minutes")
    elif factor >= LEAST:
        say(
            f"{training.name}: its schedule of about {needed:.0f} minutes is shortened to {factor:.0%} to fit "
            f"{minutes:.0f}"
        )
    else:
        say(
            f"{training.name}: {minutes:.1f} minutes are too few for its schedule of about {needed:.0f}: shortened to "
            f"{LEAST:.0%}, it will be cut off; the same command goes on with it"
        )
    return shortened(chosen, max(factor, LEAST)), minutes * PATIENCE if factor >= LEAST else minutes


def seconds_a_step(recipe: Recipe, data: Path) -> float:
    """How long a step takes now: a mean over the schedule, of a fresh model on images of the data."""
    training, seed = recipe.training, recipe.training.seed
    train_set = Dataset(data, "train", recipe.model.image_size, recipe.model.channels)
    images = torch.from_numpy(train_set.batch(np.arange(training.batch) % len(train_set))).permute(0, 3, 1, 2)
    model = create(recipe.model, recipe.anneal, seed).train()
    model.start_from(images, torch.Generator().manual_seed(seed))
    objective, motion = Objective(model, recipe.anneal), recipe.anneal.motion_prior is not None
    hint = torch.zeros(len(images), *recipe.model.image_size) if motion else None

    def step(share: float) -> None:
        loss = objective(images / 255, int(share * training.steps), torch.Generator().manual_seed(0), hint)["loss"]
        if loss.requires_grad:
            torch.autograd.backward(loss.mean())

    step(PROBED[-1])  # the first step of a process is slower
    return mean(seconds_of(lambda share=share: step(share)) for share in PROBED)  # type: ignore[misc]


def _give_up(run: Path, failure: str, say: Say, training: Training) -> None:
    say(f"{training.name} failed: {failure}")
    try:
        write_json(run / FAILED, {"failure": failure, "date": time.strftime("%Y-%m-%d")})
    except OSError as error:
        raise UserError(f"cannot write into {run}: {error}") from error
