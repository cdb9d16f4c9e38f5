"""What several commands say alike."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

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


def print_problems(problems: Sequence[Problem], prefix: str = "") -> None:
    """List what was left out, file by file."""
    for problem in problems:
        typer.echo(f"left out: {prefix}{problem}", err=True)
