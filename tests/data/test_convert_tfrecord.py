import contextlib
import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.writers import convert, dm_scene, example, picture, scene_masks, tfrecord, write_tfrecords
from objectspace.data.convert import open_source
from objectspace.data.convert.crc32c import crc32c
from objectspace.data.convert.example import ExampleError, parse_example
from objectspace.data.convert.tfrecord import MAX_RECORD, RecordFile
from objectspace.data.generate import generate
from objectspace.errors import UserError
from objectspace.geometry import rle
from objectspace.geometry.boxes import tight_box, to_coco_box


def test_crc32c_has_the_published_values() -> None:
    assert crc32c(b"") == 0
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA  # this and the next three: RFC 3720, B.4
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E
    assert crc32c(bytes(range(31, -1, -1))) == 0x113FDB5C


def test_crc32c_is_the_same_by_folding_as_byte_by_byte() -> None:
    def slow(data: bytes) -> int:
        crc = 0xFFFFFFFF
        for byte in data:
            crc ^= byte
            for _ in range(8):
                crc = (crc >> 1) ^ (0x82F63B78 * (crc & 1))
        return crc ^ 0xFFFFFFFF

    data = np.random.default_rng(0).bytes(1100)
    for length in (*range(60, 140), 1023, 1024, 1025, 1100):
        assert crc32c(data[:length]) == slow(data[:length])


def test_examples_are_parsed() -> None:
    features: dict[str, Any] = {
        "pixels": np.arange(256, dtype=np.uint8),
        "numbers": np.array([1.5, -2.0], np.float32),
        "integers": np.array([0, 300, -1, 2**40], np.int64),
        "nothing": np.zeros(0, np.float32),
    }
    parsed = parse_example(example(features))
    assert parsed.keys() == features.keys()
    for name, values in features.items():
        assert np.array_equal(parsed[name], values)
    unpacked = b"\x0a\x0e\x0a\x0c\x0a\x01a\x12\x07\x12\x05\x0d\x00\x00\x80\x3f"
    assert parse_example(unpacked)["a"].tolist() == [1.0]
    whole_string = b"\x0a\x0f\x0a\x0d\x0a\x01s\x12\x08\x0a\x06\x0a\x04wxyz"
    assert parse_example(whole_string)["s"].tobytes() == b"wxyz"


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_what_is_no_example_is_refused_and_never_crashes(cut: int) -> None:
    data = example({"image": np.arange(20, dtype=np.uint8)})
    with pytest.raises(ExampleError):
        parse_example(data[:-cut])
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= cut | 128
        with contextlib.suppress(ValueError):
            parse_example(bytes(damaged))


CASES = [
    ("tetrominoes", 4),
    ("multi_dsprites", 5),
    ("objects_room", 7),
    ("clevr_with_masks", 11),
]


@pytest.mark.parametrize(("variant", "entities"), CASES)
def test_each_of_the_four_data_sets_is_recognised_and_converted(tmp_path: Path, variant: str, entities: int) -> None:
    scenes = [dm_scene(variant, seed, entities) for seed in range(2)]
    write_tfrecords(tmp_path / "set.tfrecords", scenes)
    made, splits = convert(tmp_path / "set.tfrecords", "dm-tfrecord", tmp_path / "out")
    assert made.problems == ()
    assert splits["train"].sources == ["set.tfrecords#0", "set.tfrecords#1"]
    for seed, source in enumerate(splits["train"].sources):
        height, width = scenes[seed]["image"].shape[:2]
        assert np.array_equal(splits["train"].images[source], scenes[seed]["image"])
        masks = scene_masks(entities, height, width, seed)[3 if variant == "objects_room" else 1 :]
        masks = masks[masks.any(axis=(1, 2))]
        found = splits["train"].objects[source]
        assert len(found) == len(masks)
        for item, mask in zip(found, masks, strict=True):
            assert np.array_equal(rle.decode(item["segmentation"]), mask)
            box = tight_box(mask)
            assert box is not None
            assert item["bbox"] == item["visible_bbox"] == to_coco_box(box)
            assert item["category"] == "object"
    first = splits["train"].objects["set.tfrecords#0"][0]
    assert first.get("color") == ([3.0, 4.0, 5.0] if variant in ("tetrominoes", "multi_dsprites") else None)
    assert first.get("shape") == (1 if variant == "clevr_with_masks" else None)


def test_binarized_sprites_become_grey_rgb_and_plain_files_are_read_too(tmp_path: Path) -> None:
    scene = dm_scene("multi_dsprites", 0, 4)
    scene["image"] = scene["image"][:, :, :1]
    write_tfrecords(tmp_path / "set.tfrecords", [scene], pack=False)
    _, splits = convert(tmp_path / "set.tfrecords", "dm-tfrecord", tmp_path / "out")
    assert np.array_equal(splits["train"].images["set.tfrecords#0"], np.repeat(scene["image"], 3, axis=2))


def room(halves: int) -> dict[str, Any]:
    """A scene of Objects Room with one or two halves of the wall in view, and two objects."""
    sky, floor, left, right, cube, ball = np.zeros((6, 64, 64), bool)
    sky[:20], floor[40:], left[20:40] = True, True, True
    if halves == 2:
        left[:, 30:], right[20:40, 30:] = False, True
    cube[30:45, 5:15], ball[28:50, 50:64] = True, True  # the ball touches the border, the wall is above it
    for mask in (sky, floor, left, right):
        mask &= ~(cube | ball)
    masks = [sky, floor, left] + [right] * (halves == 2) + [ball, cube] + [np.zeros_like(sky)] * (2 - halves + 1)
    return {"image": picture(halves, 64, 64), "mask": np.stack(masks)[..., None].astype(np.uint8) * 255}


def test_in_objects_room_the_fourth_mask_is_wall_or_object(tmp_path: Path) -> None:
    write_tfrecords(tmp_path / "room.tfrecords", [room(1), room(2)])
    _, splits = convert(tmp_path / "room.tfrecords", "dm-tfrecord", tmp_path / "out")
    for source in splits["train"].sources:
        assert [item["bbox"] for item in splits["train"].objects[source]] == [[50, 28, 14, 22], [5, 30, 10, 15]]
    assert list(splits["train"].records["room.tfrecords#0"]["ground"]) == ["sky", "floor", "wall_1"]
    assert list(splits["train"].records["room.tfrecords#1"]["ground"]) == ["sky", "floor", "wall_1", "wall_2"]


def test_the_customary_crop_of_clevr(tmp_path: Path) -> None:
    scene = dm_scene("clevr_with_masks", 0, 11)
    scene["mask"][:] = 0
    scene["mask"][1, 29:53, 64:160] = 255  # in the crop: 24 of 192 rows, 96 of 192 columns
    scene["mask"][2, 230:, 300:] = 255  # outside
    scene["image"][:] = 0
    scene["image"][29:221, 64:256] = 200
    write_tfrecords(tmp_path / "set.tfrecords", [scene])
    _, splits = convert(tmp_path / "set.tfrecords", "dm-tfrecord", tmp_path / "out", crop=True)
    assert splits["train"].images["set.tfrecords#0"].shape == (128, 128, 3)
    assert (splits["train"].images["set.tfrecords#0"] == 200).all()
    assert [item["bbox"] for item in splits["train"].objects["set.tfrecords#0"]] == [[0, 0, 64, 16]]


def tetrominoes(count: int) -> list[dict[str, Any]]:
    return [dm_scene("tetrominoes", seed % 20, 4) for seed in range(count)]


def test_a_directory_of_files_keeps_their_splits_apart(tmp_path: Path) -> None:
    write_tfrecords(tmp_path / "objects_room_train.tfrecords", [dm_scene("objects_room", 0, 7)])
    write_tfrecords(tmp_path / "objects_room_test_six_objects.tfrecords", [dm_scene("objects_room", 1, 10)])
    write_tfrecords(tmp_path / "objects_room_test_empty_room.tfrecords", [dm_scene("objects_room", 2, 4)])
    _, splits = convert(tmp_path, "dm-tfrecord", tmp_path / "out")
    assert splits["train"].sources == ["objects_room_train.tfrecords#0"]
    assert len(splits["test"].sources) == 2
    assert splits["test"].objects["objects_room_test_empty_room.tfrecords#0"] == []


def test_records_are_held_out_alike_whatever_the_number_of_workers(tmp_path: Path) -> None:
    write_tfrecords(tmp_path / "set.tfrecords", tetrominoes(40))
    made, one = convert(tmp_path / "set.tfrecords", "dm-tfrecord", tmp_path / "one", val=0.3, test=0.2, limit=37)
    _, two = convert(tmp_path / "set.tfrecords", "dm-tfrecord", tmp_path / "two", 2, val=0.3, test=0.2, limit=37)
    assert made.images == 37
    assert sorted(one) == ["test", "train", "val"]
    for split in one:
        assert one[split].records == two[split].records
        assert one[split].objects == two[split].objects


@pytest.mark.slow
def test_a_truncated_file_keeps_what_is_done_and_continues_when_it_is_whole_again(tmp_path: Path) -> None:
    path = tmp_path / "set.tfrecords"
    content = write_tfrecords(path, tetrominoes(40), pack=False)
    size = len(content) // 40
    path.write_bytes(content[: 35 * size + 100])
    source, streams = open_source(path, "dm-tfrecord")
    with pytest.raises(UserError, match=rf"record 35 at byte {35 * size} .*truncated.*--limit 35"):
        generate(source, tmp_path / "out", streams, 1)
    assert not (tmp_path / "out" / "dataset.json").exists()
    path.write_bytes(content)
    made, splits = convert(path, "dm-tfrecord", tmp_path / "out")
    assert (made.images, made.new) == (40, 8)  # two units of 16 were done
    _, whole = convert(path, "dm-tfrecord", tmp_path / "whole")
    assert splits["train"].records == whole["train"].records
    path.write_bytes(content[: 35 * size + 100])
    made, _ = convert(path, "dm-tfrecord", tmp_path / "limited", limit=35)
    assert made.images == 35


def damage(content: bytes, place: int) -> bytes:
    damaged = bytearray(content)
    damaged[place] ^= 1
    return bytes(damaged)


def test_every_kind_of_damage_is_named_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "set.tfrecords"
    content = write_tfrecords(path, tetrominoes(3), pack=False)
    packed, size = gzip.compress(content), len(content) // 3
    hostile = struct.pack("<Q", 2**62)
    for broken, match in (
        (damage(content, size + 3), "record 1 at byte .* header's checksum"),
        (damage(content, size + 500), "record 1 at byte .* checksum does not match its data"),
        (damage(content, 3 * size - 1), "record 2 at byte .* checksum does not match its data"),
        (damage(content, 0), "not a TFRecord file"),
        (packed[:-200], "record [012] at byte .* truncated"),
        (packed[:-4], "truncated"),
        (damage(packed, len(packed) // 2), "record [012] at byte"),
        (content[: size + 5], "record 1 .*truncated"),
        (content[:size] + hostile + tfrecord(hostile)[-4:], f"{2**62:,} bytes, more than the {MAX_RECORD:,}"),
        (b"", "no records"),
        (gzip.compress(b""), "no records"),
        (tfrecord(b"hello"), "none of DeepMind's"),
        (tfrecord(example({"label": np.zeros(3, np.float32)})), r"none of DeepMind's.*label \(3\)"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "not a TFRecord file"),
    ):
        path.write_bytes(broken)
        with pytest.raises(UserError, match=match) as caught:
            convert(path, "dm-tfrecord", tmp_path / "out")
        assert str(path) in str(caught.value)
        assert not (tmp_path / "out" / "dataset.json").exists()


def test_a_record_of_another_shape_is_listed(tmp_path: Path) -> None:
    scenes = tetrominoes(3)
    scenes[1]["mask"] = scenes[1]["mask"][:2]
    write_tfrecords(tmp_path / "set.tfrecords", scenes)
    made, splits = convert(tmp_path / "set.tfrecords", "dm-tfrecord", tmp_path / "out")
    assert [problem.where for problem in made.problems] == ["set.tfrecords#1"]
    assert splits["train"].sources == ["set.tfrecords#0", "set.tfrecords#2"]


def test_the_variant_can_be_said_and_must_fit(tmp_path: Path) -> None:
    write_tfrecords(tmp_path / "set.tfrecords", tetrominoes(1))
    open_source(tmp_path / "set.tfrecords", "dm-tfrecord", variant="tetrominoes")
    with pytest.raises(UserError, match="not those of clevr_with_masks"):
        open_source(tmp_path / "set.tfrecords", "dm-tfrecord", variant="clevr_with_masks")
    with pytest.raises(UserError, match="did you mean 'tetrominoes'"):
        open_source(tmp_path / "set.tfrecords", "dm-tfrecord", variant="tetromino")
    with pytest.raises(UserError, match="crop"):
        open_source(tmp_path / "set.tfrecords", "dm-tfrecord", crop=True)


def test_the_number_of_records_is_guessed_for_the_progress_bar(tmp_path: Path) -> None:
    write_tfrecords(tmp_path / "set.tfrecords", tetrominoes(60), pack=False)
    (stream,) = open_source(tmp_path / "set.tfrecords", "dm-tfrecord")[1]
    assert stream.expected is not None
    assert 40 <= stream.expected <= 80


def test_a_missing_file_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        RecordFile(tmp_path / "nowhere")
