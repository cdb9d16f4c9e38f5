"""Files that are either whole or not there, and JSON in them."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from objectspace.errors import UserError

Json = dict[str, Any]


def write_atomically(path: Path, content: bytes | Iterable[bytes], durable: bool = True) -> None:
    """Write a file that is either whole or not there.

    Without `durable` that holds for a program that is killed, but not for a power cut: for files of which there are
    many, where waiting for the disk each time would take longer than making them.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.writelines([content] if isinstance(content, bytes) else content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON that a person can read."""
    write_atomically(path, (json.dumps(content, indent=2) + "\n").encode())


def read_json(path: Path) -> Json:
    """Read a JSON object, or say which file is damaged."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    if not isinstance(content, dict):
        raise UserError(f"{path} should hold a JSON object, but holds a {type(content).__name__}")
    return content


def read_foreign_json(path: Path, largest: int) -> Any:
    """What a file that may come from anywhere holds, if it is not too large; `OSError` if it cannot be opened."""
    if path.stat().st_size > largest:
        raise UserError(f"{path} is too large: such a file has at most {largest} bytes")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not valid JSON: {error}") from error


def check_writable(path: Path | None) -> None:
    """Find out now, not after an hour, that a file cannot be written; `None` is no file."""
    if path is None:
        return
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UserError(f"cannot write {path}: give a file in a directory that can be written")


def shown(path: str) -> str:
    """A path as text that can be printed and written anywhere; bytes that are no text become escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
