"""The 3D-Room images published with SPACE (OBJ3D_SMALL, OBJ3D_LARGE).

    <root>/{train,val,test}/<integer>-*.png|jpg     in the order of the integers
    <root>/{train,val,test}/bb/bb_<i>.txt           i: the place in that order; one object a line: cx,cy,w,h

Boxes count in pixels of an image of 128 x 128, whatever the size of the file, and are scaled to it here. A split
without bb/ gives images without objects; where bb/ exists, an image without its file is left out and listed, since
it would pass for an empty scene.
"""

import math
import re
from pathlib import Path

from objectspace.data.convert.base import split_directories
from objectspace.data.convert.files import Entry, FileConverter, Listing, size_of
from objectspace.data.sample import Problem, Sample, TrueObject
from objectspace.errors import UserError
from objectspace.geometry.boxes import clip_box
from objectspace.io.images import SUFFIXES, BadImage, natural_key, read_image

BOX_UNITS = 128.0  # the width and height of an image in the coordinates of the box files


class Obj3d(FileConverter):
    """Images with a box file each."""

    format = "obj3d"

    def scan(self) -> Listing:
        directories = split_directories(self.root, self.options) if self.root.is_dir() else {}
        listing: Listing = {}
        for split, directory in directories.items():
            entries = self._entries(directory)
            if any(isinstance(entry, Entry) for entry in entries):
                listing[split, ""] = entries
        if not listing:
            raise UserError(
                f"{self.root} does not look like OBJ3D: expected {{train,val,test}}/<number>-*.png or .jpg in it"
            )
        return listing

    def stamp(self) -> str:
        boxes = sorted(self.root.glob("*/bb/bb_*.txt"))
        return "".join(f"{path.relative_to(self.root)} {size_of(path)}\n" for path in boxes)

    def load(self, entry: Entry) -> list[Sample | Problem]:
        try:
            image = read_image(entry.path, matte=None)  # the format's own reader takes the first three channels
        except BadImage as error:
            return [Problem(entry.name, error.reason)]
        if entry.truth is None:
            return [Sample(image, attributes={"source": entry.name})]
        where = Path(entry.truth).relative_to(self.root).as_posix()
        try:
            lines = Path(entry.truth).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            return [Problem(entry.name, f"its boxes cannot be read: {error}")]
        height, width = image.shape[:2]
        objects: list[TrueObject] = []
        problems: list[Sample | Problem] = []
        for number, line in enumerate(lines, start=1):
            if line.strip():
                item = _parse_box(line, height, width)
                if item is None:
                    reason = f"{line.strip()[:60]!r} is no box cx,cy,w,h with an area inside the image: left out"
                    problems.append(Problem(f"{where}, line {number}", reason))
                else:
                    objects.append(item)
        return [Sample(image, tuple(objects), {"source": entry.name}), *problems]

    def _entries(self, directory: Path) -> list[Entry | Problem]:
        numbered: list[Path] = []
        problems: list[Problem] = []
        for path in sorted(directory.iterdir(), key=lambda path: natural_key(path.name)):
            if path.suffix.lower() not in SUFFIXES or path.name.startswith("."):
                continue
            if re.match("[0-9]", path.name):
                numbered.append(path)  # the natural order is that of the numbers they begin with
            else:
                name = path.relative_to(self.root).as_posix()
                problems.append(Problem(name, "its name does not begin with a number: left out"))
        boxes = directory / "bb"
        entries: list[Entry | Problem] = []
        for index, path in enumerate(numbered):
            name = path.relative_to(self.root).as_posix()
            truth = boxes / f"bb_{index}.txt"
            if not boxes.is_dir():
                entries.append(Entry(path, name))
            elif truth.is_file():
                entries.append(Entry(path, name, truth))
            else:
                entries.append(Problem(name, f"its boxes {truth.relative_to(self.root)} do not exist: left out"))
        return entries + problems + self._boxes_without_image(boxes, len(numbered))

    def _boxes_without_image(self, boxes: Path, count: int) -> list[Problem]:
        problems = []
        for path in sorted(boxes.glob("bb_*.txt"), key=lambda path: natural_key(path.name)):
            index = path.stem.removeprefix("bb_")
            if not index.isdecimal() or int(index) >= count:
                name = path.relative_to(self.root).as_posix()
                problems.append(Problem(name, f"belongs to no image: there are {count}, counted from 0"))
        return problems


def _parse_box(line: str, height: int, width: int) -> TrueObject | None:
    try:
        cx, cy, w, h = (float(text) for text in line.split(","))
    except ValueError:
        return None
    if not all(math.isfinite(value) for value in (cx, cy, w, h)) or w <= 0 or h <= 0:
        return None
    sx, sy = width / BOX_UNITS, height / BOX_UNITS
    box = clip_box(((cx - w / 2) * sx, (cy - h / 2) * sy, (cx + w / 2) * sx, (cy + h / 2) * sy), height, width)
    return None if box is None else TrueObject("object", box)
