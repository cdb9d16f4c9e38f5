"""COCO annotations with their images: what labelling tools export, and our own data sets.

    <file>.json                                             or
    <root>/{train,val,test}/annotations.json                our own layout; Roboflow's _annotations.coco.json too
    <root>/annotations.json                                 or
    <root>/annotations/instances_train2017.json, ...        COCO's own layout; the split by the name

Images are looked for beside the file, in images/, and where COCO has them (../train2017), or where `images` says.
Polygons and both kinds of run-length codes become masks; crowds (iscrowd) and whatever is marked `ignore` are no single
objects and become regions that count neither way. An annotation that cannot be used is listed and left out; so is an
image that is absent or has another size than stated.
"""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from objectspace.data.convert.base import split_directories
from objectspace.data.convert.coco_object import AnnotationError, parse_ground, parse_object, plain_attributes
from objectspace.data.convert.files import Entry, FileConverter, Listing
from objectspace.data.sample import Problem, Sample, TrueObject
from objectspace.errors import UserError
from objectspace.geometry import rle
from objectspace.io.files import Json, read_json
from objectspace.io.images import BadImage, read_deep

_NAMES = ("annotations.json", "_annotations.coco.json", "instances.json", "labels.json", "result.json")
_IMAGE_KEYS = frozenset(
    ("id", "file_name", "height", "width", "license", "coco_url", "flickr_url", "date_captured", "ground")
)


class Coco(FileConverter):
    """The images that annotation files name."""

    format = "coco"
    version = 2

    def scan(self) -> Listing:
        listing: Listing = {}
        for split, path in self._annotation_files().items():
            content = read_json(path)
            listing[split, ""] = self._entries(path, content)
        return listing

    def stamp(self) -> str:
        files = self._annotation_files().values()
        return "".join(hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest() for path in files)

    def load(self, entry: Entry) -> list[Sample | Problem]:
        record, annotations, categories = entry.truth
        try:
            image = read_deep(entry.path)
        except BadImage as error:
            return [Problem(entry.name, error.reason)]
        height, width = image.shape[:2]
        stated = record.get("height", height), record.get("width", width)
        if stated != (height, width):
            reason = (
                f"is {width} x {height} when upright, but its annotations are for {stated[1]} x {stated[0]}: left out"
            )
            return [Problem(entry.name, reason)]
        objects: list[TrueObject] = []
        ignored: list[TrueObject] = []
        problems: list[Sample | Problem] = []
        for annotation in annotations:
            kind = ignored if annotation.get("iscrowd") or annotation.get("ignore") else objects
            try:
                kind.append(parse_object(annotation, categories, height, width))
            except AnnotationError as error:
                problems.append(Problem(f"{entry.name}, annotation {annotation.get('id')}", f"{error}: left out"))
        attributes = plain_attributes(record, _IMAGE_KEYS) | {"source": entry.name}
        ground: dict[str, rle.RunLength] = {}
        try:
            ground = parse_ground(record.get("ground", {}), height, width)
        except AnnotationError as error:
            problems.append(Problem(f"{entry.name}, ground", f"{error}: left out"))
        return [Sample(image, tuple(objects), attributes, ground, ignored=tuple(ignored)), *problems]

    def _annotation_files(self) -> dict[str, Path]:
        """The annotation file of each split."""
        if self.root.is_file():
            return {self.options.split: self.root}
        found: dict[str, Path] = {}
        for split, directory in split_directories(self.root, self.options).items():
            path = _annotation_file(directory)
            if path is not None:
                found[split] = path
        single = _annotation_file(self.root)
        if not found and single is not None:
            return {self.options.split: single}
        return found or self._named_files()

    def _named_files(self) -> dict[str, Path]:
        """Those of <root>/annotations/*.json whose name has a split in it; instances_* alone where there are any."""
        paths = sorted((self.root / "annotations").glob("*.json"))
        paths = [path for path in paths if path.name.startswith("instances")] or paths
        found: dict[str, Path] = {}
        for path in paths:
            words = re.findall("[a-z]+", path.stem.lower())
            split = next((split for word in words if (split := self.options.split_of(word))), None)
            split = self.options.split if split is None else split
            if split in found:
                raise UserError(f"{found[split]} and {path} are both {split}: give one of them instead of {self.root}")
            found[split] = path
        if not found:
            raise UserError(
                f"there are no COCO annotations in {self.root}: looked for annotations.json, in train/, val/ and test/ "
                "too, and for annotations/*.json. Give the .json file itself if it has another name"
            )
        return found

    def _entries(self, path: Path, content: Json) -> list[Entry | Problem]:
        records, annotations = content.get("images"), content.get("annotations") or []
        if not isinstance(records, list) or not isinstance(annotations, list) or not records:
            raise UserError(f'{path} is no COCO annotation file, or it is empty: it has no list "images" with entries')
        categories = {
            item["id"]: str(item["name"])
            for item in content.get("categories") or []
            if isinstance(item, dict) and isinstance(item.get("id"), int | str) and "name" in item
        }
        entries: list[Entry | Problem] = []
        by_image: dict[Any, list[Json]] = {}
        for record in records:
            name = record.get("file_name") if isinstance(record, dict) else None
            identity = record.get("id") if isinstance(record, dict) else None
            if not isinstance(name, str) or not isinstance(identity, int | str) or identity in by_image:
                entries.append(
                    Problem(path.name, f"an image without a file_name or an id of its own: {str(record)[:80]}")
                )
            elif PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                entries.append(Problem(name, "points outside the image directory: left out"))
            else:
                truth = (record, by_image.setdefault(identity, []), categories)
                entries.append(Entry(Path(name), name, truth))
        for annotation in annotations:
            identity = annotation.get("image_id") if isinstance(annotation, dict) else None
            if isinstance(identity, int | str) and identity in by_image:
                by_image[identity].append(annotation)
            else:
                entries.append(Problem(path.name, f"an annotation for no image of the file: {str(annotation)[:80]}"))
        directory = self._image_directory(path, [entry.name for entry in entries if isinstance(entry, Entry)])
        return [
            entry if isinstance(entry, Problem) else Entry(directory / entry.path, entry.name, entry.truth)
            for entry in entries
        ]

    def _image_directory(self, path: Path, names: list[str]) -> Path:
        """The directory, out of the likely ones, that has the most of the first hundred files, or any at all."""
        likely = [self.options.images] if self.options.images else list(dict.fromkeys(_image_directories(path)))
        found = {directory: sum((directory / name).exists() for name in names[:100]) for directory in likely}
        best = max(likely, key=lambda directory: found[directory])
        if not found[best]:
            best = next((folder for folder in likely if any((folder / name).exists() for name in names)), best)
            if not any((best / name).exists() for name in names):
                looked = ", ".join(str(directory) for directory in likely)
                raise UserError(
                    f"none of the {len(names)} images that {path} names exists, as {names[0] if names else '?'}: "
                    f"looked in {looked}. Say where they are with --images DIR"
                )
        return best


def _annotation_file(directory: Path) -> Path | None:
    return next((directory / name for name in _NAMES if (directory / name).is_file()), None)


def _image_directories(path: Path) -> Iterator[Path]:
    beside, above, tail = path.parent, path.parent.parent, path.stem.split("_")[-1]
    yield from (beside / "images", beside, beside / path.stem, above / tail, above / "images" / tail)
    yield from (above / "images", above)
