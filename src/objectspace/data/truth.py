"""The annotations of a split as flat arrays: quick to load, masks decoded only when asked for.

Reads annotations.json once; gives `Annotations`, which are kept beside the memory map as an .npz.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from objectspace.data.sample import Problem
from objectspace.errors import UserError
from objectspace.geometry import rle
from objectspace.geometry.boxes import Box, from_coco_box
from objectspace.io.files import Json, read_json


@dataclass(frozen=True)
class Annotations:
    """What is known about n images with M objects in all; image i owns the objects starts[i] to starts[i + 1]."""

    starts: NDArray[np.int64]  # (n + 1,)
    sizes: NDArray[np.int64]  # (n, 2) height, width of the annotated image
    boxes: NDArray[np.float64]  # (M, 4) whole objects
    visible_boxes: NDArray[np.float64]  # (M, 4)
    categories: NDArray[np.str_]  # (M,)
    depths: NDArray[np.float64]  # (M,) 0 where unknown
    groups: NDArray[np.str_]  # (n,) a game's name or the like
    sequences: NDArray[np.str_]  # (n,) images of one run of successive frames share a name; "" for none
    mask_text: NDArray[np.uint8]  # all run-length strings, one after the other, ...
    mask_ends: NDArray[np.int64]  # (M + 1,) ... and where each begins; one without letters is unknown
    ignored_starts: NDArray[np.int64]  # (n + 1,) as `starts`, for the R regions that count neither way
    ignored_boxes: NDArray[np.float64]  # (R, 4)
    ground_starts: NDArray[np.int64]  # (n + 1,) as `starts`, for the G named parts that are no object
    ground_names: NDArray[np.str_]  # (G,)
    ground_text: NDArray[np.uint8]
    ground_ends: NDArray[np.int64]  # (G + 1,)

    def save(self, path: Path) -> None:
        np.savez(path, **{field.name: getattr(self, field.name) for field in fields(self)})

    @classmethod
    def load(cls, path: Path) -> "Annotations":
        with np.load(path, allow_pickle=False) as content:
            return cls(**{field.name: content[field.name] for field in fields(cls)})

    def objects(self, index: int) -> slice:
        """The objects of an image, as a slice of the flat arrays."""
        return slice(int(self.starts[index]), int(self.starts[index + 1]))

    def ignored(self, index: int) -> NDArray[np.float64]:
        """The regions (r, 4) of an image that count neither way."""
        return self.ignored_boxes[int(self.ignored_starts[index]) : int(self.ignored_starts[index + 1])]

    def mask(self, number: int, index: int) -> rle.Mask | None:
        """The mask (H, W) of object `number`, which belongs to image `index`."""
        runs = _text_at(self.mask_text, self.mask_ends, number)
        return self._decode(runs, index) if runs else None

    def ground(self, index: int) -> dict[str, rle.Mask]:
        """The parts of an image that are no object, by name: (H, W) each."""
        numbers = range(int(self.ground_starts[index]), int(self.ground_starts[index + 1]))
        texts = {str(self.ground_names[g]): _text_at(self.ground_text, self.ground_ends, g) for g in numbers}
        return {name: self._decode(runs, index) for name, runs in texts.items()}

    def _decode(self, runs: str, index: int) -> rle.Mask:
        return rle.decode({"size": [int(side) for side in self.sizes[index]], "counts": runs})


def empty(count: int) -> Annotations:
    """The truth of images about which nothing is known."""
    return _assemble([{"objects": [], "size": (1, 1)} for _ in range(count)])


def images_of(content: Json, path: Path) -> dict[str, Json]:
    """The image entries of an annotations file, by file name."""
    try:
        return {str(image["file_name"]): dict(image) for image in content["images"]}
    except (KeyError, TypeError) as error:
        raise UserError(f"{path} is not in COCO form: 'images' should be a list of entries with 'file_name'") from error


def collect(content: Json, images: Iterable[Json], path: Path) -> tuple[Annotations, list[Problem]]:
    """The truth about `images` (entries of the file's own list), in that order, and the annotations left out."""
    names = {category["id"]: str(category["name"]) for category in content.get("categories", [])}
    problems: list[Problem] = []
    by_image: dict[Any, list[Json]] = {}
    ignored: dict[Any, list[Box]] = {}
    known = {image.get("id") for image in content["images"]}
    for annotation in content.get("annotations", []):
        where = f"{path.name}, annotation {annotation.get('id')}"
        if annotation.get("image_id") not in known:
            problems.append(Problem(where, f"names image {annotation.get('image_id')}, which is not in the file"))
            continue
        entry = _checked(annotation, names)
        if isinstance(entry, str):
            problems.append(Problem(where, entry))
        elif annotation.get("iscrowd") or annotation.get("ignore"):
            ignored.setdefault(annotation["image_id"], []).append(entry["box"])
        else:
            by_image.setdefault(annotation["image_id"], []).append(entry)
    records = []
    for image in images:
        size = int(image.get("height", 0)), int(image.get("width", 0))
        objects = by_image.get(image.get("id"), [])
        for item in objects:
            if item["mask"] and tuple(item["mask"]["size"]) != size:
                problems.append(
                    Problem(str(image["file_name"]), f"a mask of {item['mask']['size']}, not {size}: left out")
                )
                item["mask"] = None
        records.append({"size": size, "objects": objects, "ground": image.get("ground", {})})
        records[-1] |= {"ignored": ignored.get(image.get("id"), [])}
        records[-1] |= {"group": _group(image), "sequence": str(image.get("sequence", ""))}
    return _assemble(records), problems


def truths_by_file(root: Path) -> dict[str, tuple[NDArray[np.float64], list[str]]]:
    """The visible boxes (m, 4) and the m categories of every annotated image of a data set, by its absolute path.

    `root` may be one split. A directory without annotations has none.
    """
    folders = [root, *(sorted(child for child in root.iterdir() if child.is_dir()))]
    found = {}
    for folder in folders:
        path = folder / "annotations.json"
        if not path.is_file() or not (folder / "images").is_dir():
            continue
        content = read_json(path)
        images = images_of(content, path)
        truth, _ = collect(content, images.values(), path)
        for index, name in enumerate(images):
            mine = truth.objects(index)
            key = os.path.abspath(folder / "images" / name)
            found[key] = truth.visible_boxes[mine], [str(each) for each in truth.categories[mine]]
    return found


def _group(image: Json) -> str:
    return str(image.get("game", image.get("group", "")))


def _checked(annotation: Json, names: Mapping[Any, str]) -> Json | str:
    """An annotation's useful part, or the reason why it has none."""
    try:
        box = from_coco_box(annotation["bbox"])
        visible = from_coco_box(annotation["visible_bbox" if "visible_bbox" in annotation else "bbox"])
    except (KeyError, TypeError, ValueError):
        return "its bbox is not x, y, width, height"
    if not np.isfinite([*box, *visible]).all() or box[2] <= box[0] or box[3] <= box[1]:
        return f"its bbox {annotation['bbox']} has no area"
    segmentation = annotation.get("segmentation")
    mask = segmentation if isinstance(segmentation, dict) and isinstance(segmentation.get("counts"), str) else None
    depth = annotation.get("depth", 0.0)
    return {
        "depth": float(depth) if isinstance(depth, (int, float)) and np.isfinite(depth) else 0.0,
        "box": box,
        "visible": visible,
        "mask": mask,
        "category": names.get(annotation.get("category_id"), "object"),
    }


def _assemble(records: list[Json]) -> Annotations:
    objects = [item for record in records for item in record["objects"]]
    ignored = [box for record in records for box in record.get("ignored", [])]
    grounds = [item for record in records for item in record.get("ground", {}).items()]
    mask_text, mask_ends = _pack([item["mask"]["counts"] if item["mask"] else "" for item in objects])
    ground_text, ground_ends = _pack([mask["counts"] for _, mask in grounds])
    return Annotations(
        starts=np.cumsum([0, *(len(record["objects"]) for record in records)]),
        sizes=np.array([record["size"] for record in records], np.int64).reshape(-1, 2),
        boxes=np.array([item["box"] for item in objects], np.float64).reshape(-1, 4),
        visible_boxes=np.array([item["visible"] for item in objects], np.float64).reshape(-1, 4),
        categories=np.array([item["category"] for item in objects], np.str_),
        depths=np.array([item["depth"] for item in objects], np.float64),
        groups=np.array([record.get("group", "") for record in records], np.str_),
        sequences=np.array([record.get("sequence", "") for record in records], np.str_),
        mask_text=mask_text,
        mask_ends=mask_ends,
        ignored_starts=np.cumsum([0, *(len(record.get("ignored", [])) for record in records)]),
        ignored_boxes=np.array(ignored, np.float64).reshape(-1, 4),
        ground_starts=np.cumsum([0, *(len(record.get("ground", {})) for record in records)]),
        ground_names=np.array([name for name, _ in grounds], np.str_),
        ground_text=ground_text,
        ground_ends=ground_ends,
    )


def _pack(texts: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Strings end to end, and where each begins: a numpy string array would pad all to the longest."""
    ends = np.cumsum([0, *(len(text) for text in texts)])
    return np.frombuffer("".join(texts).encode("ascii", "replace"), np.uint8), ends


def _text_at(text: NDArray[np.uint8], ends: NDArray[np.int64], number: int) -> str:
    return text[ends[number] : ends[number + 1]].tobytes().decode("ascii")
