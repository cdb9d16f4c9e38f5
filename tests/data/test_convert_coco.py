import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pycocotools import mask as pycoco

from helpers.writers import convert, picture, save
from objectspace.data.convert import open_source
from objectspace.data.convert.polygon import rasterise
from objectspace.errors import UserError
from objectspace.geometry import rle

MASK = np.zeros((12, 10), bool)
MASK[3:6, 2:8] = True


def write_coco(path: Path, names: list[str], annotations: list[dict[str, Any]], **more: Any) -> Path:
    images = [{"id": 7 + i, "file_name": name, "height": 12, "width": 10} for i, name in enumerate(names)]
    numbered = [{"id": i, "image_id": 7, "category_id": 3, **item} for i, item in enumerate(annotations, start=1)]
    content = {"images": images, "annotations": numbered, "categories": [{"id": 3, "name": "cat"}]}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content | more))
    return path


def objects(tmp_path: Path, annotations: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """What becomes of the annotations of one image, and the problems."""
    save(tmp_path / "src" / "a.png", picture(0))
    write_coco(tmp_path / "src" / "annotations.json", ["a.png"], annotations)
    made, splits = convert(tmp_path / "src", "coco", tmp_path / "out")
    assert np.array_equal(splits["train"].images["a.png"], picture(0))
    return splits["train"].objects["a.png"], [str(problem) for problem in made.problems]


@pytest.mark.parametrize(
    "segmentation",
    [
        [[2, 3, 8, 3, 8, 6, 2, 6]],
        [[2, 3, 4, 3, 4, 6, 2, 6], [4, 3, 8, 3, 8, 6, 4, 6]],
        dict(rle.encode(MASK)),
        {"size": [12, 10], "counts": [27, *[3, 9] * 5, 3, 120 - 27 - 63]},
    ],
    ids=["polygon", "polygons", "compressed", "uncompressed"],
)
def test_every_spelling_of_a_mask_is_understood(tmp_path: Path, segmentation: Any) -> None:
    (item,), problems = objects(tmp_path, [{"bbox": [1, 2, 8, 5], "segmentation": segmentation}])
    assert problems == []
    assert np.array_equal(rle.decode(item["segmentation"]), MASK)
    assert (item["bbox"], item["visible_bbox"], item["area"]) == ([1, 2, 8, 5], [2, 3, 6, 3], 18)
    assert item["category"] == "cat"


def test_a_box_alone_or_a_mask_alone_will_do_and_crowds_are_no_objects(tmp_path: Path) -> None:
    crowd = {"iscrowd": 1, "bbox": [0, 0, 9, 9], "segmentation": {"size": [12, 10], "counts": [120]}}
    found, problems = objects(
        tmp_path, [{"bbox": [-2, 1, 5, 4]}, {"segmentation": dict(rle.encode(MASK))}, crowd, {"bbox": [1, 1, 2, 2]}]
    )
    assert problems == []
    single = [item for item in found if not item["iscrowd"]]
    assert [item["bbox"] for item in single] == [[0, 1, 3, 4], [2, 3, 6, 3], [1, 1, 2, 2]]
    assert "segmentation" not in single[0]
    assert [item["bbox"] for item in found if item["iscrowd"]] == [[0, 0, 9, 9]]


def test_bad_annotations_are_listed_and_the_others_kept(tmp_path: Path) -> None:
    bad: list[dict[str, Any]] = [
        {"bbox": [1, 1, 0, 4]},
        {"bbox": [50, 50, 4, 4]},
        {"bbox": [1, 1, float("nan"), 4]},
        {"bbox": "left"},
        {},
        {"bbox": [1, 1, 2, 2], "category_id": 99},
        {"bbox": [1, 1, 2, 2], "category_id": [3]},
        {"segmentation": [[1, 2, 3]]},
        {"segmentation": [[1, 2, 3, 4, "5", 6]]},
        {"segmentation": 5},
        {"segmentation": {"size": [10**6, 10**6], "counts": "abc"}},
        {"segmentation": dict(rle.encode(MASK.T))},
        {"segmentation": {"size": [12, 10], "counts": "zzz"}},
        {"segmentation": {"size": [12, 10], "counts": [-5, 125]}},
        {"segmentation": {"size": [12, 10], "counts": [10**30]}},
        {"segmentation": {"size": [12, 10]}},
    ]
    found, problems = objects(tmp_path, [*bad, {"bbox": [1, 1, 2, 2]}])
    assert [item["bbox"] for item in found] == [[1, 1, 2, 2]]
    assert [problem.split(":")[0] for problem in problems] == [f"a.png, annotation {i}" for i in range(1, 17)]


def test_annotations_for_absent_images_are_listed(tmp_path: Path) -> None:
    save(tmp_path / "src" / "images" / "a.png", picture(0))
    save(tmp_path / "src" / "images" / "wide.png", picture(0, 10, 12))
    save(tmp_path / "secret.png", picture(0))
    names = ["a.png", "gone.png", "wide.png", "../../secret.png", "/etc/passwd"]
    box = {"bbox": [1, 1, 2, 2]}
    write_coco(tmp_path / "src" / "annotations.json", names, [box, {**box, "image_id": 99}])
    made, splits = convert(tmp_path / "src", "coco", tmp_path / "out")
    assert splits["train"].sources == ["a.png"]
    reasons = {problem.where: problem.reason for problem in made.problems}
    assert "does not exist" in reasons["gone.png"]
    assert "12 x 10" in reasons["wide.png"]
    assert "outside" in reasons["../../secret.png"]
    assert "outside" in reasons["/etc/passwd"]
    assert "no image" in reasons["annotations.json"]


def test_cocos_own_layout_is_found(tmp_path: Path) -> None:
    for name in ("train2017", "val2017"):
        save(tmp_path / "src" / name / "a.png", picture(0))
        write_coco(tmp_path / "src" / "annotations" / f"instances_{name}.json", ["a.png"], [{"bbox": [1, 1, 2, 2]}])
        (tmp_path / "src" / "annotations" / f"captions_{name}.json").write_text("{}")
    _, splits = convert(tmp_path / "src", "coco", tmp_path / "out")
    assert {name: split.sources for name, split in splits.items()} == {"train": ["a.png"], "val": ["a.png"]}
    single = tmp_path / "src" / "annotations" / "instances_val2017.json"
    _, splits = convert(single, "coco", tmp_path / "single", split="test")
    assert len(splits["test"].objects["a.png"]) == 1


def test_the_image_directory_can_be_given(tmp_path: Path) -> None:
    save(tmp_path / "elsewhere" / "a.png", picture(0))
    path = write_coco(tmp_path / "src" / "labels.json", ["a.png"], [])
    with pytest.raises(UserError, match="none of the 1 images"):
        open_source(path, "coco")
    _, splits = convert(path, "coco", tmp_path / "out", images=tmp_path / "elsewhere")
    assert splits["train"].sources == ["a.png"]


def test_our_own_data_sets_come_back_as_they_were(tmp_path: Path) -> None:
    known = {
        "bbox": [1, 2, 8, 5],
        "visible_bbox": [2, 3, 6, 3],
        "segmentation": dict(rle.encode(MASK)),
        "shape": "cube",
    }
    ground = {"floor": dict(rle.encode(~MASK)), "sky": dict(rle.encode(MASK))}
    image = {"id": 7, "file_name": "0.png", "height": 12, "width": 10, "game": "Pong", "ground": ground}
    for split in ("train", "test"):
        save(tmp_path / "src" / split / "images" / "0.png", picture(3))
        write_coco(tmp_path / "src" / split / "annotations.json", [], [known], images=[image])
    made, splits = convert(tmp_path / "src", "coco", tmp_path / "out")
    assert made.problems == ()
    (item,) = splits["test"].objects["0.png"]
    assert {key: item[key] for key in known} == known
    assert splits["train"].records["0.png"]["ground"] == ground
    assert splits["train"].records["0.png"]["game"] == "Pong"


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"images": []}', '{"images": {"a": 1}}', "\xff"])
def test_files_that_are_no_annotations_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text, encoding="latin1")
    with pytest.raises(UserError, match=r"a\.json"):
        open_source(tmp_path / "a.json", "coco")


def reference(points: NDArray[np.float64], height: int, width: int) -> NDArray[np.bool_]:
    codes = pycoco.frPyObjects([points.ravel().tolist()], height, width)
    return np.asarray(pycoco.decode(codes)[:, :, 0], bool)


def test_polygons_fill_the_pixels_whose_centre_they_hold() -> None:
    triangle = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    rows, columns = np.indices((5, 5)) + 0.5
    assert np.array_equal(rasterise(triangle, 5, 5), rows + columns < 4)
    assert rasterise(np.array([[-1e9, -1e9], [1e9, -1e9], [1e9, 1e9], [-1e9, 1e9]]), 5, 6).all()
    star = np.array([[2, 2], [8, 2], [8, 8], [2, 8], [2, 2], [4, 4], [4, 6], [6, 6], [6, 4], [4, 4]], float)
    assert rasterise(star, 10, 10).sum() == 36 - 4  # even-odd: a hole in the middle


def test_polygons_agree_with_pycocotools_up_to_the_outline() -> None:
    rng = np.random.default_rng(0)
    angles = np.linspace(0, 2 * np.pi, 9)[:-1]
    for _ in range(20):
        radius = rng.uniform(10, 28, (8, 1))
        points = 32 + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        ours, theirs = rasterise(points, 64, 64), reference(points, 64, 64)
        assert (ours & theirs).sum() / (ours | theirs).sum() > 0.93
        assert abs(int(ours.sum()) - int(theirs.sum())) < 0.06 * theirs.sum()
