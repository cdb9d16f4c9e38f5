"""What all converters share: the options, and which image goes into which split."""

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from objectspace.data.sample import Problem, Sample
from objectspace.data.store import SPLITS
from objectspace.data.streams import Stream
from objectspace.errors import UserError
from objectspace.io.files import Json

SPLIT_NAMES = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "dev": "val",
    "test": "test",
    "testing": "test",
}


@dataclass(frozen=True)
class ConvertOptions:
    """What a user may say about a conversion.

    `val`, `test`: fractions of the training images to hold out, chosen by a hash of (seed, name), so that a file stays
    in its split when others come or go. `split`: where the images of a source without splits go. `split_names`:
    further names of split directories, as (name, split). `limit`: only the first so many images of every split of the
    source. `variant`: which data set it is, where the files leave it open. `crop`: the customary crop of
    clevr_with_masks. `images`: the image directory of a COCO file.
    """

    val: float = 0.0
    test: float = 0.0
    split: str = "train"
    split_names: tuple[tuple[str, str], ...] = ()
    seed: int = 0
    limit: int | None = None
    variant: str | None = None
    crop: bool = False
    images: Path | None = None

    def __post_init__(self) -> None:
        if self.val < 0 or self.test < 0 or self.val + self.test > 1:
            raise UserError(f"--val {self.val} --test {self.test}: give fractions from 0 to 1 that leave something")
        if self.limit is not None and self.limit < 1:
            raise UserError(f"--limit {self.limit}: at least one image is needed")
        for split in (self.split, *(split for _, split in self.split_names)):
            if split not in SPLITS:
                raise UserError(f"there is no split {split!r}: it is one of {', '.join(SPLITS)}")

    def settings(self) -> Json:
        """All of it but what changes no pixel."""
        return {key: value for key, value in asdict(self).items() if key != "images"}

    def split_of(self, name: str) -> str | None:
        """Our name of the split that a source calls `name`, or None if that is no split."""
        return dict(self.split_names).get(name) or SPLIT_NAMES.get(name.lower())

    def check_hold_out(self, splits: Iterable[str]) -> None:
        """Refuse to hold out a split that the source has itself, or that there is nothing to take from."""
        splits = set(splits)
        for name, fraction in (("val", self.val), ("test", self.test)):
            if fraction and name in splits:
                raise UserError(f"--{name} {fraction}: the source has its own {name} images already, leave it out")
            if fraction and "train" not in splits:
                raise UserError(f"--{name} {fraction}: the source has no train images to take them from")

    def place(self, split: str, name: str) -> str:
        """The split of an image that the source has in `split`, after holding out."""
        if split != "train" or not (self.val or self.test):
            return split
        digest = hashlib.blake2b(f"{self.seed}/{name}".encode(errors="surrogateescape"), digest_size=8).digest()
        chance = int.from_bytes(digest, "big") / 2**64
        return "test" if chance < self.test else "val" if chance < self.test + self.val else "train"

    def shares(self, split: str) -> dict[str, float]:
        """The splits that `place` may give for `split`, with the fraction of the images to be expected in each."""
        if split != "train":
            return {split: 1.0}
        held_out = {name: fraction for name, fraction in (("val", self.val), ("test", self.test)) if fraction}
        return {"train": 1 - self.val - self.test} | held_out

    def streams(self, split: str, group: str, count: int) -> list[Stream]:
        """The streams for about `count` images that the source has in `split`."""
        count = count if self.limit is None else min(count, self.limit)
        return [Stream(name, None, group, round(count * share)) for name, share in self.shares(split).items()]


def split_directories(root: Path, options: ConvertOptions) -> dict[str, Path]:
    """Those of the sub-directories of `root` that are splits, by our name."""
    found: dict[str, Path] = {}
    for path in sorted(path for path in root.iterdir() if path.is_dir()):
        split = options.split_of(path.name)
        if split is not None and split in found:
            raise UserError(f"{found[split]} and {path} are both {split}: rename one, or convert them one at a time")
        if split is not None:
            found[split] = path
    return found


class Converter(ABC):
    """The part of `data.source.Source` that all converters have in common."""

    format: ClassVar[str]
    version: ClassVar[int] = 1
    licence: ClassVar[str] = "that of the source"
    distinct: ClassVar[bool] = False

    def __init__(self, root: Path, options: ConvertOptions) -> None:
        self.root, self.options = root, options

    @property
    def generator(self) -> str:
        return f"convert-{self.format}"

    @property
    @abstractmethod
    def digest(self) -> str:
        """Changes when the source does."""

    @abstractmethod
    def streams(self) -> list[Stream]:
        """All there is to convert."""

    @abstractmethod
    def make(self, split: str, group: str, unit: int) -> list[Sample | Problem] | None:
        """One unit, see `data.source.Source`."""

    def settings(self) -> Json:
        return {"source": self.root.resolve().name, "digest_of_source": self.digest, **self.options.settings()}

    def summary(self, records: Iterable[Json]) -> Json:
        images, categories = 0, Counter[str]()
        for record in records:
            images += 1
            categories.update(item["category"] for item in record["objects"])
        return {"images": images, "objects": sum(categories.values()), "categories": dict(sorted(categories.items()))}
