"""What counts as the same sample when a source wants its samples distinct."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from objectspace.data.generate import generate
from objectspace.data.sample import Sample
from objectspace.data.streams import Stream


class Letters:
    """A source whose units are given: each sample an image of one grey, named by the letter's number."""

    generator, version, licence, distinct = "letters", 1, "none", True

    def __init__(self, **units: Sequence[Sequence[Sample]]) -> None:
        self.units = units

    def settings(self) -> dict[str, Any]:
        return {}

    def make(self, split: str, group: str, unit: int) -> Sequence[Sample] | None:
        return self.units[split][unit] if unit < len(self.units[split]) else None

    def summary(self, records: Iterable[dict[str, Any]]) -> dict[str, Any]:
        return {}


def letter(name: str, identity: bytes = b"") -> Sample:
    return Sample(np.full((4, 4, 3), ord(name), np.uint8), attributes={"letter": name}, identity=identity)


def run(letters: str) -> list[Sample]:
    return [letter(name, f"{letters} {index}".encode()) for index, name in enumerate(letters)]


def made(source: Letters, root: Path, **counts: int) -> dict[str, str]:
    generate(source, root, [Stream(split, count) for split, count in counts.items()], workers=1)
    images = {split: json.loads((root / split / "annotations.json").read_text())["images"] for split in counts}
    return {split: "".join(image["letter"] for image in images[split]) for split in counts}


def test_an_image_that_occurred_in_another_split_is_dropped(tmp_path: Path) -> None:
    source = Letters(train=[[letter("a"), letter("b"), letter("a")]], val=[[letter("b"), letter("c")]])
    assert made(source, tmp_path / "set", train=2, val=1) == {"train": "ab", "val": "c"}


def test_an_image_that_found_no_room_may_be_used_by_the_next_split(tmp_path: Path) -> None:
    """As after a kill, when only what is in the journals is known."""
    source = Letters(train=[[letter("a"), letter("b")]], val=[[letter("b"), letter("c")]])
    assert made(source, tmp_path / "set", train=1, val=1) == {"train": "a", "val": "b"}


def test_samples_with_an_identity_are_told_apart_by_it(tmp_path: Path) -> None:
    source = Letters(train=[run("abc") + run("bcd"), run("abc") + run("cde")])
    assert made(source, tmp_path / "set", train=9) == {"train": "abcbcdcde"}
