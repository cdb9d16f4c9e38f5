"""What `objectspace compare` prints: its tables on the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from objectspace.compare.candidates import Candidate
    from objectspace.compare.convergence import Curve
    from objectspace.compare.latency import Point
    from objectspace.compare.table import Boxes, Row


def print_latency(points: Sequence["Point"]) -> None:
    """Time and memory of every point, and why one was not run."""
    from objectspace.compare.latency import MEASURED, NO_ROOM, TOO_SLOW, growth, relative

    shown = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("model", "capacity", "seconds", "x space, all cells", "peak GB", "inference s"):
        shown.add_column(heading, justify="left" if heading == "model" else "right", no_wrap=True)
    shown.add_column("")
    ratios = relative(points)
    for point in points:
        note = "" if point.status == MEASURED else point.status
        if point.status in (TOO_SLOW, NO_ROOM) and point.estimate is not None:
            room = "" if point.estimated_peak is None else f", {point.estimated_peak / 1e9:.1f} GB"
            note += f": about {point.estimate:.0f} s{room}"
        if point.message:
            note += f": {point.message}"
        ratio = ratios[point]
        shown.add_row(
            point.model,
            point.shown_capacity,
            "-" if point.seconds is None else f"{point.seconds:.2f}",
            "-" if ratio is None else f"{ratio:.2f}",
            "-" if point.peak is None else f"{point.peak / 1e9:.2f}",
            "-" if point.inference is None else f"{point.inference:.2f}",
            escape(note),
        )
    Console().print(shown)
    for sentence in growth(points):
        print(sentence)


def print_convergence(curves: Sequence["Curve"], targets: dict[int, float]) -> None:
    """How far every run came, and when it was near the best of its grid."""
    shown = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("grid", "model", "capacity", "steps", "minutes", "squared error", "minutes to 1.1 x best"):
        shown.add_column(heading, justify="left" if heading == "model" else "right", no_wrap=True)
    for curve in curves:
        final, who = curve.final, (str(curve.candidate.grid), curve.candidate.model, curve.candidate.config.capacity)
        if final is None:
            shown.add_row(*who, "-", "-", "-", escape(curve.failure or "not begun"))
            continue
        arrived = curve.minutes_to(targets[curve.candidate.grid])
        reached = str(final.step), f"{final.seconds / 60:.1f}", f"{final.squared_error:.1f}"
        shown.add_row(*who, *reached, curve.failure or ("not reached" if arrived is None else f"{arrived:.1f}"))
    Console().print(shown)


def print_table(rows: Sequence["Row"], boxes: "Boxes") -> None:
    """The table and its notes."""
    from objectspace.compare.table import cells, headings, notes

    shown = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for number, heading in enumerate(headings()):
        shown.add_column(heading, justify="left" if number < 3 else "right", overflow="fold")
    for row in rows:
        shown.add_row(*map(escape, cells(row, boxes)))
    Console().print(shown)
    for note in notes(rows, boxes):
        print(note)


def print_caveats(candidates: Sequence["Candidate"]) -> None:
    """What a reader must know of some models."""
    for model, caveat in {each.model: each.config.caveat for each in candidates}.items():
        if caveat:
            print(f"{model} {caveat}")


def print_capped(candidates: Sequence["Candidate"], components: int, most: int | None) -> None:
    """A word on the models that do not have the capacity they should, if there are any."""
    short = [each for each in candidates if not each.config.cells and each.capacity < each.grid**2 + components]
    if short:
        listed = ", ".join(f"{each.model} at {each.grid} x {each.grid}: {each.capacity}" for each in short)
        print(f"by --most-components {most} these have less than the others' capacity: {listed}")
