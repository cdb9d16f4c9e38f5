"""The diary of a directory of results: what is finished in it, so that work goes on where it stopped.

A small SQLite file: a batch is noted as a whole or not at all, whatever moment the program is killed in, and neither
looking up an image nor walking over all of them takes memory that grows with their number. File names are kept as
bytes, because not all of them are text.
"""

import hashlib
import json
import os
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from objectspace.errors import UserError
from objectspace.results import record as records
from objectspace.results.record import Record
from objectspace.scene import Scene

FORMAT = 2
LONGEST_NAME = 120  # bytes of a name that is made of a file's; an ending and a digest are added
_TABLES = """
CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sources (key BLOB PRIMARY KEY, stamp TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS problems (number INTEGER PRIMARY KEY, path BLOB NOT NULL, reason TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS images (
    number INTEGER PRIMARY KEY, key BLOB NOT NULL, frame INTEGER NOT NULL, stamp TEXT NOT NULL,
    name TEXT NOT NULL, folded TEXT NOT NULL UNIQUE, file_name TEXT NOT NULL, source TEXT,
    height INTEGER NOT NULL, width INTEGER NOT NULL, count INTEGER NOT NULL, objects TEXT NOT NULL, what BLOB NOT NULL,
    unexplained REAL,
    UNIQUE (key, frame)
);
"""
_ONLY = -1  # the frame of an image that is no animation


class Journal:
    """What is finished, for one set of settings; another set is refused."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._base = sqlite3.connect(path, timeout=0.5, isolation_level=None)
        except sqlite3.Error as error:
            raise UserError(f"cannot write {path}: {error}") from error
        try:
            self._base.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._base.executescript(f"BEGIN IMMEDIATE; {_TABLES} DELETE FROM problems; COMMIT;")
            self._check({"format": FORMAT, **settings})
        except sqlite3.Error as error:
            self._base.close()
            busy = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
            reason = "another command is working there" if busy else f"{path.name} cannot be used ({error})"
            raise UserError(f"cannot go on in {path.parent}: {reason}") from error
        except BaseException:
            self._base.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._base.close()

    def __iter__(self) -> Iterator[Record]:
        """All images, in the order in which they were met; may be walked as often as needed."""
        return self.first(-1)

    def first(self, limit: int) -> Iterator[Record]:
        """The first images."""
        query = (
            "SELECT number, key, file_name, name, frame, source, height, width, count, objects, what, unexplained"
            " FROM images ORDER BY number LIMIT ?"
        )
        for row in self._base.execute(query, (limit,)):
            number, key, file_name, name, frame, source, height, width, count, objects, what, unexplained = row
            yield Record(
                number=number,
                key=os.fsdecode(key),
                file_name=file_name,
                name=name,
                frame=None if frame == _ONLY else frame,
                source=source,
                height=height,
                width=width,
                objects=records.from_text(objects),
                what=np.frombuffer(what, "<f4").reshape(count, -1) if count else np.zeros((0, 0), np.float32),
                unexplained=unexplained,
            )

    def after(self, limit: int) -> Iterator[Record]:
        """All but the first images."""
        for record in self:
            if record.number > limit:
                yield record

    @property
    def totals(self) -> tuple[int, int]:
        """How many images and objects there are."""
        images, objects = self._base.execute("SELECT count(*), coalesce(sum(count), 0) FROM images").fetchone()
        return images, objects

    def unexplained(self) -> Iterator[tuple[str, float]]:
        """The images by name, with the share of their pixels that nobody explains, where that is known."""
        query = "SELECT file_name, unexplained FROM images WHERE unexplained IS NOT NULL ORDER BY number"
        yield from self._base.execute(query)

    def is_finished(self, key: str, stamp: str) -> bool:
        """Whether the file, as it is now, was taken apart to its end."""
        return self._has("SELECT 1 FROM sources WHERE key = ? AND stamp = ?", os.fsencode(key), stamp)

    def has_frame(self, key: str, frame: int | None, stamp: str) -> bool:
        """Whether one image of the file, as it is now, was taken apart."""
        query = "SELECT 1 FROM images WHERE key = ? AND frame = ? AND stamp = ?"
        return self._has(query, os.fsencode(key), _ONLY if frame is None else frame, stamp)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """All that is noted within is kept together, or not at all."""
        self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._base.in_transaction:  # a full disk has ended it already
                self._base.execute("ROLLBACK")
            raise
        self._base.execute("COMMIT")

    def name_for(self, key: str, frame: int | None) -> str:
        """What the files of an image are called: after it; if another one is called so, after its folder, too."""
        number = _ONLY if frame is None else frame
        row = self._base.execute(
            "SELECT name FROM images WHERE key = ? AND frame = ?", (os.fsencode(key), number)
        ).fetchone()
        if row is not None:
            return str(row[0])
        parent, base = os.path.split(key)
        wish = safe_name(os.path.splitext(base)[0]) + ("" if frame is None else f"-{frame:06d}")
        folder = safe_name(os.path.basename(parent), LONGEST_NAME // 2)
        digest = hashlib.blake2b(os.fsencode(key) + b"\0%d" % number, digest_size=16).hexdigest()
        for name in (wish, f"{folder}-{wish}", f"{wish}-{digest}"):
            if not self._has("SELECT 1 FROM images WHERE folded = ?", name.casefold()):  # some disks ignore case
                return name
        raise AssertionError(f"two images with one digest: {key}")

    def numbers_for(self, images: Iterable[tuple[str, int | None]]) -> list[int]:
        """The numbers of images by file and frame; those that are not there get them when they are added, in order."""
        (last,) = self._base.execute("SELECT coalesce(max(number), 0) FROM images").fetchone()
        numbers = []
        for key, frame in images:
            place = os.fsencode(key), _ONLY if frame is None else frame
            row = self._base.execute("SELECT number FROM images WHERE key = ? AND frame = ?", place).fetchone()
            last += row is None
            numbers.append(last if row is None else int(row[0]))
        return numbers

    def add(
        self, key: str, frame: int | None, stamp: str, name: str, file_name: str, source: str | None, scene: Scene
    ) -> int:
        """Note an image and what was found in it; one that was there before keeps its number."""
        objects, what = records.found(scene)
        row = {
            "key": os.fsencode(key),
            "frame": _ONLY if frame is None else frame,
            "stamp": stamp,
            "name": name,
            "folded": name.casefold(),
            "file_name": file_name,
            "source": source,
            "height": scene.height,
            "width": scene.width,
            "count": len(objects),
            "objects": records.to_text(objects),
            "what": what.astype("<f4").tobytes(),
            "unexplained": scene.unexplained_share,
        }
        changes = ", ".join(f"{name} = excluded.{name}" for name in row if name not in ("key", "frame"))
        (number,) = self._base.execute(
            f"INSERT INTO images ({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})"
            f" ON CONFLICT (key, frame) DO UPDATE SET {changes} RETURNING number",
            row,
        ).fetchone()
        return int(number)

    def finish(self, key: str, stamp: str) -> None:
        """Note that all images of a file are done."""
        self._base.execute("INSERT OR REPLACE INTO sources VALUES (?, ?)", (os.fsencode(key), stamp))

    def add_problem(self, path: str, reason: str) -> None:
        """Note a file that could not be used, until the next time."""
        self._base.execute("INSERT INTO problems (path, reason) VALUES (?, ?)", (os.fsencode(path), reason))

    def problems(self) -> Iterator[tuple[str, str]]:
        """The files that could not be used this time, and why."""
        for path, reason in self._base.execute("SELECT path, reason FROM problems ORDER BY number"):
            yield os.fsdecode(path), reason

    def note(self, name: str) -> str | None:
        """Something that was set down under a name."""
        row = self._base.execute("SELECT value FROM notes WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def set_note(self, name: str, value: str) -> None:
        self._base.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, value))

    def _has(self, query: str, *values: object) -> bool:
        return self._base.execute(query, values).fetchone() is not None

    def _check(self, settings: Mapping[str, Any]) -> None:
        """The settings are those that the directory was begun with, or it is new."""
        before = self.note("settings")
        if before is None:
            self.set_note("settings", json.dumps(settings))
            return
        known = json.loads(before)
        changed = [name for name in {**known, **settings} if known.get(name) != settings.get(name)]
        if changed:
            lines = ((name, *(_given(each.get(name)) for each in (known, settings))) for name in changed)
            list_of = "; ".join(f"{name} was {before}, and now is {now}" for name, before, now in lines)
            raise UserError(f"{self.path.parent} was begun differently: {list_of}. Give another --out, or remove it")


def safe_name(text: str, longest: int = LONGEST_NAME) -> str:
    """A name that every file system takes, as much as possible like the one given."""
    text = unicodedata.normalize("NFC", text)
    safe = "".join(letter if letter.isalnum() or letter in "-_.() " else "_" for letter in text)
    return safe.encode()[:longest].decode(errors="ignore").strip(". ") or "image"


def _given(value: Any) -> str:
    return "not given" if value is None else str(value)
