"""A whole run: set up or resume, start again after a collapse, and leave weights with their history."""

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric

from objectspace.data.dataset import Dataset, splits_of
from objectspace.io.files import write_json
from objectspace.models import create
from objectspace.recipes.recipe import Recipe
from objectspace.training import optimisers
from objectspace.training.directory import Failed, give_up, prepare, writing
from objectspace.training.display import Say
from objectspace.training.distributed import connect, on_rank_zero, share_of
from objectspace.training.ladder import settle
from objectspace.training.loop import Ended, run_start
from objectspace.training.precision import multiply_in_bfloat16
from objectspace.training.seen import note_seen, spread
from objectspace.training.state import Start, State, restore
from objectspace.training.step import Objective

DARK = 32  # of 255: images that are nowhere brighter are hardly images to a model
SHOWN = 2000  # training images that a fresh model is shown, at most


@dataclass(frozen=True)
class RunOptions:
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


def train(recipe: Recipe, options: RunOptions, say: Say) -> dict[str, Any]:
    """Train as the recipe says; gives the summary that is also written to RUN/summary.json."""
    deadline = time.monotonic() + 60 * options.minutes if options.minutes is not None else float("inf")
    fabric = connect(options.accelerator, options.devices, options.nodes, options.precision)
    say = say if fabric.is_global_zero else _silence
    share_of(recipe.training.batch, fabric.world_size)  # complains now rather than later
    train_set, held_out = _open_data_in_turn(fabric, recipe, options, say)
    saved, failed = on_rank_zero(fabric, lambda: prepare(options.run, recipe, options.resume, say))
    recipe = on_rank_zero(fabric, lambda: settle(options.run, recipe, train_set, held_out, say, fabric.device))
    with writing(options.run):
        while True:
            seed = recipe.training.seed + len(failed)
            start = _start(recipe, fabric, seed, train_set, held_out, options, fresh=saved is None)
            state = restore(start, saved) if saved else State()
            ended = run_start(start, state, deadline, fatal_collapse=len(failed) < options.restarts, say=say)
            if ended.collapse is None:
                return _finish(start, ended, failed)
            failed.append({"seed": seed, "collapse": ended.reason, "step": ended.state.step})
            say(f"seed {seed} collapsed ({ended.reason}) at step {ended.state.step}: starting again with {seed + 1}")
            saved = None
            on_rank_zero(fabric, lambda: give_up(options.run, failed))


def _silence(line: str) -> None:
    """What the processes other than the first say."""


def _open_data_in_turn(fabric: Fabric, recipe: Recipe, options: RunOptions, say: Say) -> tuple[Dataset, Dataset]:
    """Open the data; one process of each machine decodes the images, the others find them decoded."""
    if fabric.world_size == 1:
        return _open_data(recipe, options, say)
    on_rank_zero(fabric, lambda: [len(dataset) for dataset in _open_data(recipe, options, say)])
    with fabric.rank_zero_first(local=True):
        return _open_data(recipe, options, _silence)


def _open_data(recipe: Recipe, options: RunOptions, say: Say) -> tuple[Dataset, Dataset]:
    """The training images, and those that the run is validated on: val, or test, or else the training images."""
    splits, size = splits_of(options.data), recipe.model.image_size
    train_set = Dataset(options.data, "train", size, recipe.model.channels, recipe.model.view)
    for problem in train_set.problems:
        say(f"left out: {problem}")
    some = train_set.batch(spread(train_set, SHOWN // 20))
    if some.max() < DARK:
        say(
            f"warning: no training image is brighter than {some.max()} of 255, as where a camera uses 12 of 16 bits: "
            "set model.view.stretch (objectspace data info shows the depth)"
        )
    other = next((split for split in ("val", "test") if split in splits), None)
    if other is None:
        say("there is no split val or test: the run is measured on training images")
    # In RGB whatever the model reads: `decompose` swaps channels itself.
    return train_set, Dataset(options.data, other or "train", size, view=recipe.model.view)


def _start(
    recipe: Recipe,
    fabric: Fabric,
    seed: int,
    train_set: Dataset,
    held_out: Dataset,
    options: RunOptions,
    fresh: bool,
) -> Start:
    model = create(recipe.model, recipe.anneal, seed)
    if fresh:
        images = torch.from_numpy(train_set.batch(spread(train_set, SHOWN))).permute(0, 3, 1, 2)
        model.start_from(images, torch.Generator().manual_seed(seed))
    if options.precision == "bf16-mixed":
        multiply_in_bfloat16(model)
    groups = model.parameter_groups()
    built = {name: optimisers.build(getattr(recipe.training, name), groups[name]) for name in groups}
    objective, *ready = fabric.setup(Objective(model, recipe.anneal), *built.values())
    objective.train()
    by_name = dict(zip(built, ready, strict=True))
    return Start(fabric, recipe, seed, model, objective, by_name, train_set, held_out, options.run)


def _finish(start: Start, ended: Ended, failed: Failed) -> dict[str, Any]:
    summary = {
        "ended": ended.reason,
        "seed": start.seed,
        "failed_starts": failed,
        "state": asdict(ended.state),
        "steps": start.recipe.training.steps,
        "processes": start.fabric.world_size,
        "data": str(start.train.root),
        "warnings": ended.state.warnings,
    }

    def write_model() -> None:
        if ended.reason == "finished":  # who stops a run does not want to wait
            note_seen(start.model, start.train, start.seed)
        with writing(start.run):
            start.model.save_pretrained(start.run / "model")
            write_json(start.run / "summary.json", summary)

    on_rank_zero(start.fabric, write_model)
    return summary
