"""Drive a source of samples into a data set on disk: in parallel, reproducibly, and resumably.

A source makes samples in numbered units, each a pure function of (settings, split, group, unit). Workers make units,
this process alone writes them, in order, and notes each finished unit in a log. So the result does not depend on
the number of workers, and after a kill the same command goes on with the first unit that the log does not name.
Generators make as many units as it takes; converters (`convert/`) are sources too, with an end.
"""

import hashlib
import io
import json
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from PIL import Image

from objectspace.data import store
from objectspace.data.sample import Problem, Sample
from objectspace.data.streams import Encoded, Records, Stream, StreamLog
from objectspace.data.workers import in_order, only_one, pool
from objectspace.errors import UserError
from objectspace.io.files import Json, read_json, write_json
from objectspace.io.progress import Progress, logged_progress

PATIENCE = 40  # units in a row that may bring nothing new before a source counts as exhausted


class Source(Protocol):
    """What can be driven into a data set. Instances travel to worker processes, so they must be picklable."""

    @property
    def generator(self) -> str:
        """Its name in dataset.json."""

    @property
    def version(self) -> int:
        """Raised whenever the same settings would give other pixels."""

    @property
    def licence(self) -> str:
        """What may be done with the images."""

    @property
    def distinct(self) -> bool:
        """Whether an image that occurred before, in any split, is dropped."""

    def settings(self) -> Json:
        """All that the pixels depend on, seed included."""

    def make(self, split: str, group: str, unit: int) -> Sequence[Sample | Problem] | None:
        """One unit; the same arguments give the same samples. None: the source ended before this unit."""

    def summary(self, records: Iterable[Json]) -> Json:
        """Statistics over all records of the finished data set, kept in dataset.json."""


@dataclass(frozen=True)
class Made:
    """What `generate` did: `images` in the data set, `new` of them made by this call in `seconds`."""

    root: Path
    images: int
    new: int
    seconds: float
    summary: Json
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class _Unit:
    samples: list[Encoded]
    problems: list[Problem]


def generate(source: Source, root: Path, streams: Sequence[Stream], workers: int) -> Made:
    """Make the data set `root`, or finish it, or recognise that it is finished."""
    streams = [stream for stream in streams if stream.count != 0]
    if not streams:
        raise UserError("every split is to hold 0 images: ask for at least one image, as in --train 100")
    if workers < 1:
        raise UserError(f"--workers {workers}: at least one worker is needed")
    request = _request(source, streams)
    try:
        finished = _check_request(root, request)
        if finished is not None:
            _check_images(root, finished["splits"])
            problems = tuple(Problem(*problem) for problem in finished["left_out"])
            return Made(root, sum(finished["splits"].values()), 0, 0.0, finished["summary"], problems)
        with only_one(root / ".making"):
            return _make_all(source, root, streams, workers, request)
    except OSError as error:
        raise UserError(f"cannot write the data set {root}: {error}. The same command continues.") from error


def _make_all(source: Source, root: Path, streams: Sequence[Stream], workers: int, request: Json) -> Made:
    start = time.monotonic()
    logs = [StreamLog(root, stream) for stream in streams]
    seen = {digest for log in logs for digest in log.digests} if source.distinct else None
    already = sum(log.count for log in logs)
    total = _expected_total(streams)
    with (
        logged_progress(f"{source.generator} -> {root.name}", total, root / "log.jsonl", already) as progress,
        pool(workers) as submit,
    ):
        for log in logs:
            units = in_order(submit, workers, partial(_make_unit, source, log.stream), log.next_unit)
            _fill(log, units, seen, progress)
    images = sum(log.count for log in logs)
    problems = tuple(problem for log in logs for problem in log.problems)
    if not images:
        _clear(root, logs)
        listed = "".join(f"\n  {problem}" for problem in problems[:20])
        raise UserError(f"nothing could be made into a data set{listed or ': the source is empty'}")
    summary = _finish(source, root, logs, request)
    return Made(root, images, images - already, time.monotonic() - start, summary, problems)


def _expected_total(streams: Sequence[Stream]) -> int | None:
    counts = [stream.expected if stream.count is None else stream.count for stream in streams]
    return None if None in counts else sum(count for count in counts if count is not None)


def _request(source: Source, streams: Sequence[Stream]) -> Json:
    content = {
        "format": store.FORMAT_VERSION,
        "generator": source.generator,
        "version": source.version,
        "licence": source.licence,
        "settings": source.settings(),
        "asked": {stream.name: stream.count for stream in streams},
    }
    return dict(json.loads(json.dumps(content)))  # as it will be read back: tuples become lists


def _check_request(root: Path, request: Json) -> Json | None:
    """The finished data set's description if `root` is exactly what is asked for; prepares `root` otherwise."""
    finished, underway = root / "dataset.json", root / ".making" / "request.json"
    if root.exists() and not root.is_dir():
        raise UserError(f"{root} is a file: give a directory for the data set")
    known = finished if finished.exists() else underway if _has_begun(root) else None
    if known is not None:
        before = read_json(known)
        for key, value in request.items():
            _compare(key, before.get(key), value, root)
        return before if known is finished else None
    if root.exists() and not underway.exists() and any(root.iterdir()):
        raise UserError(f"{root} is not empty and not a data set of ours: give a new directory")
    write_json(underway, request)
    return None


def _has_begun(root: Path) -> bool:
    """Whether an unfinished data set has any image: if not, it may become another."""
    return any(log.stat().st_size for log in (root / ".making").glob("*.jsonl"))


def _check_images(root: Path, splits: dict[str, int]) -> None:
    """A finished data set must still have its images."""
    for split, count in splits.items():
        folder = root / split / "images"
        whole = sum(path.stat().st_size > 0 for path in folder.iterdir()) if folder.is_dir() else 0
        if whole < count or not (root / split / "annotations.json").exists():
            raise UserError(
                f"{root} was finished, but of the {count} images of {split} only {whole} are left, or its annotations "
                "are gone: remove the directory and give the command again"
            )


def _clear(root: Path, logs: Sequence[StreamLog]) -> None:
    """Leave nothing behind of a data set that has no image."""
    for folder in {root / ".making", *(root / log.stream.split for log in logs)}:
        shutil.rmtree(folder, ignore_errors=True)
    (root / "log.jsonl").unlink(missing_ok=True)
    if not any(root.iterdir()):
        root.rmdir()


def _compare(key: str, before: Any, now: Any, root: Path) -> None:
    if isinstance(before, dict) and isinstance(now, dict):
        for inner in sorted(before.keys() | now.keys()):
            _compare(f"{key}.{inner}", before.get(inner), now.get(inner), root)
    elif key == "settings.digest_of_source":
        if before != now:
            raise UserError(f"the source of {root} has changed since it was converted: give another directory")
    elif before != now:
        option = f"--{key.split('.', 1)[1].replace('_', '-')}" if "." in key else key
        absent = 0 if key.startswith("asked.") else None  # a split that was not asked for
        before, now = (absent if value is None else value for value in (before, now))
        raise UserError(
            f"{root} holds a data set made with {option} {before}, and now {option} {now} is asked for: "
            "give another directory, or remove that one first"
        )


def _finish(source: Source, root: Path, logs: Sequence[StreamLog], request: Json) -> Json:
    splits: dict[str, int] = {}
    for split in dict.fromkeys(log.stream.split for log in logs):
        records = Records([log for log in logs if log.stream.split == split])
        info = {"description": f"{source.generator}, split {split}", "licence": source.licence}
        splits[split] = store.write_annotations(root / split / "annotations.json", records, info)
    summary = source.summary(Records(logs))
    left_out = [(problem.where, problem.reason) for log in logs for problem in log.problems]
    write_json(root / "dataset.json", request | {"splits": splits, "summary": summary, "left_out": left_out})
    shutil.rmtree(root / ".making")
    return summary


def _fill(log: StreamLog, units: Iterator[_Unit | None], seen: set[str] | None, progress: Progress) -> None:
    """Write units until the stream has its count or ends; with `seen`, only images whose digest is not in it."""
    wanted, fruitless = log.stream.count, 0
    while wanted is None or log.count < wanted:
        unit = next(units)
        if unit is None:
            return
        room = None if wanted is None else wanted - log.count
        samples = unit.samples[:room] if seen is None else _unseen(unit.samples, seen, room)
        log.append(log.next_unit, samples, unit.problems)
        progress.advance(len(samples) + len(unit.problems))
        fruitless = 0 if samples else fruitless + 1
        if wanted is not None and fruitless >= PATIENCE:
            raise UserError(
                f"{log.stream.name} has only {log.count} distinct images, {wanted} were asked for: "
                "ask for fewer, or use another seed or policy"
            )


def _unseen(samples: Sequence[Encoded], seen: set[str], room: int | None) -> list[Encoded]:
    """The samples whose digest is new, `room` at most; `seen` learns those only, as it would from a log."""
    new: list[Encoded] = []
    for sample in samples:
        if len(new) == room:
            break
        if sample.digest not in seen:
            seen.add(sample.digest)
            new.append(sample)
    return new


def _make_unit(source: Source, stream: Stream, unit: int) -> _Unit | None:
    """Runs in a worker: make, encode, digest."""
    made = source.make(stream.split, stream.group, unit)
    if made is None:
        return None
    encoded = []
    for sample in made:
        if isinstance(sample, Sample):
            buffer = io.BytesIO()
            grey = sample.image.dtype == np.uint16
            picture = Image.fromarray(sample.image[..., 0] if grey else sample.image)
            picture.save(buffer, format="PNG", compress_level=3)
            digest = hashlib.blake2b(sample.identity or sample.image.tobytes(), digest_size=12).hexdigest()
            encoded.append(Encoded(buffer.getvalue(), store.to_record(sample), digest))
    return _Unit(encoded, [problem for problem in made if isinstance(problem, Problem)])
