"""`objectspace train`: a recipe and a data set in, a run directory with weights out."""

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from objectspace.errors import UserError
from objectspace.plugins import loaded_files
from objectspace.recipes import files as recipe_files

AUTO = "auto"
TIME_TO_SPEAK = 2.0  # seconds: torchrun ends all processes when one has left, and the first has an error to print


def train(
    recipe: Annotated[
        str,
        typer.Argument(help="A recipe's name, or a .toml file: see `objectspace recipes`. auto: by the pictures."),
    ],
    data: Annotated[Path, typer.Option(help="The data set; for auto also a folder of pictures.")],
    out: Annotated[Path, typer.Option(help="The run's directory.")],
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Change a value: phases.size=0.2. May be repeated.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run.")] = False,
    minutes: Annotated[
        float | None,
        typer.Option(min=0, help="Stop cleanly after so many minutes; auto takes 45 at the most without it."),
    ] = None,
    restarts: Annotated[
        int, typer.Option(min=0, help="After a collapse, start again from another seed; not with auto.")
    ] = 0,
    accelerator: Annotated[
        str, typer.Option(help="cpu, cuda, mps or auto; this and what follows is not for train auto.")
    ] = "cpu",
    devices: Annotated[int, typer.Option(min=1, help="Devices, or processes, on this machine.")] = 1,
    nodes: Annotated[int, typer.Option(min=1, help="Machines.")] = 1,
    precision: Annotated[str, typer.Option(help="32-true, bf16-mixed or 64-true.")] = "32-true",
    explain: Annotated[bool, typer.Option("--explain", help="Of auto: say what it would choose and why.")] = False,
) -> None:
    """Train a model on a data set. `train auto` looks at pictures, chooses everything, trains and judges itself."""
    if recipe == AUTO:
        defaults = (restarts, accelerator, devices, nodes, precision) == (0, "cpu", 1, 1, "32-true")
        _train_auto(data, out, changes or (), resume, minutes, explain, defaults)
        return
    if explain:
        raise UserError(f"--explain is for `train auto`; what {recipe} says, `objectspace recipes show` prints")
    from objectspace.training.distributed import is_rank_zero
    from objectspace.training.run import RunOptions
    from objectspace.training.run import train as run_training

    options = RunOptions(data, out, resume, minutes, restarts, accelerator, devices, nodes, precision)
    try:
        summary = run_training(recipe_files.load(recipe, changes or ()), options, say=_say)
    except UserError:
        if is_rank_zero():
            raise
        time.sleep(TIME_TO_SPEAK)
        raise typer.Exit(2) from None
    if not is_rank_zero():
        return
    failed = len(summary["failed_starts"])
    _say(f"{out}: {summary['ended']} at step {summary['state']['step']}, {failed} failed starts: {out / 'model'}")
    if summary["ended"] in ("stopped", "out of time"):
        declared = [part for file in loaded_files() for part in ("--with", str(file))]
        again = ["objectspace", *declared, "train", recipe, "--data", str(data), "--out", str(out)]
        again += ["--precision", precision]
        again += [part for change in changes or () for part in ("--set", change)]
        _say(f"go on with  {shlex.join([*again, '--resume'])}")
    if summary["warnings"]:
        names = ", ".join(summary["warnings"])
        _say(f"warning: what this model finds is doubtful ({names} at the end): see the warnings above for the cures")


def _train_auto(
    data: Path, out: Path, changes: Sequence[str], resume: bool, minutes: float | None, explain: bool, defaults: bool
) -> None:
    from objectspace.auto.run import AutoOptions
    from objectspace.auto.run import train as train_auto

    if not defaults:
        raise UserError(
            "train auto takes --minutes, --set, --resume and --explain; for more processes, another device or restarts "
            "take a recipe"
        )
    summary = train_auto(AutoOptions(data, out, minutes, tuple(changes), resume, explain), _say)
    if summary["ended"] == "explained":
        return
    _say(f"{out}: {summary['ended']} at step {summary['state']['step']}: {out / 'model'}")
    if summary["ended"] == "stopped":
        parts = ["objectspace", "train", AUTO, "--data", str(data), "--out", str(out), "--resume"]
        _say(f"go on with  {shlex.join(parts)}")
    else:
        parts = ["objectspace", "decompose", str(data), "--model", str(out / "model"), "--out", "OBJECTS"]
        _say(f"use it:  {shlex.join(parts)}")


def _say(line: str) -> None:
    print(line, flush=True)
