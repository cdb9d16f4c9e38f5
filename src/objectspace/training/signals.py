"""Ctrl-C and SIGTERM as wishes: the loop finishes its step, saves and leaves."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_signals() -> Iterator[Sequence[int]]:
    """A list that is empty until SIGINT or SIGTERM arrives."""
    arrived: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        arrived.append(number)

    before = {number: signal.signal(number, remember) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
