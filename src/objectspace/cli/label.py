"""`objectspace label`: objects in groups that look alike, to be given names."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from objectspace.cli.decompose import gather
from objectspace.cli.shared import resumable
from objectspace.data.truth import truths_by_file
from objectspace.errors import UserError

if TYPE_CHECKING:
    from objectspace.labels.labelling import Grouping

AUTO = "auto"


def label(
    data: Annotated[
        str, typer.Argument(metavar="DIR", help="A data set, a directory of images, an image, a GIF, a video.")
    ],
    model: Annotated[str, typer.Option(help="A model's folder, or the name of a shipped one.")],
    out: Annotated[
        Path | None, typer.Option(help="The directory to write; DIR-labels unless given. The same again continues it.")
    ] = None,
    clusters: Annotated[str, typer.Option(metavar="K|auto", help="How many groups.")] = AUTO,
    threshold: Annotated[
        float,
        typer.Option(min=0, max=1, help="Presence that an object must have; its score, which says more, may be lower."),
    ] = 0.5,
    batch: Annotated[int, typer.Option(min=1, help="Images worked on at a time.")] = 16,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same groups.")] = 0,
) -> None:
    """Group objects that look alike, and name the groups: labels.html, labels.json, COCO categories."""
    wanted = _clusters(clusters)
    place = Path(f"{os.path.normpath(data)}-labels") if out is None else out
    found, total = gather([data], place)
    truths = truths_by_file(Path(data)) if os.path.isdir(data) else {}

    from objectspace import load
    from objectspace.labels.labelling import Labelling
    from objectspace.results.options import DecomposeOptions

    work = Labelling(place, load(model), model, DecomposeOptions(threshold, batch), wanted, seed, truths)
    with resumable():
        done = work.run(found, total, lambda line: typer.echo(line, err=True))
    assert work.grouping is not None
    _print(work.grouping)
    print(f"{place}: {done.images} images, {done.objects} objects, {len(work.grouping.labels.names)} groups")
    print(f"name them on {place / 'labels.html'}, then use  objectspace decompose ... --labels labels.json")
    if done.problems:
        typer.echo(f"{done.problems} could not be used: they are listed above", err=True)
        raise typer.Exit(1)


def _clusters(text: str) -> int | None:
    if text == AUTO:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise UserError(f"--clusters {text}: give a number from 1 on, or {AUTO}")
    return int(text)


def _print(grouping: "Grouping") -> None:
    """The groups, and how well they fit the categories of a data set that has some."""
    from objectspace.labels.purity import purity

    known = grouping.has_categories
    table = Table("group", box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("objects", justify="right")
    if known:
        table.add_column("truly")
    for name, size, truly in zip(grouping.labels.names, grouping.labels.objects, grouping.truly(), strict=True):
        table.add_row(name, str(size), *([truly] if known else []))
    Console().print(table)
    if known:
        count, objects = len(grouping.truths), sum(grouping.labels.objects)
        value, least = purity(grouping.assigned, grouping.truths), purity([0] * count, grouping.truths)
        print(
            f"purity {value:.3f} over the {count} of {objects} objects that are a true one at IoU 0.5; "
            f"all in one group would have {least:.3f}"
        )
