"""Logs of JSON lines that a kill may tear: what is whole is read, and what is added begins on a line of its own."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects in a log, one after another; a line that is torn or holds no object is passed over."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict):
                yield entry


def append_line(path: Path, entry: Mapping[str, Any], durable: bool = False) -> None:
    """Add an object to a log; `durable` waits until it is on the disk."""
    with path.open("ab+") as file:
        torn = False
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            torn = file.read(1) != b"\n"
        file.write((b"\n" if torn else b"") + json.dumps(dict(entry)).encode() + b"\n")
        if durable:
            file.flush()
            os.fsync(file.fileno())
