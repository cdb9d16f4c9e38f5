"""Drive a source of samples into a data set on disk: in parallel, reproducibly, and resumably.

A source makes samples in numbered units, each a pure function of (settings, split, group, unit). Workers make units,
this process alone writes them, in order, and notes each finished unit in a log. So the result does not depend on
the number of workers, and after a kill the same command goes on with the first unit that the log does not name.
Generators make as many units as it takes; converters (`convert/`) are sources too, with an end.
"""

import hashlib
import io
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from objectspace.data import store
from objectspace.data.request import check_images, check_request, request_of
from objectspace.data.sample import Problem, Sample
from objectspace.data.source import Source
from objectspace.data.streams import Encoded, Records, Stream, StreamLog
from objectspace.data.workers import in_order, only_one, pool
from objectspace.errors import UserError
from objectspace.io.files import Json, write_json
from objectspace.io.progress import Progress, logged_progress

PATIENCE = 40  # units in a row that may bring nothing new before a source counts as exhausted


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
    request = request_of(source, streams)
    try:
        finished = check_request(root, request)
        if finished is not None:
            check_images(root, finished["splits"])
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


def _clear(root: Path, logs: Sequence[StreamLog]) -> None:
    """Leave nothing behind of a data set that has no image."""
    for folder in {root / ".making", *(root / log.stream.split for log in logs)}:
        shutil.rmtree(folder, ignore_errors=True)
    (root / "log.jsonl").unlink(missing_ok=True)
    if not any(root.iterdir()):
        root.rmdir()


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
