"""`objectspace train`: a recipe and a data set in, a run directory with weights out."""

from pathlib import Path
from typing import Annotated

import typer

from objectspace import recipe_files


def train(
    recipe: Annotated[str, typer.Argument(help="A recipe's name, or a .toml file; see `objectspace recipes`.")],
    data: Annotated[Path, typer.Option(help="The data set.")],
    out: Annotated[Path, typer.Option(help="The run's directory.")],
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Change a value: section.key=value. May be repeated.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run.")] = False,
    minutes: Annotated[float | None, typer.Option(min=0, help="Stop cleanly after so many minutes.")] = None,
    restarts: Annotated[int, typer.Option(min=0, help="After a collapse, start again from another seed.")] = 0,
    accelerator: Annotated[str, typer.Option(help="cpu, cuda, mps or auto.")] = "cpu",
    devices: Annotated[int, typer.Option(min=1, help="Devices, or processes, on this machine.")] = 1,
    nodes: Annotated[int, typer.Option(min=1, help="Machines.")] = 1,
    precision: Annotated[str, typer.Option(help="32-true, bf16-mixed or 64-true.")] = "32-true",
) -> None:
    """Train a model on a data set."""
    from objectspace.training.run import Options
    from objectspace.training.run import train as run_training

    options = Options(data, out, resume, minutes, restarts, accelerator, devices, nodes, precision)
    summary = run_training(recipe_files.load(recipe, changes or ()), options, say=lambda line: print(line, flush=True))
    failed = len(summary["failed_starts"])
    print(f"{out}: {summary['ended']} at step {summary['state']['step']}, {failed} failed starts: {out / 'model'}")
    if summary["ended"] in ("stopped", "out of time"):
        print(f"go on with  objectspace train {recipe} --data {data} --out {out} --resume")
