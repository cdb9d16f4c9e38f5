"""Objects as labels for YOLO: a text file an image, a line an object, all numbers as shares of the image's sides.

classes.txt      the names, a line each; the number of a class is its line, from 0
labels/*.txt     class, centre x, centre y, width, height
images.txt       which image each of them is about: a line an image, the label file's name first
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from objectspace.io.files import write_atomically
from objectspace.results.coco import OBJECT
from objectspace.results.record import Record, RecordedObject


def write_yolo(folder: Path, records: Iterable[Record], classes: Sequence[str]) -> None:
    """Write the folder; `classes` are all labels that occur."""
    numbers, lines = {name: number for number, name in enumerate(classes)}, list[str]()
    for record in records:
        rows = [_row(item, record, numbers[OBJECT if item.label is None else item.label]) for item in record.objects]
        write_atomically(folder / "labels" / f"{record.name}.txt", "".join(rows).encode(), durable=False)
        lines.append(f"{record.name}.txt\t{record.file_name}\n")
    write_atomically(folder / "classes.txt", "".join(f"{name}\n" for name in classes).encode())
    write_atomically(folder / "images.txt", "".join(lines).encode())


def _row(item: RecordedObject, record: Record, number: int) -> str:
    x0, y0, x1, y1 = item.box
    shares = ((x0 + x1) / 2 / record.width, (y0 + y1) / 2 / record.height, (x1 - x0) / record.width)
    return f"{number} {' '.join(f'{share:.6f}' for share in (*shares, (y1 - y0) / record.height))}\n"
