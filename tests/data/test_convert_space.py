"""The two formats of the data published with SPACE."""

from pathlib import Path

import numpy as np
import pytest

from helpers.writers import convert, picture, save
from objectspace.data.convert import open_source
from objectspace.errors import UserError


def write_obj3d(root: Path) -> Path:
    for split in ("train", "val"):
        for number in (2, 10, 9):
            save(root / split / f"{number}-scene.png", picture(number, 64, 128))
        (root / split / "bb").mkdir()
        for index in range(3):
            text = f"64.0,32.0,16.0,{8 + index}.0\n\n120,120,40,40\n"
            (root / split / "bb" / f"bb_{index}.txt").write_text(text)
    return root


def test_obj3d_boxes_belong_to_the_images_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    made, splits = convert(write_obj3d(tmp_path / "src"), "obj3d", tmp_path / "out")
    assert made.problems == ()
    assert sorted(splits) == ["train", "val"]
    assert splits["train"].sources == [f"train/{number}-scene.png" for number in (2, 9, 10)]
    assert np.array_equal(splits["val"].images["val/10-scene.png"], picture(10, 64, 128))
    boxes = [[item["bbox"] for item in objects] for objects in splits["train"].objects.values()]
    # 64 high, 128 wide: y is halved; the second box is clipped at the border
    assert boxes[0] == [[56.0, 14.0, 16.0, 4.0], [100.0, 50.0, 28.0, 14.0]]
    assert boxes[2][0] == [56.0, 13.5, 16.0, 5.0]


def test_obj3d_bad_boxes_are_listed_and_the_rest_is_done(tmp_path: Path) -> None:
    root = write_obj3d(tmp_path / "src")
    boxes = root / "train" / "bb"
    (boxes / "bb_0.txt").write_text("1,2,3\n64,64,8,8\nnan,1,1,1\n900,900,4,4\n")
    (boxes / "bb_1.txt").unlink()
    (boxes / "bb_7.txt").write_text("1,1,1,1\n")
    save(root / "train" / "cover.png", picture(0))
    (root / "val" / "2-scene.png").write_bytes(b"\0")
    made, splits = convert(root, "obj3d", tmp_path / "out")
    assert [problem.where for problem in made.problems] == [
        *(f"train/bb/bb_0.txt, line {number}" for number in (1, 3, 4)),
        "train/9-scene.png",
        "train/cover.png",
        "train/bb/bb_7.txt",
        "val/2-scene.png",
    ]
    assert splits["train"].sources == ["train/2-scene.png", "train/10-scene.png"]
    assert len(splits["train"].objects["train/2-scene.png"]) == 1
    assert splits["val"].sources == ["val/9-scene.png", "val/10-scene.png"]


def test_obj3d_without_boxes_is_images_only(tmp_path: Path) -> None:
    save(tmp_path / "src" / "test" / "0-a.jpg", picture(0))
    made, splits = convert(tmp_path / "src", "obj3d", tmp_path / "out")
    assert made.problems == ()
    assert splits["test"].objects == {"test/0-a.jpg": []}


def test_obj3d_of_another_shape_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "src" / "a.png", picture(0))
    with pytest.raises(UserError, match="OBJ3D"):
        open_source(tmp_path / "src", "obj3d")


def test_space_atari_channels_are_put_in_order(tmp_path: Path) -> None:
    rgb = picture(1, 16, 16)
    save(tmp_path / "src" / "Asterix-v0" / "train" / "0.png", rgb[:, :, ::-1].copy())
    save(tmp_path / "src" / "Asterix-v0" / "validation" / "0.png", rgb)
    save(tmp_path / "src" / "MsPacman-v0" / "train" / "3.png", rgb)
    (tmp_path / "src" / "MsPacman-v0" / "train" / "4.png").write_bytes(b"")
    (tmp_path / "src" / "Qbert-v0").mkdir()
    made, splits = convert(tmp_path / "src", "space-atari", tmp_path / "out")
    assert [problem.where for problem in made.problems] == ["MsPacman-v0/train/4.png"]
    assert splits["train"].sources == ["Asterix-v0/train/0.png", "MsPacman-v0/train/3.png"]
    assert np.array_equal(splits["train"].images["Asterix-v0/train/0.png"], rgb)
    assert [record["game"] for record in splits["train"].records.values()] == ["Asterix", "MsPacman"]
    assert list(splits) == ["train", "val"]
    _, one = convert(tmp_path / "src" / "Asterix-v0", "space-atari", tmp_path / "one")
    assert [record["game"] for record in one["train"].records.values()] == ["Asterix"]


def test_a_data_set_of_ours_is_not_taken_for_bgr_images(tmp_path: Path) -> None:
    save(tmp_path / "src" / "ours" / "train" / "images" / "0.png", picture(0))
    (tmp_path / "src" / "ours" / "dataset.json").write_text("{}")
    with pytest.raises(UserError, match="RGB already"):
        convert(tmp_path / "src", "space-atari", tmp_path / "out")
