"""A whole run: set up or resume, start again after a collapse, and leave weights with their history."""

import os
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lightning_fabric import Fabric
from lightning_fabric.strategies.ddp import DDPStrategy

from objectspace import recipe_files
from objectspace.config import Recipe
from objectspace.data.dataset import Dataset, splits_of
from objectspace.data.store import read_json, write_json
from objectspace.errors import UserError
from objectspace.models import create
from objectspace.training import checkpoint, optimisers
from objectspace.training.loop import Ended, Say, Start, State, restore, run_start
from objectspace.training.step import Objective

SPARE_BYTES = 500_000_000  # a run wants so much room on its disk: checkpoints, pictures, weights


@dataclass(frozen=True)
class Options:
    """What is not part of the recipe: where, how long, on what."""

    data: Path
    run: Path
    resume: bool = False
    minutes: float | None = None
    restarts: int = 0
    accelerator: str = "cpu"
    devices: int = 1
    nodes: int = 1
    precision: str = "32-true"


def train(recipe: Recipe, options: Options, say: Say) -> dict[str, Any]:
    """Train as the recipe says; gives the summary that is also written to RUN/summary.json."""
    deadline = time.monotonic() + 60 * options.minutes if options.minutes is not None else float("inf")
    fabric = _fabric(options)
    say = say if fabric.is_global_zero else _silence
    train_set, held_out = _open_data(recipe, options, say)
    saved = _prepare(recipe, options, say)
    failed = _failed_starts(options.run)
    while True:
        seed = int(saved.facts["seed"]) if saved else recipe.training.seed + len(failed)
        start = _start(recipe, fabric, seed, train_set, held_out, options.run)
        state = restore(start, saved) if saved else State()
        ended = run_start(start, state, deadline, fatal_collapse=len(failed) < options.restarts, say=say)
        if ended.collapse is None:
            return _finish(start, ended, failed)
        failed.append({"seed": seed, "collapse": ended.reason, "step": ended.state.step})
        say(f"seed {seed} collapsed ({ended.reason}) at step {ended.state.step}: starting again with seed {seed + 1}")
        saved = None
        _put_aside(start, failed)


def _silence(line: str) -> None:
    """What the processes other than the first say."""


def _fabric(options: Options) -> Fabric:
    several = options.devices * options.nodes > 1 or int(os.environ.get("WORLD_SIZE", "1")) > 1
    # A step in which no cell is chosen leaves the glimpse nets without a gradient.
    strategy = DDPStrategy(find_unused_parameters=True) if several else "auto"
    fabric = Fabric(
        accelerator=options.accelerator,
        devices=options.devices,
        num_nodes=options.nodes,
        precision=options.precision,  # type: ignore[arg-type]
        strategy=strategy,
    )
    fabric.launch()
    return fabric


def _open_data(recipe: Recipe, options: Options, say: Say) -> tuple[Dataset, Dataset]:
    """The training images, and those that the run is looked at on: val, or test, or else the training images."""
    splits = splits_of(options.data)
    train_set = Dataset(options.data, "train", recipe.model.image_size, recipe.model.channels)
    for problem in train_set.problems:
        say(f"left out: {problem}")
    other = next((split for split in ("val", "test") if split in splits), None)
    if other is None:
        say("there is no split val or test: the run is measured on training images")
        return train_set, train_set
    return train_set, Dataset(options.data, other, recipe.model.image_size, recipe.model.channels)


def _prepare(recipe: Recipe, options: Options, say: Say) -> checkpoint.Checkpoint | None:
    """Make the run directory, or check that it may be continued and find its newest checkpoint."""
    run = options.run
    text = recipe_files.dump(recipe)
    if not options.resume:
        if run.exists() and any(run.iterdir()):
            raise UserError(f"{run} is not empty: continue it with --resume, or give another --out")
        _check_room(run)
        (run / "recipe.toml").write_text(text, encoding="utf-8")
        return None
    if not (run / "recipe.toml").exists():
        raise UserError(f"there is no run in {run} to resume: leave --resume out to start one")
    _refuse_changes(recipe_files.load(run / "recipe.toml"), recipe)
    saved, complaints = checkpoint.load_newest(run / "checkpoints")
    for complaint in complaints:
        say(f"warning: {complaint}")
    say(f"going on from step {saved.step}" if saved else "there is no whole checkpoint: starting from step 0")
    return saved


def _check_room(run: Path) -> None:
    """Find out now, not after hours, that a run cannot be written."""
    try:
        run.mkdir(parents=True, exist_ok=True)
        probe = run / ".probe"
        probe.write_bytes(b"x" * 4096)
        probe.unlink()
        free = shutil.disk_usage(run).free
    except OSError as error:
        raise UserError(f"cannot write into {run}: {error}") from error
    if free < SPARE_BYTES:
        raise UserError(f"only {free / 1e6:.0f} MB are free for {run}: a run needs {SPARE_BYTES / 1e6:.0f} MB")


def _refuse_changes(before: Recipe, now: Recipe) -> None:
    old, new = _flat(before.model_dump(mode="json")), _flat(now.model_dump(mode="json"))
    changed = [key for key in new if old.get(key) != new[key]]
    if changed:
        listed = "; ".join(f"{key}: {old.get(key)!r} -> {new[key]!r}" for key in changed[:5])
        raise UserError(f"the recipe has changed since the run began ({listed}): use the old one, or start a new run")


def _flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


def _start(recipe: Recipe, fabric: Fabric, seed: int, train_set: Dataset, held_out: Dataset, run: Path) -> Start:
    model = create(recipe.model, recipe.anneal, seed)
    groups = model.parameter_groups()
    built = {name: optimisers.build(getattr(recipe.training, name), groups[name]) for name in groups}
    objective, *ready = fabric.setup(Objective(model, recipe.anneal), *built.values())
    objective.train()
    return Start(fabric, recipe, seed, model, objective, dict(zip(built, ready, strict=True)), train_set, held_out, run)


def _failed_starts(run: Path) -> list[dict[str, Any]]:
    path = run / "failed-starts.json"
    return list(read_json(path)["starts"]) if path.exists() else []


def _put_aside(start: Start, failed: list[dict[str, Any]]) -> None:
    """Remember a failed start and clear its checkpoints, so that the next begins anew."""
    if start.fabric.is_global_zero:
        write_json(start.run / "failed-starts.json", {"starts": failed})
        shutil.rmtree(start.run / "checkpoints", ignore_errors=True)
        (start.run / "metrics.jsonl").rename(start.run / f"metrics-seed{failed[-1]['seed']}.jsonl")
    start.fabric.barrier()


def _finish(start: Start, ended: Ended, failed: list[dict[str, Any]]) -> dict[str, Any]:
    summary = {
        "ended": ended.reason,
        "seed": start.seed,
        "failed_starts": failed,
        "state": asdict(ended.state),
        "steps": start.recipe.training.steps,
        "data": str(start.train.root),
    }
    if start.fabric.is_global_zero:
        start.model.save_pretrained(start.run / "model")
        write_json(start.run / "summary.json", summary)
    return summary
