"""How many objects each image has, and every object, as tables for spreadsheets."""

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

from objectspace.io.files import write_atomically
from objectspace.results.record import Record

COLUMNS = (
    "file_name",
    "frame",
    "width",
    "height",
    "objects",
    "mean_score",
    "covered",
    "mean_evidence",
    "unexplained",
    "understood",
)


def write_counts(path: Path, records: Iterable[Record]) -> None:
    """Write the table, a line an image; `covered` is the part of its pixels that objects take.

    `mean_evidence` is what objects are worth on average, in nats, and `unexplained` the part of the pixels that neither
    objects nor background explain, where these are known. `understood` is how many of the objects the model can draw.
    """
    write_atomically(path, _lines(records))


OBJECT_COLUMNS = (
    "file_name",
    "frame",
    "object",
    "label",
    "x0",
    "y0",
    "x1",
    "y1",
    "center_x",
    "center_y",
    "area",
    "score",
    "evidence",
    "depth",
    "understood",
)


def beside(path: Path) -> Path:
    """Where the table of objects lies: beside that of images, as counts-objects.csv beside counts.csv."""
    return path.with_name(f"{path.stem}-objects{path.suffix}")


def write_objects(path: Path, records: Iterable[Record]) -> None:
    """Write a table with a line for every object, in the order of the images; boxes and areas in pixels."""
    write_atomically(path, _object_lines(records))


def _object_lines(records: Iterable[Record]) -> Iterator[bytes]:
    yield _line(OBJECT_COLUMNS)
    for record in records:
        frame = "" if record.frame is None else record.frame
        for number, item in enumerate(record.objects, start=1):
            box = [round(value, 3) for value in item.box]
            centre = [round((box[axis] + box[axis + 2]) / 2, 3) for axis in (0, 1)]
            worth = "" if item.evidence is None else f"{item.evidence:.1f}"
            name = (record.file_name, frame, number, item.label or "")
            facts = (round(item.area, 3), f"{item.score:.4f}", worth, f"{item.depth:.4f}", int(item.understood))
            yield _line((*name, *box, *centre, *facts))


def _lines(records: Iterable[Record]) -> Iterator[bytes]:
    yield _line(COLUMNS)
    for record in records:
        count = len(record.objects)
        mean = f"{sum(item.score for item in record.objects) / count:.4f}" if count else ""
        covered = sum(item.area for item in record.objects) / (record.width * record.height)
        worth = [item.evidence for item in record.objects if item.evidence is not None]
        evidence = f"{sum(worth) / len(worth):.1f}" if worth else ""
        frame = "" if record.frame is None else record.frame
        size, left = (record.width, record.height), record.unexplained
        unexplained = "" if left is None else f"{left:.4f}"
        known = sum(item.understood for item in record.objects)
        yield _line((record.file_name, frame, *size, count, mean, f"{covered:.4f}", evidence, unexplained, known))


def _line(values: Iterable[object]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(values)
    return text.getvalue().encode()
