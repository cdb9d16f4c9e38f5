"""Decode the images of a split once into a uint8 memory map, and know later whether it still fits the files.

Reads image files; gives an array (n, H, W, 3) on disk, the truth about the images in it, and the list of files that
could not be used. The map lies in `<split>/.cache`, or in the user's cache directory where that is not writable.
"""

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from objectspace.data import truth
from objectspace.data.sample import Problem
from objectspace.data.tiles import Tile, in_turns, seeded, truth_in_tiles
from objectspace.data.truth import Annotations
from objectspace.errors import UserError
from objectspace.io.files import Json, read_json, write_json
from objectspace.io.images import BadImage, list_images, read_deep, read_image, resize
from objectspace.io.progress import logged_progress
from objectspace.io.view import View, for_training, scaled_size

CACHE_VERSION = 5


class MixedSizesError(UserError):
    """The images have different sizes, so one must be chosen to read them at."""


@dataclass(frozen=True)
class MemoryMap:
    """The usable images of a split, their file names, what is known about them, and the files left out."""

    images: NDArray[np.uint8]  # (n, H, W, 3)
    names: tuple[str, ...]
    truth: Annotations
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class _Plan:
    """What a split holds on disk: the files to decode with their annotation entries, and what is wrong with it."""

    folder: Path
    entries: dict[str, Json]  # by file name
    annotations: Json | None
    problems: list[Problem]


def open_map(split_folder: Path, size: tuple[int, int] | None, channels: str, view: View | None = None) -> MemoryMap:
    """The memory map of a split at `size` (height, width; None: that of the images), built if need be.

    With a `view` it holds what a model with that view is trained on.
    """
    view = None if view is None or _is_plain(view) else view
    fingerprint = fingerprint_of(split_folder, size, channels, view)
    name = f"{channels}-{'own' if size is None else f'{size[0]}x{size[1]}'}{'' if view is None else '-view'}"
    places = [
        split_folder / ".cache",
        _user_cache() / hashlib.blake2b(str(split_folder.resolve()).encode()).hexdigest()[:16],
    ]
    for place in places:
        found = _load(place / name, fingerprint)
        if found is not None:
            return found
    writable = [place for place in places if _writable(place)]
    if not writable:
        raise UserError(f"no place to keep decoded images: neither {places[0]} nor {places[1]} can be written")
    _build(split_folder, writable[0] / name, size, channels, view, fingerprint)
    built = _load(writable[0] / name, fingerprint)
    if built is None:
        raise UserError(f"the files of {split_folder} changed while they were being read: try again")
    return built


def _is_plain(view: View) -> bool:
    return not view.scale and view.stretch == "none" and view.gamma == 1


def fingerprint_of(
    split_folder: Path, size: tuple[int, int] | None = None, channels: str = "rgb", view: View | None = None
) -> str:
    """A digest of all that the map depends on: every file's name, length and time, and how it is read."""
    images = split_folder / "images"
    if not images.is_dir():
        raise UserError(f"{split_folder} has no directory 'images': it is not a split of a data set")
    lines = [f"{CACHE_VERSION} {size} {channels}"]
    if view is not None:
        lines.append(f"{view.scale} {view.stretch} {view.low} {view.high} {view.gamma}")
    for path in [*list_images(images), split_folder / "annotations.json"]:
        if path.exists():
            stat = path.stat()
            lines.append(f"{path.relative_to(split_folder)} {stat.st_size} {stat.st_mtime_ns}")
    return hashlib.blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()


def _load(base: Path, fingerprint: str) -> MemoryMap | None:
    index = base.with_suffix(".json")
    if not index.exists():
        return None
    content = read_json(index)
    if content.get("fingerprint") != fingerprint:
        return None
    pixels, facts = Path(f"{base}-{fingerprint}.u8"), Path(f"{base}-{fingerprint}.npz")
    shape = tuple(content["shape"])
    if not facts.exists() or not pixels.exists() or pixels.stat().st_size != int(np.prod(shape)):
        return None
    return MemoryMap(
        images=np.memmap(pixels, np.uint8, mode="r", shape=shape),
        names=tuple(content["names"]),
        truth=Annotations.load(facts),
        problems=tuple(Problem(*problem) for problem in content["problems"]),
    )


def _build(
    split_folder: Path,
    base: Path,
    size: tuple[int, int] | None,
    channels: str,
    view: View | None,
    fingerprint: str,
) -> None:
    plan = _plan(split_folder)
    if size is None and view is not None and view.scale:
        raise UserError(f"the images of {split_folder} are to be seen in tiles: say of which size")
    size = size or _common_size(plan)
    pixels = Path(f"{base}-{fingerprint}.u8")
    temporary = pixels.with_name(f"{pixels.name}.{os.getpid()}.tmp")
    try:
        tiles = _decode_all(plan, temporary, size, channels, view, log=base.parent / "log.jsonl")
        good, known, more = [tile.name for tile in tiles], truth.empty(len(tiles)), list[Problem]()
        if view is not None and view.scale:
            order = in_turns(tiles)
            _reorder(temporary, (len(tiles), *size, 3), order)
            tiles = [tiles[number] for number in order]
            good = [f"{tile.name}@{tile.left},{tile.top}" for tile in tiles]
        if plan.annotations is not None:
            content, entries = plan.annotations, [plan.entries[name] for name in good if name in plan.entries]
            if view is not None and view.scale:
                content, entries = truth_in_tiles(plan.annotations, plan.entries, tiles, size)
            known, more = truth.collect(content, entries, split_folder / "annotations.json")
        for old in base.parent.glob(f"{base.name}-*"):
            if old != temporary and not old.name.endswith(".tmp"):
                old.unlink(missing_ok=True)
        known.save(Path(f"{base}-{fingerprint}.npz"))
        temporary.replace(pixels)
    except OSError as error:
        raise UserError(f"cannot keep the decoded images of {split_folder}: {error}") from error
    finally:
        temporary.unlink(missing_ok=True)
    problems = [(problem.where, problem.reason) for problem in [*plan.problems, *more]]
    content = {"fingerprint": fingerprint, "shape": [len(good), *size, 3], "names": good, "problems": problems}
    write_json(base.with_suffix(".json"), content)


def _plan(split_folder: Path) -> _Plan:
    images, path = split_folder / "images", split_folder / "annotations.json"
    on_disk = {str(file.relative_to(images)) for file in list_images(images)}
    if not path.exists():
        made = (split_folder.parent / "dataset.json").exists()
        missing = [Problem("annotations.json", "is missing, so no object is known")] if made else []
        return _Plan(images, {name: {} for name in sorted(on_disk)}, None, missing)
    annotations = read_json(path)
    entries = truth.images_of(annotations, path)
    problems = [Problem(name, "named in annotations.json but absent") for name in entries if name not in on_disk]
    problems += [Problem(name, "not named in annotations.json: left out") for name in sorted(on_disk - entries.keys())]
    return _Plan(images, {name: entry for name, entry in entries.items() if name in on_disk}, annotations, problems)


def _common_size(plan: _Plan) -> tuple[int, int]:
    """The size that all images share."""
    sizes: set[tuple[int, int]] = set()
    for name, entry in plan.entries.items():
        if entry.get("height") and entry.get("width"):
            sizes.add((int(entry["height"]), int(entry["width"])))
            continue
        try:
            height, width, _ = read_image(plan.folder / name).shape
            sizes.add((height, width))
        except BadImage:
            continue  # it will be listed when it is decoded
    if len(sizes) > 1:
        listed = ", ".join(f"{height} x {width}" for height, width in sorted(sizes)[:4])
        raise MixedSizesError(
            f"the images of {plan.folder} have different sizes ({listed}, ...): say which size to read them at"
        )
    return next(iter(sizes), (1, 1))


def _decode_all(
    plan: _Plan, target: Path, size: tuple[int, int], channels: str, view: View | None, log: Path
) -> list[Tile]:
    """Write all usable images to `target`, one after the other, and say what they are; note the others."""
    good: list[Tile] = []
    order = slice(None) if channels == "rgb" else slice(None, None, -1)

    def decode(name: str) -> tuple[list[Tile], list[NDArray[np.uint8]]] | Problem:
        try:
            if view is None:
                tiles, pictures = [Tile(name)], resize(read_image(plan.folder / name), *size)[None]
            else:
                photo = read_deep(plan.folder / name)
                pictures, corners = for_training(photo, view, size, seeded(name))
                own = photo.shape[0], photo.shape[1]
                shown = scaled_size(*own, view.scale or 1)
                tiles = [Tile(name, top, left, own, shown) for top, left in corners.tolist()]
        except BadImage as error:
            return Problem(name, str(error))
        return tiles, [np.ascontiguousarray(picture[..., order]) for picture in pictures]

    what = f"decoding {plan.folder.parent.name}"
    with (
        target.open("wb") as file,
        ThreadPoolExecutor(os.cpu_count() or 1) as threads,
        logged_progress(what, len(plan.entries), log) as progress,
    ):
        for names in _chunks(list(plan.entries), 256):
            for made in threads.map(decode, names):
                if isinstance(made, Problem):
                    plan.problems.append(made)
                else:
                    file.writelines(picture.tobytes() for picture in made[1])
                    good += made[0]
            progress.advance(len(names))
        file.flush()
        os.fsync(file.fileno())
    if not good:
        listed = "".join(f"\n  {problem}" for problem in plan.problems[:20])
        raise UserError(f"no image in {plan.folder} can be used{listed or ': the directory is empty'}")
    return good


def _reorder(pixels: Path, shape: tuple[int, ...], order: Sequence[int]) -> None:
    """Put the images of a file (n, H, W, 3) into another order."""
    before = np.memmap(pixels, np.uint8, mode="r", shape=shape)
    after = pixels.with_name(f"{pixels.name}.turned")
    try:
        with after.open("wb") as file:
            file.writelines(before[number].tobytes() for number in order)
            file.flush()
            os.fsync(file.fileno())
        after.replace(pixels)
    finally:
        after.unlink(missing_ok=True)


def _chunks(names: Sequence[str], length: int) -> list[Sequence[str]]:
    return [names[start : start + length] for start in range(0, len(names), length)]


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "objectspace"


def _writable(place: Path) -> bool:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(place, os.W_OK)
