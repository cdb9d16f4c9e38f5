import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.writers import convert, picture, scene_masks
from objectspace.data.convert import open_source
from objectspace.errors import UserError
from objectspace.geometry import rle


def stack(count: int, entities: int = 4) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Images (N, H, W, 3) and masks (N, K, H, W)."""
    images = np.stack([picture(seed, 20, 24) for seed in range(count)])
    return images, np.stack([scene_masks(entities, 20, 24, seed % 5) for seed in range(count)])


def write_ocl(path: Path, count: int = 5, **arrays: Any) -> Path:
    images, masks = stack(count)
    content: dict[str, Any] = {
        "image": images,
        "mask": masks.argmax(axis=1)[..., None].astype(np.uint8),
        "visibility": np.ones((count, 4, 1), np.float32),
        "num_actual_objects": np.full((count, 1), 2),
    }
    with h5py.File(path, "w") as file:
        for name, values in (content | arrays).items():
            file[name] = values
    return path


def write_emorl(path: Path, split_counts: dict[str, int], dtype: Any = np.uint8) -> Path:
    with h5py.File(path, "w") as file:
        for split, count in split_counts.items():
            images, masks = stack(count)
            file[f"{split}/imgs"] = images.astype(dtype)
            file[f"{split}/masks"] = (masks[..., None] * 255).astype(dtype)
            file[f"{split}/factors"] = np.zeros((count, 3))
    return path


def check(split: Any, count: int) -> None:
    images, masks = stack(count)
    assert len(split.sources) == count
    for source in split.sources:
        number = int(source.split("#")[1])
        assert np.array_equal(split.images[source], images[number])
        found = [rle.decode(item["segmentation"]) for item in split.objects[source]]
        assert np.array_equal(found, masks[number, 1:3])
        assert [item["bbox"] for item in split.objects[source]] == [
            [4, 2 + number % 5, 3, 6],
            [8, 2 + number % 5, 3, 7],
        ]


def test_object_centric_librarys_files_are_converted(tmp_path: Path) -> None:
    made, splits = convert(write_ocl(tmp_path / "clevr.hdf5"), "ocl-hdf5", tmp_path / "out")
    assert made.problems == ()
    assert splits["train"].sources[0] == "clevr.hdf5/image#0"
    check(splits["train"], 5)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int64])
def test_efficientmorls_files_are_converted(tmp_path: Path, dtype: Any) -> None:
    path = write_emorl(tmp_path / "tetris.h5", {"train": 4, "val": 2, "test": 3}, dtype)
    made, splits = convert(path, "emorl-hdf5", tmp_path / "out")
    assert made.problems == ()
    for name, count in {"train": 4, "val": 2, "test": 3}.items():
        check(splits[name], count)


def test_workers_and_hold_out_and_units_agree(tmp_path: Path) -> None:
    path = write_ocl(tmp_path / "set.hdf5", 150)
    _, one = convert(path, "ocl-hdf5", tmp_path / "one", val=0.3, limit=140)
    _, two = convert(path, "ocl-hdf5", tmp_path / "two", 2, val=0.3, limit=140)
    assert len(one["train"].sources) + len(one["val"].sources) == 140
    assert one["val"].records == two["val"].records
    assert one["train"].objects == two["train"].objects


@pytest.mark.parametrize(
    ("name", "options"), [("objects_room_train.hdf5", {}), ("x.hdf5", {"variant": "objects_room"})]
)
def test_objects_room_has_more_background(tmp_path: Path, name: str, options: dict[str, Any]) -> None:
    labels = np.zeros((1, 20, 24, 1), np.uint8)
    labels[:, 12:], labels[:, 5:12], labels[:, 5:12, 10:] = 1, 2, 3
    labels[:, 8:14, 4:7] = 4
    path = write_ocl(tmp_path / name, 1, mask=labels)
    _, splits = convert(path, "ocl-hdf5", tmp_path / "out", **options)
    (found,) = splits["train"].objects.values()
    assert [item["bbox"] for item in found] == [[4, 8, 3, 6]]


def test_bad_values_are_listed_image_by_image(tmp_path: Path) -> None:
    labels = stack(3)[1].argmax(axis=1)[..., None].astype(np.int32)
    labels[1, 0, 0] = 10**6
    made, splits = convert(write_ocl(tmp_path / "a.hdf5", 3, mask=labels), "ocl-hdf5", tmp_path / "out")
    assert [problem.where for problem in made.problems] == ["a.hdf5/image#1"]
    assert len(splits["train"].sources) == 2
    images = stack(2)[0].astype(np.float32)
    images[0] *= 2
    made, _ = convert(write_ocl(tmp_path / "b.hdf5", 2, image=images), "ocl-hdf5", tmp_path / "b")
    assert "expected 0 to 255" in made.problems[0].reason


@pytest.mark.parametrize("format", ["ocl-hdf5", "emorl-hdf5"])
def test_truncated_and_foreign_files_are_refused(tmp_path: Path, format: str) -> None:
    whole = write_ocl(tmp_path / "a.h5") if format == "ocl-hdf5" else write_emorl(tmp_path / "a.h5", {"train": 3})
    (tmp_path / "cut.h5").write_bytes(whole.read_bytes()[:-100])
    (tmp_path / "text.h5").write_text("hello")
    (tmp_path / "empty.h5").touch()
    for name in ("cut", "text", "empty"):
        with pytest.raises(UserError, match=rf"{name}\.h5.*fetch it again"):
            open_source(tmp_path / f"{name}.h5", format)
    other = "emorl-hdf5" if format == "ocl-hdf5" else "ocl-hdf5"
    with pytest.raises(UserError, match=r"a\.h5 has another layout: expected .*, found"):
        open_source(whole, other)


def test_arrays_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    images, masks = stack(3)
    for index, arrays in enumerate(
        (
            {"image": images[:2]},
            {"image": images[:, :10]},
            {"image": images[..., :2]},
            {"image": images[0]},
            {"mask": np.zeros((3, 20, 24, 1), np.float32)},
            {"mask": masks[..., None]},
            {"image": images[:0], "mask": masks[:0, 0, :, :, None].astype(np.uint8)},
        )
    ):
        path = write_ocl(tmp_path / f"{index}.h5", 3, **arrays)
        with pytest.raises(UserError, match=r"do not fit|no images"):
            open_source(path, "ocl-hdf5")


def test_links_to_other_files_are_not_followed(tmp_path: Path) -> None:
    write_ocl(tmp_path / "secret.h5")
    path = write_ocl(tmp_path / "a.h5")
    with h5py.File(path, "r+") as file:
        del file["image"]
        file["image"] = h5py.ExternalLink("secret.h5", "image")
    with pytest.raises(UserError, match="another layout"):
        open_source(path, "ocl-hdf5")


def test_without_h5py_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_ocl(tmp_path / "a.h5")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(UserError, match=r"objectspace\[hdf5\]"):
        open_source(path, "ocl-hdf5")
