"""DeepMind's multi-object data sets: tetrominoes, multi_dsprites, objects_room, clevr_with_masks (TFRecord, gzip).

    <file>.tfrecords, or a directory of them, each a group by itself; a name with "test" or "val" in it names the split

Which of the four a file is follows from the features of its first record (dm_layout.py). After a break the records that
are done are passed over.
"""

import hashlib
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from objectspace.data.convert.base import Converter, ConvertOptions
from objectspace.data.convert.dm_layout import RecordLayout, recognise
from objectspace.data.convert.example import parse_example
from objectspace.data.convert.masks import OBJECTS_ROOM, Masks, masks_to_sample
from objectspace.data.convert.tfrecord import RecordFile, record
from objectspace.data.sample import Problem, Sample
from objectspace.data.streams import Stream
from objectspace.errors import UserError
from objectspace.io.images import resize

UNIT = 16  # records of a unit of work
SUFFIXES = (".tfrecords", ".tfrecord", ".tfrecords.gz", ".tfrecord.gz")
CROP_ROWS, CROP_COLUMNS, CROP_SIZE = slice(29, 221), slice(64, 256), 128  # customary since IODINE


@dataclass(frozen=True)
class RecordSet:
    """One file of the source."""

    path: Path
    split: str
    group: str
    layout: RecordLayout
    expected: int  # records, extrapolated from the first few
    changed: int  # when, by the file system


class DeepMind(Converter):
    """The records of one or more files."""

    format = "dm-tfrecord"

    def __init__(self, root: Path, options: ConvertOptions) -> None:
        super().__init__(root, options)
        paths = _record_files(root)
        self.files = [self._open(path, "" if len(paths) == 1 else path.name.split(".")[0]) for path in paths]
        options.check_hold_out({file.split for file in self.files})
        if options.crop and any(file.layout.variant != "clevr_with_masks" for file in self.files):
            raise UserError("--crop is the custom for clevr_with_masks only: leave it out")
        self._digest = hashlib.blake2b(b"".join(_head(path) for path in paths), digest_size=12).hexdigest()

    @property
    def digest(self) -> str:
        """Of the files' first bytes: a truncated file that was fetched again still counts as the same."""
        return self._digest

    def streams(self) -> list[Stream]:
        return [stream for file in self.files for stream in self.options.streams(file.split, file.group, file.expected)]

    def make(self, split: str, group: str, unit: int) -> list[Sample | Problem] | None:
        file = next(file for file in self.files if file.group == group)
        first, end = unit * UNIT, (unit + 1) * UNIT
        if self.options.limit is not None:
            end = min(end, self.options.limit)
        if first >= end:
            return None
        made: list[Sample | Problem] = []
        with record(file.path, first, file.changed, reader=split) as records:
            while first <= records.number < end:
                number = records.number
                if self.options.place(file.split, f"{group}/{number}") != split:
                    if not records.skip():
                        break
                    continue
                data = records.next()
                if data is None:
                    break
                made.append(self._parse(data, file, number))
            return made if records.number > first else None

    def _parse(self, data: bytes, file: RecordSet, number: int) -> Sample | Problem:
        source = f"{file.path.name}#{number}"
        try:
            features = parse_example(data)
            image, masks = file.layout.image(features), file.layout.masks(features)
        except ValueError as error:
            return Problem(source, str(error))
        if self.options.crop:
            image = resize(np.ascontiguousarray(image[CROP_ROWS, CROP_COLUMNS]), CROP_SIZE, CROP_SIZE)
            masks = _nearest(masks[:, CROP_ROWS, CROP_COLUMNS], CROP_SIZE)
        is_room = file.layout.variant == OBJECTS_ROOM
        return masks_to_sample(image, masks, source, is_room, file.layout.factors(features))

    def _open(self, path: Path, group: str) -> RecordSet:
        with closing(RecordFile(path)) as records:
            data = records.next()
            if data is None:
                raise UserError(f"{path} holds no records: fetch it again")
            try:
                layout = recognise(parse_example(data), self.options.variant)
            except ValueError as error:
                raise UserError(f"{path} is none of DeepMind's multi-object data sets: {error}") from error
            limit = min(UNIT, self.options.limit or UNIT)  # what lies behind the limit may be broken
            while records.number < limit and records.next() is not None:
                pass
            status = path.stat()
            expected = max(records.number, status.st_size * records.number // max(records.consumed, 1))
        words = path.name.lower().replace(".", "_").split("_")
        named = next((split for word in words if (split := self.options.split_of(word))), None)
        split = named if group and named else self.options.split
        return RecordSet(path, split, group, layout, expected, status.st_mtime_ns)


def _record_files(root: Path) -> list[Path]:
    if root.is_file():
        return [root]
    paths = sorted(path for path in root.iterdir() if path.name.endswith(SUFFIXES))
    if not paths:
        raise UserError(f"there are no TFRecord files in {root}: looked for *{' *'.join(SUFFIXES)}")
    return paths


def _nearest(masks: Masks, size: int) -> Masks:
    """Masks (K, H, W) at (K, size, size), taking the pixel under each new pixel's centre."""
    rows, columns = (((np.arange(size) + 0.5) * side / size).astype(int) for side in masks.shape[1:])
    return masks[:, rows[:, None], columns]


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return path.name.encode() + file.read(4096)
