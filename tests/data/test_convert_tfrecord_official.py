"""The records and messages that other people's libraries write: TensorBoard's record writer, Google's protobuf."""

from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tensorboard.summary.writer.record_writer import RecordWriter

from objectspace.data.convert.example import parse_example
from objectspace.data.convert.tfrecord import RecordFile

Field = descriptor_pb2.FieldDescriptorProto


def example_class() -> Any:
    """tf.train.Example, declared as in tensorflow/core/example/{example,feature}.proto."""
    file = descriptor_pb2.FileDescriptorProto(name="example.proto", package="t", syntax="proto3")

    def message(parent: Any, name: str, *fields: tuple[str, int, int, str | None, bool]) -> Any:
        declared = parent.add(name=name)
        for label, number, kind, of, repeated in fields:
            many = Field.LABEL_REPEATED if repeated else Field.LABEL_OPTIONAL
            declared.field.add(name=label, number=number, type=kind, type_name=of, label=many)
        return declared

    types = file.message_type
    message(types, "BytesList", ("value", 1, Field.TYPE_BYTES, None, True))
    message(types, "FloatList", ("value", 1, Field.TYPE_FLOAT, None, True))
    message(types, "Int64List", ("value", 1, Field.TYPE_INT64, None, True))
    lists = [("bytes_list", "BytesList"), ("float_list", "FloatList"), ("int64_list", "Int64List")]
    choices = [(name, number, Field.TYPE_MESSAGE, f".t.{of}", False) for number, (name, of) in enumerate(lists, 1)]
    feature = message(types, "Feature", *choices)
    feature.oneof_decl.add(name="kind")
    for field in feature.field:
        field.oneof_index = 0
    features = message(types, "Features", ("feature", 1, Field.TYPE_MESSAGE, ".t.Features.FeatureEntry", True))
    pair = [("key", 1, Field.TYPE_STRING, None, False), ("value", 2, Field.TYPE_MESSAGE, ".t.Feature", False)]
    message(features.nested_type, "FeatureEntry", *pair).options.map_entry = True
    message(types, "Example", ("features", 1, Field.TYPE_MESSAGE, ".t.Features", False))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.Example"))


def test_messages_of_the_protobuf_library_are_understood() -> None:
    example = example_class()()
    pixels = np.arange(256, dtype=np.uint8)
    example.features.feature["image"].bytes_list.value.extend(bytes([value]) for value in pixels)
    example.features.feature["name"].bytes_list.value.extend([b"one", b"", b"two"])
    example.features.feature["x"].float_list.value.extend([0.5, -3.0])
    example.features.feature["n"].int64_list.value.extend([1, -2, 2**62])
    example.features.feature["empty"].SetInParent()
    parsed = parse_example(example.SerializeToString())
    assert np.array_equal(parsed["image"], pixels)
    assert parsed["name"].tobytes() == b"onetwo"
    assert parsed["x"].tolist() == [0.5, -3.0]
    assert parsed["n"].tolist() == [1, -2, 2**62]
    assert parsed["empty"].size == 0


def test_records_that_tensorboard_writes_are_read(tmp_path: Path) -> None:
    records = [b"", b"a", np.random.default_rng(0).bytes(100_003)]
    with (tmp_path / "events").open("wb") as file:
        writer = RecordWriter(file)
        for record in records:
            writer.write(record)
        writer.flush()
    reader = RecordFile(tmp_path / "events")
    assert [reader.next() for _ in records] == records
    assert reader.next() is None
    reader.close()
