"""The machine that a measurement is made on: what a reader must know of it, and how much memory there is."""

import os
import platform
import resource
import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NO_MEMORY = ("can't allocate memory", "not enough memory", "could not create a memory", "bad_alloc", "out of memory")


def machine() -> dict[str, Any]:
    """What a reader must know to judge a time."""
    lines = _lines("/proc/cpuinfo")
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
    }


def origin(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Where a file of results comes from: the command, the machine, torch, and the settings of the measurement."""
    import torch

    return {
        "command": shlex.join(["objectspace", *sys.argv[1:]]),
        "machine": machine(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "settings": dict(settings),
    }


def peak_memory() -> int:
    """Bytes that this process has held at the most.

    (Elsewhere than on Linux by getrusage, which counts what the parent held before this program began, too.)
    """
    for line in _lines("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def available_memory() -> int:
    """Bytes that could be had now without taking them from others, in the container too if this is one."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2  # where the system does not tell
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable"):
            free = int(line.split()[1]) * 1024
    most, used = _lines("/sys/fs/cgroup/memory.max"), _lines("/sys/fs/cgroup/memory.current")
    if most and used and most[0].isdecimal():
        free = min(free, int(most[0]) - int(used[0]))
    return max(free, 0)


def limit_memory(most: int) -> None:
    """Let this process fail to allocate, rather than be killed or kill others, beyond so many bytes of data."""
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


@contextmanager
def memory_limited(most: int) -> Iterator[None]:
    """The same for a while, over what the process holds already."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    limit_memory(peak_memory() + most)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there was no memory left: torch has no class of its own for that on a CPU."""
    return isinstance(error, MemoryError) or any(words in str(error) for words in NO_MEMORY)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
