"""Objects as COCO annotations: boxes, run-length masks, scores; the category is the label, or `object` without one.

Reads records, gives one JSON file that the usual tools load. `bbox` (x, y, width, height) is tight around the visible
mask, as COCO has it; `where_bbox` is the model's own box, hidden parts included, `whole_bbox` is tight around the
object before others hide it; `evidence` is what it is worth in nats. The latter two are there where they are known.
`understood` is there, and false, where an object was found that the model cannot draw. Ids count from 1.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from objectspace.geometry.boxes import to_coco_box
from objectspace.io.coco import coco_lines
from objectspace.io.files import write_atomically
from objectspace.results.record import Record, RecordedObject

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
    numbers = {name: number for number, name in enumerate(categories, 1)}
    entries = [{"id": number, "name": name, "supercategory": OBJECT} for name, number in numbers.items()]
    images = (_image(record, scenes) for record in records)
    write_atomically(path, coco_lines(info, entries, images, _annotations(records, numbers)))


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


def _annotation(item: RecordedObject) -> dict[str, Any]:
    annotation: dict[str, Any] = {
        "iscrowd": 0,
        "bbox": to_coco_box(item.box),
        "where_bbox": to_coco_box(item.where_box),
        "area": item.area,
        "score": item.score,
        "depth": item.depth,
    }
    if item.whole_box is not None:
        annotation["whole_bbox"] = to_coco_box(item.whole_box)
    if item.evidence is not None:
        annotation["evidence"] = item.evidence
    if not item.understood:
        annotation["understood"] = False
    return annotation if item.mask is None else annotation | {"segmentation": dict(item.mask)}
