import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from objectspace.config import View
from objectspace.data.dataset import Dataset, splits_of
from objectspace.data.generate import generate
from objectspace.data.sprites import SpritesSource
from objectspace.data.streams import Stream
from objectspace.errors import UserError
from objectspace.geometry import rle

SOURCE = SpritesSource(height=32, width=48, least=1, most=3, seed=7)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    generate(SOURCE, tmp_path / "set", [Stream("train", 20), Stream("test", 5)], workers=1)
    return tmp_path / "set"


def test_it_gives_back_what_was_generated(root: Path) -> None:
    dataset, samples = Dataset(root, "train"), SOURCE.make("train", "", 0)
    assert len(dataset) == 20
    for index in (0, 7, 19):
        sample = samples[index]
        assert np.array_equal(dataset.images[index], sample.image)
        assert dataset.boxes(index).tolist() == [list(item.box) for item in sample.objects]
        assert dataset.visible_boxes(index).tolist() == [list(item.visible_box) for item in sample.objects]
        assert dataset.categories(index) == [item.category for item in sample.objects]
        for mask, item in zip(dataset.masks(index), sample.objects, strict=True):
            assert np.array_equal(mask, rle.decode(item.mask))


def test_a_truth_is_a_scene(root: Path) -> None:
    dataset = Dataset(root, "test")
    scene = dataset.scene(2)
    assert np.array_equal(scene.boxes, dataset.visible_boxes(2))
    assert np.array_equal(scene.where_boxes, dataset.boxes(2))
    assert [item.label for item in scene.objects] == dataset.categories(2)


def test_another_size_scales_images_boxes_and_masks(root: Path) -> None:
    own, double = Dataset(root, "train"), Dataset(root, "train", size=(64, 24))
    assert double.images.shape == (20, 64, 24, 3)
    assert np.allclose(double.boxes(3), own.boxes(3) * [0.5, 2, 0.5, 2])
    assert double.masks(3)[0].shape == (64, 24)
    assert abs(double.masks(3)[0].mean() - own.masks(3)[0].mean()) < 0.03


def test_a_scenes_box_is_tight_around_its_mask_at_any_size(root: Path) -> None:
    for size in (None, (64, 24), (31, 50)):
        objects = Dataset(root, "train", size).scene(5).objects
        assert objects
        for item in objects:
            rows, columns = np.nonzero(item.mask)
            assert item.box == (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)


def test_missing_annotations_are_noticed(root: Path) -> None:
    (root / "test" / "annotations.json").unlink()
    assert [problem.where for problem in Dataset(root, "test").problems] == ["annotations.json"]


def test_channel_order_is_handled_once(root: Path) -> None:
    assert np.array_equal(Dataset(root, "train", channels="bgr").images[4], Dataset(root, "train").images[4][..., ::-1])


def test_a_batch_is_a_copy(root: Path) -> None:
    dataset = Dataset(root, "train")
    batch = dataset.batch(np.array([3, 3, 0]))
    assert batch.shape == (3, 32, 48, 3)
    assert np.array_equal(batch[0], batch[1])
    batch[:] = 0
    assert dataset.images[3].any()


def test_the_map_is_built_once_and_again_when_a_file_changes(root: Path) -> None:
    Dataset(root, "train")
    (before,) = (root / "train" / ".cache").glob("*.u8")
    stamp = before.stat().st_mtime_ns
    Dataset(root, "train")
    assert before.stat().st_mtime_ns == stamp
    Image.new("RGB", (48, 32), (1, 2, 3)).save(root / "train" / "images" / "00000000.png")
    assert (Dataset(root, "train").images[0] == (1, 2, 3)).all()
    assert len(list((root / "train" / ".cache").glob("*.u8"))) == 1, "the old map is left behind"


def test_a_cut_off_map_is_built_again(root: Path) -> None:
    Dataset(root, "train")
    (pixels,) = (root / "train" / ".cache").glob("*.u8")
    os.truncate(pixels, 100)
    assert Dataset(root, "train").images[19].any()


def test_a_read_only_data_set_is_mapped_in_the_users_cache(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "test" / ".cache").write_text("a file where the directory would be: nothing can be written there")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert len(Dataset(root, "test")) == 5
    assert list((tmp_path / "home" / "objectspace").rglob("*.u8"))


def test_bad_files_are_left_out_and_listed(root: Path) -> None:
    images = root / "train" / "images"
    (images / "00000001.png").write_bytes(b"")
    whole = (images / "00000002.png").read_bytes()
    (images / "00000002.png").write_bytes(whole[: len(whole) // 2])
    (images / "00000003.png").unlink()
    Image.new("RGB", (5, 5)).save(images / "stray.png")
    dataset = Dataset(root, "train")
    assert len(dataset) == 17
    assert dataset.names[:2] == ("00000000.png", "00000004.png")
    assert dataset.categories(1) == [item.category for item in SOURCE.make("train", "", 0)[4].objects]
    reasons = {problem.where: problem.reason for problem in dataset.problems}
    assert set(reasons) == {"00000001.png", "00000002.png", "00000003.png", "stray.png"}
    assert "absent" in reasons["00000003.png"]
    assert "truncated" in reasons["00000002.png"]


def test_bad_annotations_are_left_out_and_listed(root: Path) -> None:
    path = root / "test" / "annotations.json"
    content = json.loads(path.read_text())
    content["annotations"] = [
        {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]},
        {"id": 2, "image_id": 99, "category_id": 1, "bbox": [1, 2, 3, 4]},
        {"id": 3, "image_id": 1, "category_id": 1, "bbox": [1, 2, 0, 4]},
        {"id": 4, "image_id": 1, "category_id": 1},
        {"id": 5, "image_id": 2, "bbox": [0, 0, 1, 1], "segmentation": {"size": [9, 9], "counts": "o0"}},
    ]
    path.write_text(json.dumps(content))
    dataset = Dataset(root, "test")
    assert dataset.boxes(0).tolist() == [[1, 2, 4, 6]]
    assert dataset.masks(1) == [None]
    assert len(dataset.problems) == 4


def test_images_without_annotations_are_a_data_set(tmp_path: Path) -> None:
    (tmp_path / "train" / "images").mkdir(parents=True)
    Image.new("L", (6, 4), 9).save(tmp_path / "train" / "images" / "a.png")
    dataset = Dataset(tmp_path, "train")
    assert dataset.images.shape == (1, 4, 6, 3)
    assert dataset.boxes(0).shape == (0, 4)
    assert dataset.scene(0).objects == ()


def test_mixed_sizes_need_a_size(tmp_path: Path) -> None:
    (tmp_path / "train" / "images").mkdir(parents=True)
    for name, side in (("a", 8), ("b", 9)):
        Image.new("RGB", (side, side)).save(tmp_path / "train" / "images" / f"{name}.png")
    with pytest.raises(UserError, match="different sizes"):
        Dataset(tmp_path, "train")
    assert Dataset(tmp_path, "train", size=8).images.shape == (2, 8, 8, 3)


def test_what_is_no_data_set_is_explained(root: Path, tmp_path: Path) -> None:
    assert splits_of(root) == ["train", "test"]
    with pytest.raises(UserError, match="no split 'val'; it has train, test"):
        Dataset(root, "val")
    with pytest.raises(UserError, match="there is no directory"):
        Dataset(tmp_path / "absent")
    (tmp_path / "pictures").mkdir()
    with pytest.raises(UserError, match="objectspace data convert"):
        Dataset(tmp_path / "pictures")
    (tmp_path / "bare" / "train" / "images").mkdir(parents=True)
    with pytest.raises(UserError, match="the directory is empty"):
        Dataset(tmp_path / "bare")


def test_tiles_have_the_objects_whose_centres_lie_in_them(root: Path) -> None:
    whole, size = Dataset(root, "train"), (24, 24)
    tiles = Dataset(root, "train", size, view=View(scale=1.5))
    pictures = {name: number for number, name in enumerate(whole.names)}
    assert len(tiles) == 6 * len(whole)
    for index, name in enumerate(tiles.names):
        path, place = name.split("@")
        left, top = map(int, place.split(","))
        boxes = whole.visible_boxes(pictures[path]) * 1.5 - [left, top, left, top]
        x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
        within = (x >= 0) & (x < 24) & (y >= 0) & (y < 24)
        assert np.allclose(tiles.visible_boxes(index), boxes[within].clip(0, 24), atol=2e-3)
        reaching = (boxes[:, 2:].min(1) > 0) & (boxes[:, :2].max(1) < 24)
        assert len(tiles.ignored_boxes(index)) == (reaching & ~within).sum()
        for item in tiles.scene(index).objects:
            assert item.mask is not None
            assert item.mask.any()
    assert tiles.object_count > 20


def test_tiles_need_a_size(root: Path) -> None:
    with pytest.raises(UserError, match="of which size"):
        Dataset(root, "train", view=View(scale=1.5))
