"""How many objects each image has, as a table for spreadsheets."""

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

from objectspace.export.record import Record
from objectspace.files import write_atomically

COLUMNS = ("file_name", "frame", "width", "height", "objects", "mean_score", "covered")


def write_counts(path: Path, records: Iterable[Record]) -> None:
    """Write the table, a line an image; `covered` is the part of its pixels that objects take."""
    write_atomically(path, _lines(records))


def _lines(records: Iterable[Record]) -> Iterator[bytes]:
    yield _line(COLUMNS)
    for record in records:
        count = len(record.objects)
        mean = f"{sum(item.score for item in record.objects) / count:.4f}" if count else ""
        covered = sum(item.area for item in record.objects) / (record.width * record.height)
        frame = "" if record.frame is None else record.frame
        yield _line((record.file_name, frame, record.width, record.height, count, mean, f"{covered:.4f}"))


def _line(values: Iterable[object]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(values)
    return text.getvalue().encode()
