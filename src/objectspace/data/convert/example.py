"""tf.train.Example, the protobuf message in TFRecord files: features by name, as arrays.

    Example { features = 1 { feature = 1 (map) { key = 1, value = 2 { bytes = 1 | floats = 2 | integers = 3 } } } }

Parsed by hand: what protobuf libraries need a schema and a million Python objects for, is a slice of an array here.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Features = dict[str, NDArray[np.generic]]


class ExampleError(ValueError):
    """The bytes are no tf.train.Example."""


def parse_example(data: bytes) -> Features:
    """The features of a serialized tf.train.Example; a list of byte strings becomes one uint8 array, joined.

    Raises ValueError where the data is something else, mostly an ExampleError.
    """
    features: Features = {}
    for entry in _messages(memoryview(data), 1):  # Example.features
        for pair in _messages(entry, 1):  # Features.feature, a map entry
            name, value = "", None
            for number, content in _fields(pair):
                if number == 1 and isinstance(content, memoryview):
                    name = bytes(content).decode()
                elif number == 2 and isinstance(content, memoryview):
                    value = content
            if value is not None:
                features[name] = _parse_feature(value)
    return features


def _parse_feature(data: memoryview) -> NDArray[np.generic]:
    for number, content in _fields(data):
        if not isinstance(content, memoryview):
            raise ExampleError("a feature is no list")
        if number == 1:
            return _parse_bytes(content)
        if number == 2:
            chunks = [chunk for _, chunk in _fields(content)]  # packed in one chunk, or each number by itself
            return np.frombuffer(b"".join(_bytes_of(chunk) for chunk in chunks), "<f4")
        if number == 3:
            return np.array(list(_integers(content)), np.int64)
    return np.zeros(0, np.uint8)


def _parse_bytes(data: memoryview) -> NDArray[np.uint8]:
    """A BytesList, joined. Pixels are stored as one string each, 0A 01 xx: millions, hence the way without a loop."""
    raw = np.frombuffer(data, np.uint8)
    if raw.size % 3 == 0 and (raw[0::3] == 0x0A).all() and (raw[1::3] == 1).all():
        return raw[2::3]
    return np.frombuffer(b"".join(_messages(data, 1)), np.uint8)


def _integers(data: memoryview) -> Iterator[int]:
    for _, content in _fields(data):
        if isinstance(content, int):
            yield content - (1 << 64) * (content >> 63)
            continue
        place = 0
        while place < len(content):
            value, place = _varint(content, place)
            yield value - (1 << 64) * (value >> 63)


def _messages(data: memoryview, wanted: int) -> Iterator[memoryview]:
    for number, content in _fields(data):
        if number == wanted:
            yield _bytes_of(content)


def _bytes_of(content: memoryview | int) -> memoryview:
    if isinstance(content, int):
        raise ExampleError("a number where bytes were expected")
    return content


def _fields(data: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    """The fields of a protobuf message: (number, content), where content is bytes, or an integer for varints."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        kind = key & 7
        if kind == 0:
            value, place = _varint(data, place)
            yield key >> 3, value
            continue
        if kind == 2:
            length, place = _varint(data, place)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ExampleError(f"no protobuf message: a field of kind {kind}")
        if length > len(data) - place:
            raise ExampleError("no protobuf message: a field is longer than the message")
        yield key >> 3, data[place : place + length]
        place += length


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(data):
            raise ExampleError("no protobuf message: it ends within a number")
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, place
    raise ExampleError("no protobuf message: a number of more than 64 bits")
