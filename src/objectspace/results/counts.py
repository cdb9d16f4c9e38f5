"""How many objects each image has, as a table for spreadsheets."""

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
