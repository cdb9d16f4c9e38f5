"""Objects as COCO annotations: boxes, run-length masks, scores; the category is the label, or `object` without one.

Reads records, gives one JSON file that the usual tools load. `bbox` (x, y, width, height) is tight around the visible
mask, as COCO has it; `where_bbox` is the model's own box, hidden parts included, `whole_bbox` is tight around the
object before others hide it; `evidence` is what it is worth in nats. The latter two are there where they are known.
`understood` is there, and false, where an object was found that the model cannot draw. Ids count from 1. Images have
`unexplained`, the share of their pixels that nobody explains, where that is known; objects in frames of animations and
videos have a `track_id`, which is the same for the same thing from frame to frame of a source.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from objectspace.geometry.boxes import to_coco_box
from objectspace.io.coco import coco_lines
from objectspace.io.files import write_atomically
from objectspace.results.record import Record, RecordedObject
from objectspace.video.tracking import Tracker

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
    if record.unexplained is not None:
        image["unexplained"] = round(record.unexplained, 6)
    return image if record.frame is None else image | {"source": record.source, "frame": record.frame}


def _annotations(records: Iterable[Record], numbers: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    number, tracks = 0, Tracks()
    for record in records:
        known = tracks.of(record)
        for index, item in enumerate(record.objects):
            number += 1
            category = numbers[OBJECT if item.label is None else item.label]
            head = {"id": number, "image_id": record.number, "category_id": category}
            yield head | _annotation(item) | ({} if known is None else {"track_id": known[index]})


class Tracks:
    """Which object is which, from frame to frame of an animation or a video, whose frames come one after another."""

    def __init__(self) -> None:
        self._tracker, self._source, self._next = Tracker(), "", 0

    def of(self, record: Record) -> list[int] | None:
        """The numbers of an image's objects, the same for the same thing; None for an image that is no frame."""
        if record.frame is None:
            return None
        if record.key != self._source or record.frame != self._next:  # another video, or a gap
            self._tracker.reset()
            self._source = record.key
        self._next = record.frame + 1
        boxes = np.array([item.box for item in record.objects], np.float64).reshape(-1, 4)
        sides = [record.width, record.height, record.width, record.height]
        return [int(number) for number in self._tracker.update(boxes / sides, record.what)]


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
