"""Objects as COCO annotations: one category, `object`; boxes, run-length masks and scores.

Reads records, gives one JSON file that the usual tools load. `bbox` (x, y, width, height) is tight around the visible
mask, as COCO has it; `where_bbox` is the model's own box, hidden parts included. Ids count from 1.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from objectspace.export.record import Found, Record
from objectspace.files import write_atomically
from objectspace.scene import Box

CATEGORY = {"id": 1, "name": "object", "supercategory": "object"}


def write_coco(path: Path, records: Iterable[Record], info: Mapping[str, Any]) -> None:
    """Write the file, streaming; `records` is walked twice, so it must not be a generator."""
    write_atomically(path, _lines(records, info))


def _lines(records: Iterable[Record], info: Mapping[str, Any]) -> Iterator[bytes]:
    yield b'{"info": ' + json.dumps(info).encode()
    yield b',\n"categories": ' + json.dumps([CATEGORY]).encode()
    yield b',\n"images": ['
    yield from list_items(_image(record) for record in records)
    yield b'],\n"annotations": ['
    yield from list_items(_annotations(records))
    yield b"]}\n"


def list_items(entries: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """The inside of a JSON list, an entry a line."""
    separator = b"\n"
    for entry in entries:
        yield separator + json.dumps(entry).encode()
        separator = b",\n"


def _image(record: Record) -> dict[str, Any]:
    image = {
        "id": record.number,
        "file_name": record.file_name,
        "height": record.height,
        "width": record.width,
        "scene": f"scenes/{record.name}.json",
    }
    return image if record.frame is None else image | {"source": record.source, "frame": record.frame}


def _annotations(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    number = 0
    for record in records:
        for item in record.objects:
            number += 1
            yield {"id": number, "image_id": record.number} | _annotation(item)


def _annotation(item: Found) -> dict[str, Any]:
    annotation = {
        "category_id": CATEGORY["id"],
        "iscrowd": 0,
        "bbox": _coco_box(item.box),
        "where_bbox": _coco_box(item.where_box),
        "area": item.area,
        "score": item.score,
        "depth": item.depth,
    }
    return annotation if item.mask is None else annotation | {"segmentation": dict(item.mask)}


def _coco_box(box: Box) -> list[float]:
    x0, y0, x1, y1 = box
    return [round(value, 3) for value in (x0, y0, x1 - x0, y1 - y0)]
