"""How long a gradient step takes, and how much memory, against the decomposition capacity: the paper's first chart.

Every point is measured in several rounds, all points of a round one after another, so that whatever else the machine
does meets all of them alike. Each visit to a point is a process of its own (`visit.py`). A log (JSON lines) keeps
every visit: the same command again goes on, and measures nothing twice.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from statistics import median
from typing import Any

import torch

from objectspace import plugins
from objectspace.compare.candidates import Candidate, all_cells
from objectspace.compare.machine import NO_MEMORY
from objectspace.compare.regimes import regime
from objectspace.compare.visit import Order
from objectspace.errors import UserError
from objectspace.io.lines import append_line, read_lines

MEASURED, TOO_SLOW, NO_ROOM, FAILED = "measured", "too slow", "out of memory", "failed"
START_UP = 300.0  # seconds that a process may take before its first step
ABOUT = 0.8  # how much memory is free changes all the time: a limit is another one only if it is far off

Visit = Mapping[str, Any]  # a line of the log


@dataclass(frozen=True)
class Settings:
    """How the points are measured."""

    batch: int = 12
    repeats: int = 3
    limit: float = 120.0  # seconds; a step that is estimated to take longer is not taken
    memory: int = 16 * 10**9  # bytes that a process may hold
    threads: int = field(default_factory=torch.get_num_threads)


@dataclass(frozen=True)
class Point:
    """What is known about one model at one capacity."""

    model: str
    grid: int
    capacity: int
    shown_capacity: str  # 64+5
    status: str  # measured, too slow, out of memory, failed
    seconds: float | None = None  # median over the rounds
    fastest: float | None = None
    slowest: float | None = None
    peak: int | None = None  # bytes that steps add to what the process holds before them, the most of all rounds
    inference: float | None = None  # seconds to infer and draw a batch, median over the rounds
    estimate: float | None = None  # seconds, estimated from smaller batches
    estimated_peak: int | None = None
    visits: int = 0
    message: str = ""


def measure_all(
    candidates: Sequence[Candidate], settings: Settings, log: Path, advance: Callable[[str], None]
) -> list[Point]:
    """Measure every candidate in rounds; `advance` hears of each visit that is done, also of those done before."""
    visits = _read(log)
    keys = [_key(candidate, settings) for candidate in candidates]
    for number in range(settings.repeats):
        for candidate, key in zip(candidates, keys, strict=True):
            mine = [visit for visit in visits if visit["key"] == key and _counts(visit, settings)]
            if len(mine) <= number and not _settled(mine, settings):
                reported = _visit(candidate, settings, probe=not mine)
                line = {
                    "key": key,
                    "model": candidate.model,
                    "grid": candidate.grid,
                    "time": round(time.time()),
                } | reported
                _append(log, line | {"limit": settings.limit, "memory": settings.memory})
                visits = _read(log)
            advance(f"{candidate.model} {candidate.config.capacity}")
    by_key = {key: [visit for visit in visits if visit["key"] == key] for key in keys}
    return [_point(candidate, by_key[key], settings) for candidate, key in zip(candidates, keys, strict=True)]


def _counts(visit: Visit, settings: Settings) -> bool:
    """Whether a visit need not be made again: what failed may work now, and what did not fit may be allowed more."""
    if visit["status"] == NO_ROOM:
        return bool(visit["memory"] >= ABOUT * settings.memory)
    return bool(visit["status"] == MEASURED or (visit["status"] == TOO_SLOW and visit["limit"] >= settings.limit))


def _settled(visits: Sequence[Visit], settings: Settings) -> bool:
    """Whether another visit would bring nothing: it cannot be run, or is slower than what is waited for."""
    return any(visit["status"] != MEASURED or visit["seconds"] > settings.limit for visit in visits)


def _visit(candidate: Candidate, settings: Settings, probe: bool) -> dict[str, Any]:
    """Measure once, in another process."""
    order = Order(
        config=candidate.config.model_dump(mode="json"),
        batch=settings.batch,
        limit=settings.limit,
        memory=settings.memory,
        threads=settings.threads,
        probe=probe,
        files=tuple(map(str, plugins.loaded_files())),
    )
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as complaints:
        command = [sys.executable, "-m", "objectspace.compare.visit"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=complaints, text=True) as process:
            assert process.stdin is not None
            try:
                process.stdin.write(order.to_json() + "\n")
                process.stdin.flush()
                process.wait(START_UP + 4 * settings.limit)  # the probe, a step to warm up, one that counts
                late = False
            except (subprocess.TimeoutExpired, BrokenPipeError) as error:
                late = isinstance(error, subprocess.TimeoutExpired)
            finally:
                process.kill()
        out.seek(0)
        complaints.seek(0)
        reported = _merged(out.read().splitlines())
        return reported if "status" in reported else reported | _ended(process.returncode, late, complaints.read())


def _ended(code: int, late: bool, complaints: str) -> dict[str, Any]:
    """What became of a process that reported no result."""
    if late:
        return {"status": TOO_SLOW}
    if code == -9 or any(words in complaints for words in (*NO_MEMORY, "MemoryError")):
        return {"status": NO_ROOM}  # the system ends a process that takes too much
    last = complaints.strip().splitlines()[-1:] or [f"ended with code {code}"]
    return {"status": FAILED, "message": last[0]}


def _merged(lines: Sequence[str]) -> dict[str, Any]:
    reported: dict[str, Any] = {}
    for line in lines:
        reported |= json.loads(line)
    return reported


def _point(candidate: Candidate, visits: Sequence[Visit], settings: Settings) -> Point:
    """The visits to a point put together."""
    good = [visit for visit in visits if _counts(visit, settings)] or visits[-1:]
    measured = [visit for visit in good if visit["status"] == MEASURED]
    times = [visit["seconds"] for visit in measured]
    known = {key: value for visit in good for key, value in visit.items()}
    return Point(
        model=candidate.model,
        grid=candidate.grid,
        capacity=candidate.capacity,
        shown_capacity=candidate.config.capacity,
        status=MEASURED if measured else known["status"],
        seconds=median(times) if times else None,
        fastest=min(times, default=None),
        slowest=max(times, default=None),
        peak=max((visit["peak"] for visit in measured), default=None),
        inference=median(waits)
        if (waits := [visit["inference"] for visit in measured if "inference" in visit])
        else None,
        estimate=known.get("estimate"),
        estimated_peak=known.get("estimated_peak"),
        visits=len(measured),
        message=known.get("message", ""),
    )


def _key(candidate: Candidate, settings: Settings) -> str:
    """The same for visits that may be put together: of all that decides about a time but the machine's mood."""
    own = regime(candidate.config.kind)
    content = [
        candidate.model,
        candidate.grid,
        candidate.config.model_dump(mode="json"),
        own.anneal.model_dump(mode="json"),
        own.training.model_dump(mode="json"),
        settings.batch,
        settings.threads,
        torch.__version__,
    ]
    return blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()


def _read(log: Path) -> list[Visit]:
    """The visits so far."""
    return [visit for visit in read_lines(log) if {"key", "status"} <= visit.keys()]


def _append(log: Path, line: Visit) -> None:
    try:
        append_line(log, line)
    except OSError as error:
        raise UserError(f"cannot write {log}: {error}; mend that: the same command continues") from error


def relative(points: Sequence[Point], to: str = all_cells("space")) -> dict[Point, float | None]:
    """How many times the step of the model `to` at the same grid each step takes; None where one of them is unknown."""
    base = {point.grid: point.seconds for point in points if point.model == to}
    ratios: dict[Point, float | None] = {}
    for point in points:
        other = base.get(point.grid)
        ratios[point] = None if point.seconds is None or not other else point.seconds / other
    return ratios


def growth(points: Sequence[Point]) -> list[str]:
    """How a step grows with the capacity, a sentence for each line of the chart that was measured twice or more."""
    said = []
    for model in dict.fromkeys(point.model for point in points):
        mine = [point for point in points if point.model == model and point.seconds is not None]
        mine.sort(key=lambda point: point.capacity)
        if len(mine) > 1 and mine[0].seconds and mine[-1].seconds:
            first, last, times = mine[0], mine[-1], mine[-1].seconds / mine[0].seconds
            said.append(
                f"{model}: from {first.shown_capacity} to {last.shown_capacity} a step takes {times:.2f} times as long"
            )
    return said
