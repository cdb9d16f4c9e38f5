"""Objects as COCO annotations: boxes, run-length masks, scores; the category is the label, or `object` without one.

Reads records, gives one JSON file that the usual tools load. `bbox` (x, y, width, height) is tight around the visible
mask, as COCO has it; `where_bbox` is the model's own box, hidden parts included, `whole_bbox` is tight around the
object before others hide it; `evidence` is what it is worth in nats. The latter two are there where they are known.
`understood` is there, and false, where an object was found that the model cannot draw. Ids count from 1.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from objectspace.io.files import write_atomically
from objectspace.results.record import Found, Record
from objectspace.scene import Box

OBJECT = "object"  # what a thing is called that nobody gave a name


def write_coco(
    path: Path,
    records: Iterable[Record],
    info: Mapping[str, Any],
    categories: Sequence[str] = (OBJECT,),
    scenes: bool = True,
) -> None:
    """Write the file, streaming; `records` is walked twice, so it must not be a generator.

    `categories` are all labels that occur. With `scenes`, images name the files of their scenes.
    """
    write_atomically(path, _lines(records, info, {name: number for number, name in enumerate(categories, 1)}, scenes))


def _lines(
    records: Iterable[Record], info: Mapping[str, Any], numbers: Mapping[str, int], scenes: bool
) -> Iterator[bytes]:
    categories = [{"id": number, "name": name, "supercategory": OBJECT} for name, number in numbers.items()]
    yield b'{"info": ' + json.dumps(info).encode()
    yield b',\n"categories": ' + json.dumps(categories).encode()
    yield b',\n"images": ['
    yield from list_items(_image(record, scenes) for record in records)
    yield b'],\n"annotations": ['
    yield from list_items(_annotations(records, numbers))
    yield b"]}\n"


def list_items(entries: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """The inside of a JSON list, an entry a line."""
    separator = b"\n"
    for entry in entries:
        yield separator + json.dumps(entry).encode()
        separator = b",\n"


def _image(record: Record, scenes: bool) -> dict[str, Any]:
    image: dict[str, Any] = {
        "id": record.number,
        "file_name": record.file_name,
        "height": record.height,
        "width": record.width,
    }
    if scenes:
        image["scene"] = f"scenes/{record.name}.json"
    return image if record.frame is None else image | {"source": record.source, "frame": record.frame}


def _annotations(records: Iterable[Record], numbers: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    number = 0
    for record in records:
        for item in record.objects:
            number += 1
            category = numbers[OBJECT if item.label is None else item.label]
            yield {"id": number, "image_id": record.number, "category_id": category} | _annotation(item)


def _annotation(item: Found) -> dict[str, Any]:
    annotation: dict[str, Any] = {
        "iscrowd": 0,
        "bbox": _coco_box(item.box),
        "where_bbox": _coco_box(item.where_box),
        "area": item.area,
        "score": item.score,
        "depth": item.depth,
    }
    if item.whole_box is not None:
        annotation["whole_bbox"] = _coco_box(item.whole_box)
    if item.evidence is not None:
        annotation["evidence"] = item.evidence
    if not item.understood:
        annotation["understood"] = False
    return annotation if item.mask is None else annotation | {"segmentation": dict(item.mask)}


def _coco_box(box: Box) -> list[float]:
    x0, y0, x1, y1 = box
    return [round(value, 3) for value in (x0, y0, x1 - x0, y1 - y0)]
