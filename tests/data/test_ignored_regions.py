"""Regions that count neither way, from a sample to disk and back."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from helpers.writers import convert
from objectspace.data import Dataset
from objectspace.data.generate import generate
from objectspace.data.sample import Sample, TrueObject
from objectspace.data.streams import Stream
from objectspace.reports.pictures import contact_sheet


class Screens:
    """Images with one object and, in every second one, a score."""

    generator, version, licence, distinct = "screens", 1, "none", False

    def settings(self) -> dict[str, object]:
        return {}

    def make(self, split: str, group: str, unit: int) -> Sequence[Sample]:
        score = TrueObject("Score", (1, 0, 5, 2))
        image = np.full((8, 12, 3), 10 * unit, np.uint8)
        return [Sample(image, (TrueObject("Ship", (2, 4, 6, 7)),), ignored=(score,) * (unit % 2))]

    def summary(self, records: Iterable[dict[str, object]]) -> dict[str, object]:
        return {}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    generate(Screens(), tmp_path / "set", [Stream("train", 4)], workers=1)
    return tmp_path / "set"


def test_they_are_crowds_in_the_file(root: Path) -> None:
    content = json.loads((root / "train" / "annotations.json").read_text())
    names = {category["id"]: category["name"] for category in content["categories"]}
    kinds = [(names[each["category_id"]], each["iscrowd"], each.get("ignore", 0)) for each in content["annotations"]]
    assert kinds == [("Ship", 0, 0), ("Ship", 0, 0), ("Score", 1, 1), ("Ship", 0, 0), ("Ship", 0, 0), ("Score", 1, 1)]


def test_they_are_not_among_the_objects(root: Path) -> None:
    dataset = Dataset(root, "train", size=(16, 12))
    assert dataset.object_count == 4
    assert {name for index in range(4) for name in dataset.categories(index)} == {"Ship"}
    assert [len(dataset.ignored_boxes(index)) for index in range(4)] == [0, 1, 0, 1]
    assert dataset.ignored_boxes(1).tolist() == [[1, 0, 5, 4]], "they scale with the image"
    assert len(dataset.scene(1).objects) == len(dataset.boxes(1)) == 1


def test_they_survive_a_conversion(root: Path, tmp_path: Path) -> None:
    made, _ = convert(root, "coco", tmp_path / "copy")
    assert made.problems == ()
    copy = Dataset(tmp_path / "copy", "train")
    assert copy.object_count == 4
    assert copy.ignored_boxes(3).tolist() == [[1, 0, 5, 2]]


def test_images_without_annotations_have_none(tmp_path: Path) -> None:
    (tmp_path / "train" / "images").mkdir(parents=True)
    Image.new("RGB", (4, 4)).save(tmp_path / "train" / "images" / "a.png")
    assert Dataset(tmp_path, "train").ignored_boxes(0).shape == (0, 4)


def test_a_contact_sheet_shows_them_dashed(root: Path) -> None:
    dataset = Dataset(root, "train")
    images, scenes = [dataset.images[1]], [dataset.scene(1)]
    plain = contact_sheet(images, scenes, ["a"], 1, side=48)
    marked = contact_sheet(images, scenes, ["a"], 1, side=48, ignored=[dataset.ignored_boxes(1).tolist()])
    changed = marked[(plain != marked).any(2)]
    assert {tuple(pixel) for pixel in changed.tolist()} == {(0, 0, 0), (255, 255, 255)}
