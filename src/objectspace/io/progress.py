"""Progress of long work: a bar on a terminal, plain lines elsewhere, JSON lines in a file always."""

import json
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

PLAIN_LINE_EVERY = 10.0  # seconds between plain lines where there is no terminal
LOG_LINE_EVERY = 1.0  # seconds between JSON lines


class Pace:
    """The present rate of steady work: over the last `window` units, and nothing done before it was made."""

    def __init__(self, window: int = 100, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times = deque([clock()], maxlen=window + 1)

    def tick(self) -> None:
        """Say that one more unit is finished."""
        self._times.append(self._clock())

    @property
    def rate(self) -> float:
        """Units a second; 0 as long as there are none."""
        return (len(self._times) - 1) / max(self._times[-1] - self._times[0], 1e-9)


def duration(seconds: float) -> str:
    """A stretch of time as people say it: 45 s, 12 min, 3 h 05 min."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


class Progress:
    """Counts finished units of one piece of work; `already` of `total` (None: unknown) were done before."""

    def __init__(self, what: str, total: int | None, already: int = 0, log: IO[str] | None = None) -> None:
        self.what, self.total, self.done, self._already = what, total, already, already
        self._log = log
        self._start = time.monotonic()
        self._next_line = self._start + PLAIN_LINE_EVERY
        self._next_log = self._start
        self._console = Console(stderr=True)
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar = RichProgress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
                console=self._console,
            )
            self._bar.start()
            self._task = self._bar.add_task(self.what, total=self.total, completed=self.done, rate="")
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif self.done > self._already:
            self._print_line()
        self._write_log()

    @property
    def rate(self) -> float:
        """Units a second since this call began."""
        return (self.done - self._already) / max(time.monotonic() - self._start, 1e-9)

    def advance(self, count: int = 1) -> None:
        """Say that `count` more units are finished."""
        self.done += count
        now = time.monotonic()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self.done, rate=f"{self.rate:,.1f}/s")
        elif now >= self._next_line:
            self._print_line()
            self._next_line = now + PLAIN_LINE_EVERY
        if now >= self._next_log:
            self._write_log()
            self._next_log = now + LOG_LINE_EVERY

    def _print_line(self) -> None:
        line = f"{self.what}: {self.done}"
        if self.total is not None:
            line += f"/{self.total}, {max(0, self.total - self.done) / max(self.rate, 1e-9):,.0f} s left"
        line += f", {self.rate:,.1f}/s"
        print(line, file=sys.stderr, flush=True)

    def _write_log(self) -> None:
        if self._log is None:
            return
        entry = {
            "time": round(time.time(), 3),
            "what": self.what,
            "done": self.done,
            "total": self.total,
            "rate": round(self.rate, 3),
        }
        self._log.write(json.dumps(entry) + "\n")
        self._log.flush()


@contextmanager
def logged_progress(what: str, total: int | None, log: Path, already: int = 0) -> Iterator[Progress]:
    """A `Progress` that also appends JSON lines to the file `log`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8") as file, Progress(what, total, already, file) as progress:
        yield progress
