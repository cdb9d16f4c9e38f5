"""What several commands say alike."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from objectspace.data.sample import Problem


@contextmanager
def resumable() -> Iterator[None]:
    """Ctrl-C ends the work with a word on how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("stopped; what is finished is kept, and the same command continues", err=True)
        raise typer.Exit(130) from None


def called() -> str:
    """How to call the command from here: by its name if the shell finds it, else by its path, as after `make demo`."""
    path = Path(sys.argv[0])
    if shutil.which("objectspace") or path.name != "objectspace":
        return "objectspace"
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def print_problems(problems: Sequence[Problem], prefix: str = "") -> None:
    """List what was left out, file by file."""
    for problem in problems:
        typer.echo(f"left out: {prefix}{problem}", err=True)
