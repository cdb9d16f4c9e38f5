"""What other programs read: COCO, Label Studio, tables, latents, pictures."""

import csv
import io
import json
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pycocotools import mask as coco_masks
from pycocotools.coco import COCO
from safetensors import safe_open
from safetensors.numpy import load_file

from objectspace.results import record as records
from objectspace.results.coco import write_coco
from objectspace.results.counts import write_counts
from objectspace.results.cutouts import crops, label_map
from objectspace.results.label_studio import write_label_studio
from objectspace.results.latents import write_latents
from objectspace.results.record import Record
from objectspace.scene import Object, Scene


def scene_of(*boxes: tuple[int, int, int, int], size: tuple[int, int] = (20, 40)) -> Scene:
    objects = []
    for number, (x0, y0, x1, y1) in enumerate(boxes):
        mask = np.zeros(size, np.bool_)
        mask[y0:y1, x0:x1] = True
        mask[y0, x0] = False
        what = np.arange(3, dtype=np.float32) + number
        where = (x0 - 1.5, y0 - 1.5, x1 + 1.5, y1 + 1.5)
        worth = {"whole_box": (x0, y0, x1 + 1, y1), "evidence": 100.0} if number == 0 else {}
        objects.append(Object((x0, y0, x1, y1), where, 0.5 + 0.1 * number, -float(number), what, mask, **worth))
    return Scene(*size, tuple(objects))


SCENES = [scene_of((2, 3, 10, 9), (20, 5, 40, 20)), scene_of(), scene_of((0, 0, 40, 20))]


def record(number: int, scene: Scene, **changes) -> Record:
    names = {"key": f"/in/{number}.png", "file_name": f"in/{number} ü.png", "name": f"{number}"}
    rest = {"frame": None, "source": None, "height": scene.height, "width": scene.width}
    objects, what = records.found(scene)
    return Record(number, **(names | rest | changes), objects=records.from_text(records.to_text(objects)), what=what)


@pytest.fixture
def some() -> list[Record]:
    return [record(number, scene) for number, scene in enumerate(SCENES, start=1)]


def test_coco_loads_in_pycocotools(some, tmp_path):
    write_coco(tmp_path / "a.json", some, {"model": "m"})
    coco = COCO(str(tmp_path / "a.json"))
    assert coco.getImgIds() == [1, 2, 3]
    assert [coco.imgs[number]["file_name"] for number in (1, 2, 3)] == [item.file_name for item in some]
    assert sorted(coco.anns) == [1, 2, 3]
    assert [annotation["image_id"] for annotation in coco.anns.values()] == [1, 1, 3]
    items = [item for scene in SCENES for item in scene.objects]
    for annotation, item in zip(coco.anns.values(), items, strict=True):
        assert np.array_equal(coco.annToMask(annotation), item.mask)
        assert annotation["area"] == item.mask.sum() == coco_masks.area(annotation["segmentation"])
        x, y, width, height = annotation["bbox"]
        assert (x, y, x + width, y + height) == item.box
        assert annotation["score"] == item.score
        assert annotation.get("evidence") == item.evidence
        assert ("whole_bbox" in annotation) == (item.whole_box is not None)
    assert coco.anns[1]["whole_bbox"] == [2, 3, 9, 6]
    found = coco.loadRes(list(coco.anns.values()))
    assert len(found.anns) == 3


def test_no_images_are_valid_coco(tmp_path):
    write_coco(tmp_path / "a.json", [], {})
    assert COCO(str(tmp_path / "a.json")).getImgIds() == []


def test_frames_say_where_they_come_from(tmp_path):
    write_coco(tmp_path / "a.json", [record(1, SCENES[0], frame=4, source="clip.gif")], {})
    (image,) = json.loads((tmp_path / "a.json").read_text())["images"]
    assert (image["source"], image["frame"], image["scene"]) == ("clip.gif", 4, "scenes/1.json")


def test_label_studio_has_rectangles_in_percent(some, tmp_path):
    write_label_studio(tmp_path / "tasks.json", some, "space-v1")
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    assert [len(task["predictions"][0]["result"]) for task in tasks] == [2, 0, 1]
    assert tasks[0]["data"]["image"] == "/data/local-files/?d=in/1%20%C3%BC.png"
    prediction = tasks[0]["predictions"][0]
    assert prediction["model_version"] == "space-v1"
    assert prediction["score"] == pytest.approx(0.55)
    first = prediction["result"][0]
    assert (first["original_width"], first["original_height"], first["score"]) == (40, 20, 0.5)
    assert first["type"] == "rectanglelabels"
    value = {"x": 5.0, "y": 15.0, "width": 20.0, "height": 30.0, "rotation": 0, "rectanglelabels": ["object"]}
    assert first["value"] == value
    whole = tasks[2]["predictions"][0]["result"][0]["value"]
    assert (whole["x"], whole["y"], whole["width"], whole["height"]) == (0, 0, 100, 100)


def test_counts_are_a_table(some, tmp_path):
    write_counts(tmp_path / "c.csv", [*some, record(4, SCENES[0], file_name='a "b", c.png', unexplained=0.125)])
    rows = list(csv.DictReader(io.StringIO((tmp_path / "c.csv").read_text())))
    assert [row["objects"] for row in rows] == ["2", "0", "1", "2"]
    assert rows[3]["file_name"] == 'a "b", c.png'
    assert float(rows[2]["covered"]) == pytest.approx(799 / 800, abs=1e-4)
    assert rows[1]["mean_score"] == ""
    assert [row["mean_evidence"] for row in rows] == ["100.0", "", "100.0", "100.0"]
    assert [row["unexplained"] for row in rows] == ["", "", "", "0.1250"]


def test_latents_load_with_the_library(some, tmp_path):
    write_latents(tmp_path / "l.safetensors", some, "m")
    tensors = load_file(tmp_path / "l.safetensors")
    assert tensors["image"].tolist() == [0, 0, 2]
    assert np.array_equal(tensors["what"], np.concatenate([item.what for item in some if item.objects]))
    assert np.array_equal(tensors["boxes"], np.concatenate([scene.boxes for scene in SCENES]))
    assert np.array_equal(tensors["where_boxes"], np.concatenate([scene.where_boxes for scene in SCENES]))
    assert tensors["scores"].tolist() == pytest.approx([0.5, 0.6, 0.5])
    assert tensors["depths"].tolist() == [0, -1, 0]
    assert np.array_equal(tensors["whole_boxes"], np.concatenate([scene.whole_boxes for scene in SCENES]))
    assert np.array_equal(tensors["evidence"], np.array([100, np.nan, 100], np.float32), equal_nan=True)


def half_understood() -> Record:
    known, strange = scene_of((2, 3, 10, 9)).objects[0], scene_of((20, 5, 40, 20)).objects[0]
    return record(1, Scene(20, 40, (known, replace(strange, understood=False))))


def test_what_is_not_understood_says_so_in_coco(tmp_path):
    write_coco(tmp_path / "annotations.json", [half_understood()], {})
    annotations = json.loads((tmp_path / "annotations.json").read_text())["annotations"]
    assert [item.get("understood", True) for item in annotations] == [True, False]
    assert "understood" not in annotations[0]


def test_what_is_not_understood_says_so_in_every_other_format(tmp_path):
    both = [half_understood()]
    write_counts(tmp_path / "c.csv", both)
    [row] = csv.DictReader(io.StringIO((tmp_path / "c.csv").read_text()))
    assert (row["objects"], row["understood"]) == ("2", "1")
    write_latents(tmp_path / "l.safetensors", both, "m")
    assert load_file(tmp_path / "l.safetensors")["understood"].tolist() == [True, False]
    write_label_studio(tmp_path / "s.json", both, "m")
    [task] = json.loads((tmp_path / "s.json").read_text())
    regions = task["predictions"][0]["result"]
    assert [item.get("meta") for item in regions] == [None, {"text": ["not understood"]}]


def test_objects_noted_before_there_was_evidence_can_be_read():
    (item,) = records.from_text("[[[0, 1, 2, 3], [0, 1, 2, 3], 0.5, 0.0, null, null]]")
    assert (item.whole_box, item.evidence) == (None, None)


def test_latents_have_their_names(some, tmp_path):
    write_latents(tmp_path / "l.safetensors", some, "m")
    with safe_open(tmp_path / "l.safetensors", framework="np") as file:
        assert json.loads(file.metadata()["names"]) == [item.file_name for item in some]


def test_latents_of_no_objects_load(tmp_path):
    write_latents(tmp_path / "l.safetensors", [record(1, SCENES[1])], "m")
    assert len(load_file(tmp_path / "l.safetensors")["what"]) == 0


class Many:
    """A great many records that exist one at a time."""

    def __init__(self, count: int) -> None:
        self.count, self.one = count, record(1, SCENES[0])

    def __iter__(self) -> Iterator[Record]:
        return (self.one for _ in range(self.count))


@pytest.mark.parametrize(
    "write",
    [
        lambda path, many: write_coco(path, many, {}),
        lambda path, many: write_label_studio(path, many, "m"),
        write_counts,
    ],
    ids=["coco", "label studio", "counts"],
)
def test_memory_does_not_grow_with_the_images(write, tmp_path):
    peaks = []
    for count in (20, 1000):
        tracemalloc.start()
        write(tmp_path / "file", Many(count))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 20_000


def test_crops_are_cut_out_of_the_image():
    image = np.random.default_rng(0).integers(0, 255, (20, 40, 3), dtype=np.uint8)
    first, second = crops(image, SCENES[0])
    assert first.size == (8, 6)
    assert np.array_equal(np.asarray(first)[..., :3], image[3:9, 2:10])
    assert np.asarray(first)[0, 0, 3] == 0
    assert np.asarray(first)[1, 1, 3] == 255
    assert second.size == (20, 15)


@pytest.mark.parametrize("count", [2, 300])
def test_a_label_map_says_who_owns_each_pixel(count, tmp_path: Path):
    scene = scene_of(*((x % 40, x // 40, x % 40 + 1, x // 40 + 2) for x in range(count)))
    label_map(scene, [(255, 0, 0)] * count).save(tmp_path / "m.png")
    with Image.open(tmp_path / "m.png") as picture:
        labels = np.asarray(picture)
    for number, item in enumerate(scene.objects, start=1):
        x0, y0, _, _ = (int(value) for value in item.box)
        assert labels[y0 + 1, x0] in (number, number + 40)  # another one may lie over it
    assert labels.max() == count
    assert labels[19, 39] == 0
