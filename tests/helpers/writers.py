"""Writers of foreign formats for the tests of the converters, written from the formats' descriptions alone."""

import gzip
import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from objectspace.data.convert import open_source
from objectspace.data.generate import Made, generate


def picture(seed: int, height: int = 12, width: int = 10) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def save(path: Path, image: NDArray[np.uint8]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).save(path)
    return path


def scene_masks(entities: int, height: int, width: int, shift: int = 0) -> NDArray[np.bool_]:
    """Masks (K, H, W): a background and rectangles; the last entity is empty, as unused places in data sets are."""
    masks = np.zeros((entities, height, width), bool)
    for index in range(1, entities - 1):
        masks[index, 2 + shift : 7 + shift + index, 4 * index : 4 * index + 3] = True
    masks[0] = ~masks[1:].any(axis=0)
    return masks


def convert(src: Path, format: str, out: Path, workers: int = 1, **options: Any) -> tuple[Made, dict[str, "Converted"]]:
    """Convert, and read back what came out: image records by their source, per split."""
    source, streams = open_source(src, format, **options)
    made = generate(source, out, streams, workers)
    return made, {path.parent.name: Converted(path) for path in sorted(out.glob("*/annotations.json"))}


class Converted:
    """A split of a converted data set."""

    def __init__(self, path: Path) -> None:
        content = json.loads(path.read_text())
        names = {item["id"]: item["name"] for item in content["categories"]}
        self.records = {record["source"]: record for record in content["images"]}
        self.images = {
            source: np.array(Image.open(path.parent / "images" / record["file_name"]))
            for source, record in self.records.items()
        }
        by_id: dict[int, list[dict[str, Any]]] = {record["id"]: [] for record in content["images"]}
        for item in content["annotations"]:
            by_id[item["image_id"]].append(item | {"category": names[item["category_id"]]})
        self.objects = {source: by_id[record["id"]] for source, record in self.records.items()}

    @property
    def sources(self) -> list[str]:
        return list(self.records)


# TFRecord, after the description in tensorflow/core/lib/io/record_writer.h and the protobuf encoding guide


def _shift_byte(value: int) -> int:
    for _ in range(8):
        value = (value >> 1) ^ (0x82F63B78 * (value & 1))
    return value


_TABLE = [_shift_byte(value) for value in range(256)]


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 255] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _masked(data: bytes) -> bytes:
    crc = _crc32c(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def tfrecord(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + _masked(length) + data + _masked(data)


def _varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def example(features: Mapping[str, NDArray[Any]]) -> bytes:
    """A tf.train.Example: bytes as one string a value, floats and integers packed."""
    pairs = b""
    for name, values in features.items():
        if values.dtype == np.uint8:
            kind, content = 1, b"".join(b"\x0a\x01%c" % value for value in values.ravel().tolist())
        elif values.dtype == np.float32:
            kind, content = 2, _field(1, values.astype("<f4").tobytes())
        else:
            kind, content = 3, _field(1, b"".join(_varint(value % 2**64) for value in values.ravel().tolist()))
        pairs += _field(1, _field(1, name.encode()) + _field(2, _field(kind, content)))
    return _field(1, pairs)


def write_tfrecords(path: Path, scenes: Sequence[Mapping[str, NDArray[Any]]], pack: bool = True) -> bytes:
    content = b"".join(tfrecord(example(scene)) for scene in scenes)
    path.write_bytes(gzip.compress(content, 1, mtime=0) if pack else content)
    return content


def dm_scene(variant: str, seed: int, entities: int) -> dict[str, NDArray[Any]]:
    """The features of one record of one of DeepMind's data sets, with masks as `scene_masks` makes them."""
    height, width = {"tetrominoes": (35, 35), "clevr_with_masks": (240, 320)}.get(variant, (64, 64))
    masks = scene_masks(entities, height, width, seed)[..., None].astype(np.uint8) * 255  # (K, H, W, 1)
    scene: dict[str, NDArray[Any]] = {"image": picture(seed, height, width), "mask": masks}
    if variant == "multi_dsprites":
        scene["mask"] = np.moveaxis(masks, 0, 2)  # (H, W, K, 1)
        scene |= {"scale": np.linspace(0.5, 1, entities, dtype=np.float32)}
    if variant in ("multi_dsprites", "tetrominoes"):
        scene |= {
            "x": np.zeros(entities, np.float32),
            "color": np.arange(3 * entities, dtype=np.float32).reshape(entities, 3),
        }
    if variant == "clevr_with_masks":
        scene |= {"x": np.zeros(entities, np.float32), "shape": np.arange(entities, dtype=np.uint8)}
    return scene
