"""Two HDF5 layouts of the multi-object data sets.

    ocl-hdf5 (object-centric-library)   image uint8 (N, H, W, C); mask, labels (N, H, W, 1), background first
    emorl-hdf5 (EfficientMORL)          {train,val,test}/imgs (N, H, W, C); {train,val,test}/masks (N, K, H, W, C)

Only images and masks are read; the object-centric-library's metadata .npy is a pickle and is never opened. How much of
a scene is background depends on the data set: files with "objects_room" in their name, or variant "objects_room",
are treated as told in masks.py; all others have one background. Files are opened anew for each unit of work, which
costs a millisecond and leaves nothing to carry between processes.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from objectspace.data.convert.base import Converter, ConvertOptions
from objectspace.data.convert.hdf5_arrays import load_h5py, opened, own_array, unit_size
from objectspace.data.convert.masks import OBJECTS_ROOM, labels_to_masks, masks_to_sample
from objectspace.data.sample import Problem, Sample
from objectspace.data.streams import Stream
from objectspace.errors import UserError
from objectspace.io.images import natural_key

SUFFIXES = (".hdf5", ".h5", ".hdf", ".he5")


@dataclass(frozen=True)
class ArrayPair:
    """The images and masks of one split of one file, by their names in it."""

    path: Path
    split: str
    group: str
    images: str
    masks: str
    count: int
    unit: int  # images of a unit of work


class Hdf5(Converter):
    """Images and masks in arrays."""

    def __init__(self, root: Path, options: ConvertOptions) -> None:
        super().__init__(root, options)
        load_h5py()
        paths = _hdf5_files(root)
        self.pairs: list[ArrayPair] = []
        digest = hashlib.blake2b(digest_size=12)
        for path in paths:
            with opened(path) as file:
                found = self._find(path, "" if len(paths) == 1 else path.stem, file)
            self.pairs += found
            digest.update(repr([(path.name, pair.split, pair.count) for pair in found]).encode())
            digest.update(str(path.stat().st_size).encode())
        options.check_hold_out({pair.split for pair in self.pairs})
        self._digest = digest.hexdigest()

    @property
    def digest(self) -> str:
        return self._digest

    def streams(self) -> list[Stream]:
        return [stream for pair in self.pairs for stream in self.options.streams(pair.split, pair.group, pair.count)]

    def make(self, split: str, group: str, unit: int) -> list[Sample | Problem] | None:
        pair = next(pair for pair in self.pairs if pair.group == group and split in self.options.shares(pair.split))
        first = unit * pair.unit
        end = min(first + pair.unit, pair.count, self.options.limit or pair.count)
        if first >= end:
            return None
        with opened(pair.path) as file:
            images, masks = file[pair.images][first:end], file[pair.masks][first:end]
        made: list[Sample | Problem] = []
        for number, image, mask in zip(range(first, end), images, masks, strict=True):
            source = f"{pair.path.name}/{pair.images}#{number}"
            if self.options.place(pair.split, f"{group}/{number}") == split:
                made.append(self._convert(image, mask, source, self._is_room(pair.path)))
        return made

    def _convert(self, image: NDArray[np.generic], mask: NDArray[Any], source: str, is_room: bool) -> Sample | Problem:
        try:
            masks = labels_to_masks(mask[..., 0]) if mask.ndim == 3 else mask.any(axis=-1)
            return masks_to_sample(_to_rgb(image), masks, source, is_room)
        except ValueError as error:
            return Problem(source, str(error))

    def _is_room(self, path: Path) -> bool:
        return OBJECTS_ROOM in (self.options.variant or path.name).lower().replace("objectsroom", OBJECTS_ROOM)

    def _find(self, path: Path, group: str, file: Any) -> list[ArrayPair]:
        """The pairs of arrays in an open file; raises UserError where it has another layout."""
        if self.format == "ocl-hdf5":
            places = [(self.options.split, "image", "mask")]
        else:
            splits = [(self.options.split_of(name), name) for name in file]
            places = [(split, f"{name}/imgs", f"{name}/masks") for split, name in splits if split is not None]
        expected = "image and mask" if self.format == "ocl-hdf5" else "{train,val,test}/imgs and /masks"
        if not places:
            raise _foreign(path, file, expected)
        pairs = []
        for split, images, masks in places:
            arrays = [own_array(file, name) for name in (images, masks)]
            if None in arrays:
                raise _foreign(path, file, expected)
            unit = unit_size(path, arrays[0], arrays[1], labels=self.format == "ocl-hdf5")
            pairs.append(ArrayPair(path, split, group, images, masks, len(arrays[0]), unit))
        return pairs


class OclHdf5(Hdf5):
    format = "ocl-hdf5"


class EmorlHdf5(Hdf5):
    format = "emorl-hdf5"


def _hdf5_files(root: Path) -> list[Path]:
    if root.is_file():
        return [root]
    paths = [path for path in root.iterdir() if path.suffix in SUFFIXES]
    if not paths:
        raise UserError(f"there are no HDF5 files in {root}: looked for *{' *'.join(SUFFIXES)}")
    return sorted(paths, key=lambda path: natural_key(path.name))


def _foreign(path: Path, file: Any, expected: str) -> UserError:
    found = ", ".join(sorted(str(name) for name in file)[:10]) or "nothing"
    return UserError(f"{path} has another layout: expected {expected}, found {found}")


def _to_rgb(image: NDArray[np.generic]) -> NDArray[np.uint8]:
    """(H, W, 1 or 3) of any type, values 0 to 255, as RGB bytes (H, W, 3); raises ValueError."""
    if image.dtype != np.uint8:
        if not (image.min() >= 0 and image.max() <= 255):  # also refuses NaN
            raise ValueError(f"its values reach from {image.min()} to {image.max()}, expected 0 to 255")
        image = np.rint(image.astype(np.float32))
    return np.ascontiguousarray(np.broadcast_to(image, (*image.shape[:2], 3)), dtype=np.uint8)
