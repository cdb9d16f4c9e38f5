"""Run a function over 0, 1, 2, ... in worker processes and take the results in order."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from objectspace.errors import UserError

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

Submit = Callable[..., Future[Any]]
T = TypeVar("T")


@contextmanager
def pool(workers: int) -> Iterator[Submit | None]:
    """A way to run functions in `workers` processes, or None for one worker: then this process does the work."""
    if workers == 1:
        yield None
        return
    spawn = multiprocessing.get_context("spawn")  # a fork would copy locks and OpenGL state that must not be shared
    executor = ProcessPoolExecutor(workers, mp_context=spawn, initializer=_begin_worker)

    def submit(*work: Any) -> Future[Any]:
        with _without_ctrl_c():
            return executor.submit(*work)

    try:
        yield submit
    except BrokenProcessPool as error:
        raise UserError(
            "a worker process died (out of memory?). What is finished is kept; the same command continues, "
            "and --workers 1 needs the least memory"
        ) from error
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C wait: processes that are started meanwhile never hear it, not even while they import."""
    if not hasattr(signal, "pthread_sigmask"):  # not on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin_worker() -> None:
    """Leave Ctrl-C to the parent, and die with it: a killed parent must leave no worker behind."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def die_with_parent() -> None:
        if parent is not None:
            multiprocessing.connection.wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=die_with_parent, daemon=True).start()


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Keep a second process from working in the same folder."""
    if fcntl is None:  # not on Windows
        yield
        return
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(f"another process is at work on {folder.parent}: wait for it, or stop it") from error
        yield


def in_order(submit: Submit | None, workers: int, make: Callable[[int], T], first: int) -> Iterator[T]:
    """make(first), make(first + 1), ... without end, a few of them ahead in the workers."""
    if submit is None:
        while True:
            yield make(first)
            first += 1
    ahead: deque[Future[T]] = deque()
    try:
        while True:
            while len(ahead) < 2 * workers + 1:
                ahead.append(submit(make, first))
                first += 1
            yield ahead.popleft().result()
    finally:
        for future in ahead:
            future.cancel()
