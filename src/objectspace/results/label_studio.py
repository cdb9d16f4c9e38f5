"""Objects as predictions for Label Studio: rectangles to be corrected rather than drawn.

Gives a JSON list of tasks for a labelling interface with `<Image name="image" value="$image"/>` and
`<RectangleLabels name="label" toName="image">` holding the objects' labels, or `object` for those that have none. What
was found and not understood says so in the region's information (`meta`).
Images are named as Label Studio serves local files: paths count from its LOCAL_FILES_DOCUMENT_ROOT, which should be the
directory the command was run in, or / where paths were absolute.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any
from urllib.parse import quote

from objectspace.io.coco import list_items
from objectspace.io.files import write_atomically
from objectspace.results.record import Record, RecordedObject

LABEL = "object"
LOCAL_FILES = "/data/local-files/?d="


def write_label_studio(path: Path, records: Iterable[Record], model: str) -> None:
    """Write the tasks, streaming; `model` becomes their `model_version`."""
    write_atomically(path, _lines(records, model))


def _lines(records: Iterable[Record], model: str) -> Iterator[bytes]:
    yield b"["
    yield from list_items(_task(record, model) for record in records)
    yield b"]\n"


def _task(record: Record, model: str) -> dict[str, Any]:
    scores = [item.score for item in record.objects]
    prediction = {
        "model_version": model,
        "score": fmean(scores) if scores else 0.0,
        "result": [_rectangle(record, number, item) for number, item in enumerate(record.objects)],
    }
    return {"data": {"image": LOCAL_FILES + quote(record.file_name.lstrip("/"))}, "predictions": [prediction]}


def _rectangle(record: Record, number: int, item: RecordedObject) -> dict[str, Any]:
    x0, y0, x1, y1 = item.box
    value = {
        "x": 100 * x0 / record.width,
        "y": 100 * y0 / record.height,
        "width": 100 * (x1 - x0) / record.width,
        "height": 100 * (y1 - y0) / record.height,
        "rotation": 0,
        "rectanglelabels": [LABEL if item.label is None else item.label],
    }
    rectangle = {
        "id": f"{record.number}-{number}",
        "type": "rectanglelabels",
        "from_name": "label",
        "to_name": "image",
        "original_width": record.width,
        "original_height": record.height,
        "image_rotation": 0,
        "score": item.score,
        "value": value,
    }
    return rectangle if item.understood else rectangle | {"meta": {"text": ["not understood"]}}
