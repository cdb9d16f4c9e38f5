"""The one data set format on disk, written so that a kill at any moment loses nothing.

    <root>/dataset.json                    what made it: generator, settings, seed, version, licence; written last
    <root>/<split>/images/00000000.png
    <root>/<split>/annotations.json        COCO: boxes, run-length masks, categories
    <root>/log.jsonl                       progress of the making

Every file is written under a temporary name and renamed, so a file that exists is whole.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from objectspace.data.sample import Sample, TrueObject
from objectspace.geometry import rle
from objectspace.geometry.boxes import to_coco_box
from objectspace.io.coco import coco_lines
from objectspace.io.files import Json, write_atomically

SPLITS = ("train", "val", "test")
FORMAT_VERSION = 1


def to_record(sample: Sample) -> Json:
    """All that annotations.json says about one image but its file name, as a stream's log keeps it until the end."""
    height, width = sample.image.shape[:2]
    image: Json = {"height": height, "width": width}
    taken = {"height", "width", "ground", "file_name", "id"} & sample.attributes.keys()
    if taken:
        raise ValueError(f"attributes of an image may not be called {', '.join(sorted(taken))}")
    image |= sample.attributes
    if sample.ground:
        image["ground"] = {name: dict(mask) for name, mask in sample.ground.items()}
    record: Json = {"image": image, "objects": [_to_entry(item) for item in sample.objects]}
    if sample.ignored:
        record["ignored"] = [_to_entry(item) for item in sample.ignored]
    return record


def write_annotations(path: Path, records: Iterable[Json], info: Json) -> int:
    """Turn records into one COCO file, streaming, and return the number of images.

    Categories are numbered from 1 in alphabetical order; images keep the order of the records, ids from 1.
    `records` is walked more than once, so it must not be a generator.
    """
    names = sorted({item["category"] for record in records for item in _items(record)})
    category_ids = {name: index for index, name in enumerate(names, start=1)}
    count = 0

    def images() -> Iterator[Json]:
        nonlocal count
        for count, record in enumerate(records, start=1):
            yield {"id": count} | record["image"]

    def annotations() -> Iterator[Json]:
        number = 0
        for image_id, record in enumerate(records, start=1):
            for item in _items(record):
                number += 1
                yield _to_annotation(item, number, image_id, category_ids)

    categories = [{"id": index, "name": name} for name, index in category_ids.items()]
    write_atomically(path, coco_lines(info, categories, images(), annotations()))
    return count


def _to_entry(item: TrueObject) -> Json:
    entry: Json = {"category": item.category, "bbox": to_coco_box(item.box)}
    if item.visible_box is not None:
        entry["visible_bbox"] = to_coco_box(item.visible_box)
    if item.mask is not None:
        entry["segmentation"] = dict(item.mask)
        entry["area"] = rle.area(item.mask)
    return entry | dict(item.attributes)


def _items(record: Json) -> Iterator[Json]:
    """The objects of an image, then the regions that count neither way, marked as COCO marks them."""
    yield from record["objects"]
    for item in record.get("ignored", ()):
        yield item | {"iscrowd": 1, "ignore": 1}


def _to_annotation(item: Json, number: int, image_id: int, category_ids: dict[str, int]) -> Json:
    rest = {key: value for key, value in item.items() if key != "category"}
    _, _, width, height = item["visible_bbox" if "visible_bbox" in item else "bbox"]
    head: Json = {"id": number, "image_id": image_id, "category_id": category_ids[item["category"]], "iscrowd": 0}
    return head | {"area": item.get("area", round(width * height, 3))} | rest
