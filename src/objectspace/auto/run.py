"""`objectspace train auto`: plan, train, judge.

    RUN/auto.json      what was seen, what was chosen and why, how it went
    RUN/looked.png     some pictures, what the background leaves of them, what was taken for objects
    RUN/data           links to the pictures, as a data set of ours

    RUN/second         if the first try was not good, and there was time: another one, with another background

All else is an ordinary run (`training/loop.py`), which goes on with `resume` and whose weights are in RUN/model.
"""

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

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
AGAIN = 0.3  # of the time must be left for another try
SECOND = "second"  # the directory of that, in the run's
RANKS = ("failed", "doubtful", "good")


@dataclass(frozen=True)
class AutoOptions:
    """What may be said; everything else is found out."""

    data: Path
    run: Path
    minutes: float | None = None  # None: until the plan is through, at most 45
    changes: tuple[str, ...] = ()
    resume: bool = False
    explain: bool = False  # look and choose, and do not train


@dataclass(frozen=True)
class Judged:
    """How weights turned out."""

    verdict: Verdict
    seen: judging.Measures
    bound: float  # nats, of held-out images
    place: str = "."  # in the run, where they were trained

    @property
    def rank(self) -> tuple[int, float]:
        """The better, the higher: the verdict's word, then the bound."""
        return RANKS.index(self.verdict.word), self.bound


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
    judged = _judged(options.run, recipe, record)
    say(f"verdict: {judged.verdict}")
    left = 60 * minutes - (time.monotonic() - begun)
    if judged.verdict.word != "good" and left > AGAIN * 60 * minutes and record["others"]:
        judged = _again(options, record, judged, left, say)
    summary |= {"verdict": judged.verdict.to_dict()}
    record |= {"verdict": judged.verdict.to_dict(), "measures": asdict(judged.seen), "model": judged.place}
    with writing(options.run):
        write_json(options.run / RECORD, record)
        write_json(options.run / "summary.json", summary)
    return summary


def _again(options: AutoOptions, record: dict[str, Any], before: Judged, seconds: float, say: Say) -> Judged:
    """Train with the next best background in RUN/second, and keep the better weights in RUN/model."""
    place = options.run / SECOND
    say(f"there is time for another try, with another background: {place}")
    recipe = planning.with_background(
        record["table"], record["others"][0], seconds, record["seconds_a_step"], options.changes
    )
    if (place / "recipe.toml").exists():  # begun before
        recipe = recipe_files.load_run(place)
    summary = run_training(recipe, RunOptions(options.run / "data", place, True, seconds / 60), say)
    if summary["ended"] == "stopped":
        return before
    judged = _judged(place, recipe, record)
    say(f"verdict on the other try: {judged.verdict}")
    if judged.rank <= before.rank:
        say("the first one stays")
        return before
    with writing(options.run):
        for path in (place / "model").iterdir():
            write_atomically(options.run / "model" / path.name, path.read_bytes())
    say(f"the other one is better: {options.run / 'model'} is now that of {place}")
    return replace(judged, place=SECOND)


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
        "table": plan.table,
        "others": list(plan.others),
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
        values = recipe.model_dump(mode="json")
        for key, reason in plan.reasons.items():
            value = _at(values, key)
            say(f"  {key}: {reason}" if isinstance(value, dict) else f"  {key} = {value}: {reason}")
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


def _judged(run: Path, recipe: Recipe, record: dict[str, Any]) -> Judged:
    """The verdict on the weights of a run."""
    model = from_pretrained(run / "model")
    assert isinstance(model, GridModel)
    data = run / "data" if (run / "data").exists() else run.parent / "data"
    held_out = Dataset(data, "val", recipe.model.image_size, view=recipe.model.view)
    count = min(JUDGED, len(held_out))
    images = held_out.batch(np.linspace(0, len(held_out) - 1, count).astype(np.int64))
    scenes = model.seeing().decompose(list(images), pictures=False, background=False)
    before = _earlier(run, model)
    earlier = None if before is None else before.seeing().decompose(list(images), pictures=False, background=False)
    limit = model.config.foreground.budget or model.config.cells
    left, shown = background_leaves(model, images, replace(model.final, background_only=True), recipe.training.batch)
    ground = [ground_pixels(each, image) for each, image in zip(left, shown, strict=True)]
    seen = judging.measure(scenes, earlier, record["regions"], limit, ground)
    with torch.no_grad():
        parts = torch.split(torch.from_numpy(images).permute(0, 3, 1, 2), recipe.training.batch)
        bounds = torch.cat([model(part.float() / 255, model.final, sample=False).elbo for part in parts])
    return Judged(judging.judge(seen, record["doubts"]), seen, float(bounds.mean()))


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
