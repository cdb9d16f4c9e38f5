"""RUN/data: a data set of ours that holds nothing but links to the pictures, training and held out."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from objectspace.auto.choose import Table, share_of_picture
from objectspace.auto.look import Look
from objectspace.auto.pictures import Files

MOST = 4000  # images of the model's size that are trained on
HELD_OUT = 96  # pictures


def link(files: Files, folder: Path, image: Table, seen: Look) -> None:
    """Make the data set; of more pictures than make enough images some are left out."""
    tiles = int(np.clip(np.ceil(1 / share_of_picture(seen, image)), 1, 16))
    for split, paths, most in (("train", files.train, max(50, MOST // tiles)), ("val", files.held_out, HELD_OUT)):
        images = folder / split / "images"
        images.mkdir(parents=True, exist_ok=True)
        for number, path in enumerate(_some(paths, most)):
            target = images / f"{number:05d}-{path.stem}{path.suffix}"
            if not os.path.lexists(target):
                _link(path.resolve(), target)


def _some(paths: Sequence[Path], most: int) -> list[Path]:
    numbers = np.unique(np.linspace(0, len(paths) - 1, min(len(paths), most)).astype(int))
    return [paths[number] for number in numbers]


def _link(path: Path, target: Path) -> None:
    try:
        target.symlink_to(path)
    except OSError:  # a file system without links
        shutil.copyfile(path, target)
