"""`objectspace train auto`: plan, train, judge.

    RUN/auto.json      what was seen, what was chosen and why, how it went
    RUN/looked.png     some pictures, what the background leaves of them, what was taken for objects
    RUN/data           links to the pictures, as a data set of ours

All else is an ordinary run (`training/loop.py`), which goes on with `resume` and whose weights are in RUN/model.
"""

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from objectspace.auto import judge as judging
from objectspace.auto import plan as planning
from objectspace.auto.judge import Verdict
from objectspace.auto.plan import Plan
from objectspace.data.dataset import Dataset
from objectspace.errors import UserError
from objectspace.io.files import read_json, write_atomically, write_json
from objectspace.models.base import SceneModel
from objectspace.models.parts.grid import GridModel
from objectspace.models.pretrained import from_pretrained
from objectspace.recipes import files as recipe_files
from objectspace.recipes.recipe import Recipe
from objectspace.training import checkpoint
from objectspace.training.directory import writing
from objectspace.training.display import Say
from objectspace.training.ground import background_leaves, ground_pixels
from objectspace.training.run import RunOptions
from objectspace.training.run import train as run_training

RECORD = "auto.json"
MOST_MINUTES = 45.0
LEAST_SECONDS = 20.0  # of training, however long looking took
JUDGED = 48  # held-out images


@dataclass(frozen=True)
class AutoOptions:
    """What may be said; everything else is found out."""

    data: Path
    run: Path
    minutes: float | None = None  # None: until the plan is through, at most 45
    changes: tuple[str, ...] = ()
    resume: bool = False
    explain: bool = False  # look and choose, and do not train


def train(options: AutoOptions, say: Say) -> dict[str, Any]:
    """Look at pictures, train on them, judge the result; gives the summary that is also in RUN/summary.json."""
    begun = time.monotonic()
    minutes = MOST_MINUTES if options.minutes is None else options.minutes
    record = _planned(options, 60 * minutes, say)
    if options.explain:
        return {"ended": "explained"} | record
    recipe = recipe_files.load_run(options.run)
    left = max(LEAST_SECONDS, 60 * minutes - (time.monotonic() - begun))
    summary = run_training(recipe, RunOptions(options.run / "data", options.run, True, left / 60), say)
    if summary["ended"] == "stopped":
        return summary
    verdict, seen = _judged(options.run, recipe, record)
    say(f"verdict: {verdict}")
    summary |= {"verdict": verdict.to_dict()}
    with writing(options.run):
        write_json(options.run / RECORD, record | {"verdict": verdict.to_dict(), "measures": asdict(seen)})
        write_json(options.run / "summary.json", summary)
    return summary


def _planned(options: AutoOptions, seconds: float, say: Say) -> dict[str, Any]:
    """The record of a plan: of the run that goes on, or of one made now."""
    run = options.run
    if (run / "recipe.toml").exists():
        if not options.resume:
            raise UserError(f"{run} is not empty: continue its run with --resume, or give another --out")
        if not (run / RECORD).exists():
            raise UserError(f"the run in {run} was not begun by train auto: give the recipe that it was begun with")
        return read_json(run / RECORD)
    unfinished = {"data", RECORD, "looked.png", "ladder.json", "metrics.jsonl", "tensorboard"}  # of a plan cut short
    if run.exists() and any(path.name not in unfinished and path.name[0] != "." for path in run.iterdir()):
        raise UserError(f"{run} is not empty: give another --out")
    with writing(run):
        run.mkdir(parents=True, exist_ok=True)
        plan = planning.make(options.data, run, seconds, options.changes, say)
        record = _record(plan, options)
        write_json(run / RECORD, record)
        _tell(plan, options, say)
        if not options.explain:
            write_atomically(run / "recipe.toml", recipe_files.dump(plan.recipe).encode())
    return record


def _record(plan: Plan, options: AutoOptions) -> dict[str, Any]:
    recipe = plan.recipe.model_dump(mode="json")
    return {
        "data": str(options.data),
        "seen": asdict(plan.seen),
        "objects": asdict(plan.found),
        "chosen": {key: _at(recipe, key) for key in plan.reasons} | {"model.view": recipe["model"]["view"]},
        "reasons": dict(plan.reasons),
        "changes": list(options.changes),
        "phases": recipe["phases"],
        "seconds_a_step": {name: round(cost, 3) for name, cost in plan.cost.items()},
        "share_of_plan": round(plan.share, 3),
        "unexplained": plan.left,
        "regions": list(plan.regions),
        "doubts": list(plan.doubts),
    }


def _at(table: dict[str, Any], key: str) -> Any:
    value: Any = table
    for part in key.split("."):
        value = value[part]
    return value


def _tell(plan: Plan, options: AutoOptions, say: Say) -> None:
    """Say what was chosen, and now, rather than later, what cannot be reached."""
    recipe, phases = plan.recipe, plan.recipe.phases
    assert phases is not None
    height, width = recipe.model.image_size
    view = recipe.model.view
    how = f"tiles of pictures at {view.scale:g} times their size" if view.scale else "whole pictures"
    say(f"chosen: {width} x {height} pixels, {how}; {plan.reasons['model.background']}")
    if options.explain:
        for key, reason in plan.reasons.items():
            say(f"  {key}: {reason}")
    say(
        f"{phases.steps} steps: {phases.background} of the background, {phases.warm} of the first objects, "
        f"{phases.objects} of objects, {phases.sharpen} of both; see {options.run / 'looked.png'}"
    )
    if plan.share < 1:
        say(
            f"the time is for {plan.share:.0%} of the steps that such pictures want: expect rough edges"
            + ("; give more --minutes" if plan.share > 0.25 else ", or nothing usable; give more --minutes")
        )
    for doubt in plan.doubts:
        say(f"warning: {doubt}")


def _judged(run: Path, recipe: Recipe, record: dict[str, Any]) -> tuple[Verdict, judging.Measures]:
    """The verdict on the weights of a run."""
    model = from_pretrained(run / "model")
    assert isinstance(model, GridModel)
    held_out = Dataset(run / "data", "val", recipe.model.image_size, view=recipe.model.view)
    count = min(JUDGED, len(held_out))
    images = held_out.batch(np.linspace(0, len(held_out) - 1, count).astype(np.int64))
    scenes = model.seeing().decompose(list(images), pictures=False, background=False)
    before = _earlier(run, model)
    earlier = None if before is None else before.seeing().decompose(list(images), pictures=False, background=False)
    limit = model.config.foreground.budget or model.config.cells
    left, shown = background_leaves(model, images, replace(model.final, background_only=True), recipe.training.batch)
    ground = [ground_pixels(each, image) for each, image in zip(left, shown, strict=True)]
    seen = judging.measure(scenes, earlier, record["regions"], limit, ground)
    return judging.judge(seen, record["doubts"]), seen


def _earlier(run: Path, model: SceneModel) -> SceneModel | None:
    """The model one checkpoint before its last."""
    folder = run / "checkpoints"
    known = checkpoint.steps(folder)
    if len(known) < 2:
        return None
    try:
        saved = checkpoint.load(folder / f"{known[-2]:08d}")
    except (OSError, ValueError, KeyError):
        return None
    other = type(model)(model.config, model.final)
    other.load_state_dict(
        {key.removeprefix("model/"): value for key, value in saved.tensors.items() if key.startswith("model/")}
    )
    return other.eval()
