"""What a data set is to be made of, and whether the one that is there is of the same.

A finished data set says it in dataset.json; one in the making in .making/request.json.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from objectspace.data import store
from objectspace.data.source import Source
from objectspace.data.streams import Stream
from objectspace.errors import UserError
from objectspace.io.files import Json, read_json, write_json


def request_of(source: Source, streams: Sequence[Stream]) -> Json:
    """All that decides which images are made."""
    content = {
        "format": store.FORMAT_VERSION,
        "generator": source.generator,
        "version": source.version,
        "licence": source.licence,
        "settings": source.settings(),
        "asked": {stream.name: stream.count for stream in streams},
    }
    return dict(json.loads(json.dumps(content)))  # as it will be read back: tuples become lists


def check_request(root: Path, request: Json) -> Json | None:
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


def check_images(root: Path, splits: dict[str, int]) -> None:
    """A finished data set must still have its images."""
    for split, count in splits.items():
        folder = root / split / "images"
        whole = sum(path.stat().st_size > 0 for path in folder.iterdir()) if folder.is_dir() else 0
        if whole < count or not (root / split / "annotations.json").exists():
            raise UserError(
                f"{root} was finished, but of the {count} images of {split} only {whole} are left, or its annotations "
                "are gone: remove the directory and give the command again"
            )


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
