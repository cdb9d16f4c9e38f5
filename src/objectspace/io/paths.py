"""What people mean by "these images": files, directories, patterns, data sets, animations, videos, lists.

Gives sources one after another, in natural order (2 before 10), and the frames of each. Nothing is ever held as a
whole: a directory of a million files is sorted on disk, in parts.
"""

import glob
import heapq
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from objectspace.errors import missing_extra
from objectspace.io.images import SUFFIXES, BadImage, Photo, natural_key, read_deep_frames, read_frames

VIDEO_SUFFIXES = frozenset({".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".webm", ".wmv"})
STANDARD_INPUT = "-"
_SPLITS = ("train", "val", "test")  # in this order; others follow
_TOGETHER = 20_000  # names sorted in memory at a time


@dataclass(frozen=True)
class ImageFile:
    """A file that holds an image, an animation or a video; `path` is written as the user would write it."""

    path: str

    @property
    def key(self) -> str:
        """The same file has the same key, however it was reached but for links."""
        return os.path.abspath(self.path)

    def stamp(self) -> str:
        """Changes when the file does."""
        try:
            status = os.stat(self.path)
        except (OSError, ValueError):
            return ""
        return f"{status.st_size} {status.st_mtime_ns}"

    def frames(self) -> Iterator[tuple[int | None, NDArray[np.uint8]]]:
        """The images in it, (H, W, 3) each, with their number from 0 if there are several; raises `BadImage`."""
        if _suffix(self.path) in VIDEO_SUFFIXES:
            return _video_frames(self.path)
        return read_frames(Path(self.path))

    def deep_frames(self) -> Iterator[tuple[int | None, Photo]]:
        """As `frames`, in 16 bit words where the file has more than bytes."""
        if _suffix(self.path) in VIDEO_SUFFIXES:
            return _video_frames(self.path)
        return read_deep_frames(Path(self.path))


@dataclass(frozen=True)
class NoImages:
    """A place where no image was found, and why."""

    path: str
    reason: str


def image_files(
    paths: Iterable[str], leave_out: Path, listing: IO[str] | None = None
) -> Iterator[ImageFile | NoImages]:
    """What the paths stand for; `-` is the lines of `listing`. Nothing below the directory `leave_out` counts."""
    omit = os.path.realpath(leave_out)
    for path in paths:
        if path == STANDARD_INPUT and listing is not None:
            for line in listing:
                if line.strip():
                    yield from _expand(line.rstrip("\r\n"), omit, patterns=False)
        else:
            yield from _expand(path, omit, patterns=True)


class Gathered:
    """What paths stand for, found in one walk and kept on disk, so that it can be counted before it is read."""

    def __init__(self, found: Iterable[ImageFile | NoImages]) -> None:
        self.total = 0  # files that were found, or named
        self.exists = False  # whether one of them is there
        self._file = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 (it lives as long as this)
        for each in found:
            if isinstance(each, ImageFile):
                self.total += 1
                self.exists = self.exists or os.path.lexists(each.path)
            self._file.write(json.dumps([each.path, each.reason if isinstance(each, NoImages) else None]) + "\n")

    def __iter__(self) -> Iterator[ImageFile | NoImages]:
        """All of it, in order; once at a time."""
        self._file.seek(0)
        for line in self._file:
            path, reason = json.loads(line)
            yield ImageFile(path) if reason is None else NoImages(path, reason)


def _expand(path: str, omit: str, patterns: bool) -> Iterator[ImageFile | NoImages]:
    if os.path.isdir(path):
        found = [_walk(folder, omit, ()) for folder in _image_folders(path)]
        yield from _or_nothing((source for part in found for source in part), path, "holds no images")
    elif patterns and glob.has_magic(path) and not os.path.lexists(path):
        yield from _or_nothing(_matches(path, omit), path, "matches no images")
    elif _suffix(path) == ".json":
        yield from _listed_in_coco(path)
    else:
        yield ImageFile(path)  # whatever it is: reading it will tell


def _listed_in_coco(path: str) -> Iterator[ImageFile | NoImages]:
    """The images that COCO annotations name; they lie beside the file, or one directory up, perhaps in `images`."""
    try:
        with open(path, encoding="utf-8") as file:
            names = [str(image["file_name"]) for image in json.load(file)["images"]]
    except OSError as error:
        yield NoImages(path, f"cannot be read: {error.strerror}")
        return
    except (ValueError, KeyError, TypeError, RecursionError):
        yield NoImages(path, "is no image, and no COCO annotations either: it lists no images with a file_name")
        return
    beside = os.path.dirname(path)
    roots = [os.path.normpath(os.path.join(beside, way)) for way in (".", "images", "..", "../images")]
    for name in names:
        places = [os.path.join(root, name) for root in roots]
        yield ImageFile(next((place for place in places if os.path.isfile(place)), places[0]))
    if not names:
        yield NoImages(path, "lists no images")


def _matches(pattern: str, omit: str) -> Iterator[ImageFile]:
    for match in _sorted(glob.iglob(pattern, recursive=True)):
        if os.path.isdir(match):
            if "**" not in pattern:  # which gives the files below by itself
                yield from _walk(match, omit, ())
        elif _suffix(match) in SUFFIXES | VIDEO_SUFFIXES and not _below(match, omit):
            yield ImageFile(match)


def _or_nothing(found: Iterator[ImageFile], path: str, reason: str) -> Iterator[ImageFile | NoImages]:
    first = next(found, None)
    yield NoImages(path, reason) if first is None else first
    yield from found


def _image_folders(root: str) -> Sequence[str]:
    """The directory itself, or of a data set of ours only the places where its images are."""
    if _is_split(root):
        return [os.path.join(root, "images")]
    splits = [name for name in os.listdir(root) if _is_split(os.path.join(root, name))]
    order = {name: number for number, name in enumerate(_SPLITS)}
    splits.sort(key=lambda name: (order.get(name, len(order)), name))
    return [os.path.join(root, name, "images") for name in splits] or [root]


def _is_split(folder: str) -> bool:
    return os.path.isdir(os.path.join(folder, "images")) and os.path.isfile(os.path.join(folder, "annotations.json"))


def _walk(folder: str, omit: str, above: tuple[str, ...]) -> Iterator[ImageFile]:
    """The image files below a directory; `above` are the directories on the way, to notice a link that leads back."""
    real = os.path.realpath(folder)
    if real in above or real == omit:
        return
    try:
        names = (name for name in _listed(folder) if not name.startswith("."))
        for name in _sorted(names):
            path = os.path.join(folder, name)
            if _suffix(name) in SUFFIXES | VIDEO_SUFFIXES and not os.path.isdir(path):
                yield ImageFile(path)
            elif os.path.isdir(path):
                yield from _walk(path, omit, (*above, real))
    except PermissionError:
        yield ImageFile(folder)  # reading it will say that it may not be read


def _listed(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry.name


def _sorted(names: Iterator[str]) -> Iterator[str]:
    """Names in natural order; many are sorted in parts, which wait on disk to be merged."""
    part = sorted(islice(names, _TOGETHER), key=_key)
    if len(part) < _TOGETHER:
        yield from part
        return
    with ExitStack() as stack:
        parts = []
        while part:
            file = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8"))
            file.writelines(json.dumps(name) + "\n" for name in part)
            file.seek(0)
            parts.append(file)
            part = sorted(islice(names, _TOGETHER), key=_key)
        yield from heapq.merge(*(map(json.loads, file) for file in parts), key=_key)


def _key(path: str) -> list[tuple[list[str | int], str]]:
    return [natural_key(part) for part in path.split(os.sep)]


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def _below(path: str, folder: str) -> bool:
    return os.path.realpath(path).startswith(os.path.join(folder, ""))


def _video_frames(path: str) -> Iterator[tuple[int | None, NDArray[np.uint8]]]:
    try:
        import cv2
    except ImportError as error:
        raise BadImage(f"is a video: {missing_extra('opencv-python', 'video')}") from error
    if not os.path.isfile(path):
        raise BadImage("does not exist")
    video = cv2.VideoCapture(path)
    try:
        number = 0
        while True:
            good, pixels = video.read()
            if not good:
                break
            yield number, np.ascontiguousarray(pixels[:, :, ::-1])
            number += 1
    finally:
        video.release()
    if number == 0:
        raise BadImage("is not a video that can be read, or is damaged")
