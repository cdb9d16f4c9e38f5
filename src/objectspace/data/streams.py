"""The streams of a data set in the making, and a log of each: which units of which stream are on disk."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from objectspace.data.sample import Problem
from objectspace.io.files import Json
from objectspace.io.lines import append_line


@dataclass(frozen=True)
class Stream:
    """`count` samples wanted for a split (None: all there are); `group` tells apart the streams of one split.

    `expected` is a guess at the number, for the progress bar, where `count` is None.
    """

    split: str
    count: int | None
    group: str = ""
    expected: int | None = None

    @property
    def name(self) -> str:
        return f"{self.split}-{self.group}" if self.group else self.split

    def file_name(self, index: int) -> str:
        return f"{self.group}_{index:08d}.png" if self.group else f"{index:08d}.png"


@dataclass(frozen=True)
class Encoded:
    """A sample on its way from a worker to the disk."""

    png: bytes
    record: Json
    digest: str


class StreamLog:
    """The finished units of one stream, one JSON line each: {"unit", "records", "digests", "problems"}."""

    def __init__(self, root: Path, stream: Stream) -> None:
        self.stream = stream
        self.images = root / stream.split / "images"
        self.path = root / ".making" / f"{stream.name}.jsonl"
        self.count, self.next_unit = 0, 0
        self.digests: list[str] = []
        self.problems: list[Problem] = []
        self.images.mkdir(parents=True, exist_ok=True)
        self._repair()
        for entry in self._entries():
            self.count += len(entry["records"])
            self.next_unit = entry["unit"] + 1
            self.digests += entry["digests"]
            self.problems += [Problem(*problem) for problem in entry["problems"]]

    def append(self, unit: int, samples: Sequence[Encoded], problems: Sequence[Problem]) -> None:
        """Write a unit's images, then its line: a unit that has its line is whole."""
        records = []
        for index, sample in enumerate(samples, start=self.count):
            name = self.stream.file_name(index)
            (self.images / name).write_bytes(sample.png)
            records.append({**sample.record, "image": {"file_name": name} | sample.record["image"]})
        entry = {
            "unit": unit,
            "records": records,
            "digests": [sample.digest for sample in samples],
            "problems": [(problem.where, problem.reason) for problem in problems],
        }
        append_line(self.path, entry, durable=True)
        self.count, self.next_unit = self.count + len(samples), unit + 1
        self.problems += problems

    def records(self) -> Iterator[Json]:
        for entry in self._entries():
            yield from entry["records"]

    def _entries(self) -> Iterator[Json]:
        if self.path.exists():
            with self.path.open(encoding="utf-8") as file:
                for line in file:
                    yield json.loads(line)

    def _repair(self) -> None:
        """Cut off a last line that a kill left unfinished, and all from the first unit whose images are gone."""
        if not self.path.exists():
            return
        with self.path.open("r+b") as file:
            end = 0
            for line in file:
                if not line.endswith(b"\n") or not self._has_images(json.loads(line)):
                    break
                end += len(line)
            file.truncate(end)

    def _has_images(self, entry: Json) -> bool:
        paths = [self.images / record["image"]["file_name"] for record in entry["records"]]
        return all(path.exists() and path.stat().st_size > 0 for path in paths)


@dataclass(frozen=True)
class Records:
    """All records of some logs, to be walked as often as needed without holding them in memory."""

    logs: Sequence[StreamLog]

    def __iter__(self) -> Iterator[Json]:
        for log in self.logs:
            yield from log.records()
