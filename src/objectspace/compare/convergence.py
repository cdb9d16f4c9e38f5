"""How fast models learn: pixel error on held-out images against the time spent on training.

Each model learns by its own recipe (`regimes.py`), and the error is that of its soft reconstruction, as in the paper.
Every run is an ordinary run directory of `objectspace train`, trained in slices of time. All runs take a slice in turn,
so that whatever else the machine does meets all of them alike; after each slice the run's weights are measured, which
does not count as training. The same command again goes on where it was stopped, and finished runs are not touched.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from objectspace.compare.candidates import Candidate
from objectspace.compare.machine import available_memory, is_out_of_memory, memory_limited
from objectspace.compare.regimes import in_its_regime, regime
from objectspace.config import Stage
from objectspace.data.dataset import Dataset, splits_of
from objectspace.errors import UserError
from objectspace.io.files import read_json, write_json
from objectspace.io.keys import by_new_names
from objectspace.models import create, load
from objectspace.models.base import SceneModel
from objectspace.models.inputs import prepare
from objectspace.models.parts.pictures import evaluating, swap
from objectspace.recipes import files as recipe_files
from objectspace.recipes.recipe import Recipe
from objectspace.scene import Picture
from objectspace.training.loop import DivergedError
from objectspace.training.run import RunOptions, train

FOREGROUND_RATE = 1e-4
MEASURED = "soft reconstruction at the posterior means"  # what squared errors are of
STEPS = 10_000_000  # never reached: time ends these runs
NEAR = 1.1  # a run has arrived when its error is within this factor of the best one at the end
BATCH = 4  # images taken apart at a time: models of many components need much memory for each
ROOM = 0.9  # of the free memory that a run may take
ON_DISK = "looks"  # what earlier versions called validations: their directories are continued
SHORT = 0.05  # by how much of a slice a turn may fall short: opening the data takes some of it

Say = Callable[[str], None]


@dataclass(frozen=True)
class Run:
    """One model that learns."""

    candidate: Candidate
    recipe: Recipe
    out: Path  # of the whole comparison

    @property
    def name(self) -> str:
        return f"{self.candidate.model}-grid{self.candidate.grid}-seed{self.recipe.training.seed}"

    @property
    def folder(self) -> Path:
        """The run directory."""
        return self.out / "runs" / self.name

    @property
    def measured(self) -> Path:
        """The file of what was measured."""
        return self.out / ON_DISK / f"{self.name}.json"


@dataclass(frozen=True, eq=False)
class Trial:
    """What all runs have in common."""

    data: Path
    images: Dataset  # held out
    minutes: float  # of training for each run
    turns: int = 20  # slices of that time, with a validation after each
    count: int = 64  # images that it is made on


@dataclass(frozen=True)
class Validation:
    """What a run had reached."""

    step: int
    seconds: float  # of training
    squared_error: float  # of the soft reconstruction, summed over an image, a mean over the held-out images


@dataclass(frozen=True)
class Curve:
    """A run's validations, rising in time."""

    candidate: Candidate
    validations: tuple[Validation, ...]
    failure: str | None = None  # why it did not go on to the end

    @property
    def final(self) -> Validation | None:
        return self.validations[-1] if self.validations else None

    def minutes_to(self, error: float) -> float | None:
        """When the squared error was first at or below `error`."""
        return next((each.seconds / 60 for each in self.validations if each.squared_error <= error), None)


def recipe_for(candidate: Candidate, batch: int, seed: int) -> Recipe:
    """The model in its own regime: schedules, optimisers and clipping are those of its own recipe.

    But for one thing, which the paper says of its convergence plots: SPACE's foreground, too, has a rate of 1e-4.
    """
    own = regime(candidate.config.kind)
    training = own.training.model_copy(
        update={
            "steps": STEPS,
            "validate_every": STEPS,
            "batch": batch,
            "seed": seed,
            "foreground": own.training.foreground.model_copy(update={"rate": FOREGROUND_RATE}),
        }
    )
    return Recipe(
        about=f"convergence of {candidate.model}, capacity {candidate.config.capacity}",
        source="objectspace compare convergence",
        model=in_its_regime(candidate.config),
        anneal=own.anneal,
        training=training,
    )


def held_out(data: Path, size: int) -> Dataset:
    """The images that the error is measured on: split val, or else test; training images would flatter."""
    splits = splits_of(data)
    if "train" not in splits:
        Dataset(data, "train")  # says what is wrong
    name = next((split for split in ("val", "test") if split in splits), None)
    if name is None:
        raise UserError(f"{data} has no split val or test, so nothing is held out: make it with one of them")
    return Dataset(data, name, size)


def race(runs: Sequence[Run], trial: Trial, say: Say) -> list[Curve]:
    """Train all runs for as long as the trial says, in turns, and measure each after every turn."""
    images = [trial.images.images[number] for number in range(min(trial.count, len(trial.images)))]
    for run in runs:
        _refuse_changes(run, trial)
    failures: dict[str, str] = {}
    for turn in range(trial.turns + 1):
        for run in runs:
            if run.name in failures:
                continue
            try:
                with memory_limited(int(ROOM * available_memory())):
                    _advance(run, trial, turn, images)
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                failures[run.name] = "out of memory"
            except DivergedError as error:
                failures[run.name] = f"failed: {error}"
            say(f"turn {turn}/{trial.turns}  {run.name}: {failures.get(run.name) or _reached(run)}")
    return [replace(curve_of(run), failure=failures.get(run.name)) for run in runs]


def _reached(run: Run) -> str:
    last = curve_of(run).validations[-1]
    return f"{last.seconds / 60:.1f} min, step {last.step}, squared error {last.squared_error:.1f}"


def curve_of(run: Run) -> Curve:
    """What is known about a run."""
    known = read_json(run.measured)[ON_DISK] if run.measured.exists() else []
    return Curve(run.candidate, tuple(Validation(**by_new_names(each)) for each in known))


def targets(curves: Sequence[Curve]) -> dict[int, float]:
    """For each grid, the error at which a run has arrived."""
    best: dict[int, float] = {}
    for curve in curves:
        if curve.final is not None:
            grid = curve.candidate.grid
            best[grid] = min(best.get(grid, math.inf), curve.final.squared_error)
    return {grid: NEAR * error for grid, error in best.items()}


def soft_error(model: SceneModel, images: Sequence[Picture], stage: Stage) -> float:
    """The squared error of what the forward pass draws, summed over an image; a mean over images.

    At the posterior means, every cell present as much as it is: the paper's pixel error. That of a `Scene`, which has
    only objects above a threshold that are worth their price, is another, which tables have.
    """
    config, like, errors = model.config, next(model.parameters()), list[float]()
    with evaluating(model):
        for start in range(0, len(images), BATCH):
            some = [
                prepare(image, config.image_size, start + n).image for n, image in enumerate(images[start:][:BATCH])
            ]
            output = model(swap(config, torch.stack(some).to(like)), stage, sample=False)
            errors += (output.reconstruction - output.target).square().flatten(1).sum(1).tolist()
    return float(np.mean(errors))


def _advance(run: Run, trial: Trial, turn: int, images: Sequence[Picture]) -> None:
    """Train a run until it has had its turns, and measure it there if that has not been done."""
    if not curve_of(run).validations:
        fresh = create(run.recipe.model, run.recipe.anneal, run.recipe.training.seed).eval()
        _note(run, trial, Validation(0, 0.0, soft_error(fresh, images, run.recipe.anneal.at(0))))
    step, seconds = _state(run.folder)
    piece = 60 * trial.minutes / trial.turns
    while seconds < piece * (turn - SHORT):
        options = RunOptions(trial.data, run.folder, resume=True, minutes=(piece * turn - seconds) / 60)
        if train(run.recipe, options, say=_silence)["ended"] == "stopped":
            raise KeyboardInterrupt
        step, seconds = _state(run.folder)
    if step > curve_of(run).validations[-1].step:
        model, stage = load(run.folder / "model"), run.recipe.anneal.at(step)
        _note(run, trial, Validation(step, seconds, soft_error(model, images, stage)))


def _state(folder: Path) -> tuple[int, float]:
    """The steps and seconds that a run has been trained for."""
    path = folder / "summary.json"
    state = read_json(path)["state"] if path.exists() else {"step": 0, "seconds": 0.0}
    return int(state["step"]), float(state["seconds"])


def _note(run: Run, trial: Trial, reached: Validation) -> None:
    try:
        write_json(run.measured, _identity(run, trial) | {ON_DISK: to_json(*curve_of(run).validations, reached)})
    except OSError as error:
        raise UserError(f"cannot write {run.measured}: {error}; mend that: the same command continues") from error


def to_json(*validations: Validation) -> list[dict[str, float]]:
    """Validations as files have them."""
    return [asdict(each) for each in validations]


def _identity(run: Run, trial: Trial) -> dict[str, Any]:
    """What must stay the same for a run to be continued."""
    data = {"data": str(trial.data.resolve()), "images": min(trial.count, len(trial.images))}
    return {"recipe": recipe_files.dump(run.recipe), "measure": MEASURED} | data


def _refuse_changes(run: Run, trial: Trial) -> None:
    if not run.measured.exists():
        return
    before, now = read_json(run.measured), _identity(run, trial)
    before["recipe"] = recipe_files.dump(recipe_files.parse(before["recipe"], str(run.measured)))  # by today's names
    changed = [name for name in now if before.get(name) != now[name]]
    if changed:
        raise UserError(
            f"{run.measured} was begun with another {' and '.join(changed)}: use the same options, or another --out"
        )


def _silence(line: str) -> None:
    """What single runs say of themselves, every few steps, would drown the comparison."""
