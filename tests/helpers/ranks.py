"""What `test_two_processes.py` lets each of several processes do: torchrun ... ranks.py RECIPE DATA OUT.

Every process leaves `OUT/rank<number>.json` with what it saw, and its weights and gradients beside it.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from helpers.commands import command
from objectspace.data.sampler import Sampler
from objectspace.errors import UserError
from objectspace.recipes.files import build, load
from objectspace.recipes.recipe import Recipe
from objectspace.training import batches, loop, run
from objectspace.training.distributed import connect, share_of
from objectspace.training.monitor import ADVICE, Watch
from objectspace.training.run import RunOptions, train
from objectspace.training.step import take_step

RANK = int(os.environ.get("RANK", "0"))


def gradients(recipe: Recipe, data: Path, out: Path) -> dict[str, torch.Tensor]:
    """The gradient of the first batch in float64, of posterior means and with batch norm's running averages."""
    fabric = connect("cpu", 1, 1, "64-true")
    options = RunOptions(data, out, precision="64-true")
    start = run._start(recipe, fabric, 0, *run._open_data(recipe, options, print), options, fresh=True)
    start.objective.eval()
    processes = fabric.world_size
    sampler = Sampler(len(start.train), share_of(recipe.training.batch, processes), 0, processes)
    images = batches.to_images(start.train, sampler, 0, fabric)
    take_step(fabric, start.objective, start.optimisers, images, 0, None, clip=float("inf"))
    found = {name: value.grad for name, value in start.model.named_parameters()}
    return {name: value.contiguous() for name, value in found.items() if value is not None}


def whole_run(recipe: Recipe, data: Path, out: Path) -> dict[str, Any]:
    """A run, of which every process keeps the weights it ends with."""
    finish = run._finish

    def keep(start: Any, *arguments: Any) -> dict[str, Any]:
        named = {name: value.detach().contiguous() for name, value in start.model.named_parameters()}
        save_file(named, out / f"weights{RANK}.safetensors")
        return finish(start, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "_finish", keep)
        return train(recipe, RunOptions(data, out / "whole"), print)


def signal_to_the_last(recipe: Recipe, data: Path, out: Path) -> dict[str, Any]:
    """A run in which only the last process gets a signal, in its third step."""

    def interrupted(*arguments: Any) -> Any:
        if RANK > 0 and arguments[4] == 2:
            signal.raise_signal(signal.SIGTERM)
        return take_step(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "take_step", interrupted)
        return train(recipe, RunOptions(data, out / "signal"), print)


def clocks_apart(recipe: Recipe, data: Path, out: Path) -> dict[str, Any]:
    """A run whose time is up for the first process only."""
    return train(recipe, RunOptions(data, out / "late", minutes=1e-4 if RANK == 0 else 1e4), print)


def collapse_of_the_first(recipe: Recipe, data: Path, out: Path) -> dict[str, Any]:
    """A run that collapses at its first validation, as the first process sees it: nobody else checks."""

    def check(self: Watch, step: int, seen: Any) -> list[Any]:
        assert RANK == 0
        return [ADVICE["all-background"]]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Watch, "check", check)
        return train(recipe, RunOptions(data, out / "collapse", restarts=1), print)


def refused(recipe: Recipe, data: Path, out: Path) -> str:
    """What every process is told when the run cannot be made."""
    try:
        train(recipe, RunOptions(data, out / "refused"), print)
    except UserError as error:
        return str(error)
    return ""


def resume(recipe_file: str, data: str, run: Path) -> None:
    """`objectspace train ... --resume` of a run that a command began and a signal stopped."""
    command("train", recipe_file, "--data", data, "--out", run, "--resume")


def main(recipe_file: str, data: str, out: str) -> None:
    recipe, where = load(recipe_file), (Path(data), Path(out))
    content = recipe.model_dump(mode="json")
    odd = build(content | {"training": content["training"] | {"batch": 3}}, "odd")
    (where[1] / "refused").mkdir(exist_ok=True)
    (where[1] / "refused" / "precious").write_text("")
    report = {
        "whole": whole_run(recipe, *where),
        "signal": signal_to_the_last(recipe, *where),
        "late": clocks_apart(recipe, *where),
        "collapse": collapse_of_the_first(recipe, *where),
        "odd": refused(odd, *where),
        "refused": refused(recipe, *where),
    }
    resume(recipe_file, data, where[1] / "torn")
    save_file(gradients(recipe, *where), where[1] / f"gradients{RANK}.safetensors")
    (where[1] / f"rank{RANK}.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
