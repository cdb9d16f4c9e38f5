"""The pictures that somebody points to: a folder of any files, or a data set, as lists and as a sample in memory."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from objectspace.data.convert.base import ConvertOptions
from objectspace.data.sample import Problem
from objectspace.errors import UserError
from objectspace.io.images import BadImage, Photo, list_images, read_deep

LEAST = 8  # pictures without which there is nothing to learn from
HELD_OUT = 0.1  # of the pictures, where the data set does not say
SAMPLE = 160  # pictures that are looked at, at most ...
PIXELS = 2**26  # ... and pixels of them


@dataclass(frozen=True)
class Files:
    """Which pictures there are to learn from, and which are kept to measure on."""

    root: Path
    train: tuple[Path, ...]
    held_out: tuple[Path, ...]


@dataclass(frozen=True)
class Sample:
    """Some of the pictures, in their order, spread over all of them."""

    paths: tuple[Path, ...]
    pictures: tuple[Photo, ...]  # at full depth
    problems: tuple[Problem, ...]


def find(data: Path) -> Files:
    """The pictures below a folder, or of the splits of a data set; labels are never read.

    One picture of ten is held out, chosen by its name, unless there is a split val or test.
    """
    if not data.exists():
        raise UserError(f"there is nothing at {data}: give a folder of pictures, or a data set")
    if not data.is_dir():
        raise UserError(f"{data} is a file: give the folder that holds the pictures")
    splits = {split: data / split / "images" for split in ("train", "val", "test")}
    if splits["train"].is_dir():
        train = tuple(list_images(splits["train"]))
        other = next((folder for split, folder in splits.items() if split != "train" and folder.is_dir()), None)
        held_out = tuple(list_images(other)) if other else ()
    else:
        train, held_out = tuple(list_images(data)), ()
    if not held_out:
        where = ConvertOptions(val=HELD_OUT)
        held = {path for path in train if where.place("train", path.relative_to(data).as_posix()) == "val"}
        held = held or set(train[::10])
        train, held_out = tuple(path for path in train if path not in held), tuple(sorted(held))
    if len(train) + len(held_out) < LEAST:
        raise UserError(
            f"{data} holds {len(train) + len(held_out)} pictures: at least {LEAST} are needed to learn what they "
            "share, and a few hundred to learn it well"
        )
    return Files(data, train, held_out)


def sample(files: Files, most: int = SAMPLE) -> Sample:
    """Read some of the training pictures; what cannot be read is listed, and too few that can are refused."""
    numbers = np.unique(np.linspace(0, len(files.train) - 1, min(most, len(files.train))).astype(int))
    paths, pictures, problems, room = list[Path](), list[Photo](), list[Problem](), PIXELS
    for number in np.random.default_rng(0).permutation(numbers):
        path = files.train[number]
        try:
            picture = read_deep(path)
        except BadImage as error:
            problems.append(Problem(path.relative_to(files.root).as_posix(), error.reason))
            continue
        paths.append(path)
        pictures.append(picture)
        room -= picture.shape[0] * picture.shape[1]
        if room < 0 and len(pictures) >= LEAST:
            break
    if len(pictures) < LEAST // 2:
        listed = "".join(f"\n  {problem}" for problem in problems[:10])
        raise UserError(f"only {len(pictures)} pictures of {files.root} can be read:{listed}")
    order = sorted(range(len(paths)), key=lambda each: files.train.index(paths[each]))
    return Sample(tuple(paths[each] for each in order), tuple(pictures[each] for each in order), tuple(problems))
