"""`objectspace ...` in processes that can be killed, each without the import of torch, which takes longer than they do.

One process imports it once and is forked for every command. What one prints is read line by line, as from a `Popen`.
"""

import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import TextIO

PRELOADED = ["objectspace.cli", "objectspace.training.run", "helpers.forks"]


class Forked:
    """A command under way."""

    def __init__(self, process: BaseProcess, printed: TextIO) -> None:
        self._process, self.stdout = process, printed
        assert process.pid is not None
        self.pid: int = process.pid

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> int | None:
        self._process.join()
        return self._process.exitcode


@contextmanager
def forked(*arguments: str) -> Iterator[Forked]:
    """A command in a process of its own, which does not outlive the block."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    reading, writing = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(writing, arguments))
    process.start()
    writing.close()
    with open(os.dup(reading.fileno()), encoding="utf-8") as printed:
        reading.close()
        try:
            yield Forked(process, printed)
        finally:
            process.kill()
            process.join()


def _run(writing: Connection, arguments: tuple[str, ...]) -> None:
    import torch

    from objectspace.cli import main

    torch.set_num_threads(1)
    os.dup2(writing.fileno(), 1)
    sys.stdout = open(1, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115 - until the process ends
    sys.argv = ["objectspace", *arguments]
    main()
