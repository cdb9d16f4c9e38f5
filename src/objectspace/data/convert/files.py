"""What the formats share that are a list of image files.

Sources travel to worker processes with every unit of work, so they stay small: the listing is made anew, once, in each
process, and compared with the digest of the one that the conversion began with.
"""

import hashlib
from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from objectspace.data.convert.base import Converter, ConvertOptions
from objectspace.data.sample import Problem, Sample
from objectspace.data.streams import Stream
from objectspace.errors import UserError

UNIT = 8  # images of a unit of work: several, so that noting it down costs little; few, as they may be large

Part = tuple[str, str]  # split and group, see Stream


@dataclass(frozen=True)
class Entry:
    """An image file to convert: its `name` relative to the source, and what the format knows about it."""

    path: Path
    name: str
    truth: Any = None


Listing = dict[Part, list[Entry | Problem]]
_listings: dict[Hashable, Listing] = {}  # of this process: the last one that was needed


class FileConverter(Converter):
    """A source that is a list of image files. A problem met while listing takes an entry's place in the list."""

    def __init__(self, root: Path, options: ConvertOptions) -> None:
        super().__init__(root, options)
        listing = self._list()
        self._digest = self._digest_of(listing)
        self._keep(listing)

    @property
    def digest(self) -> str:
        return self._digest

    @abstractmethod
    def scan(self) -> Listing:
        """The source's own splits and groups."""

    @abstractmethod
    def load(self, entry: Entry) -> list[Sample | Problem]:
        """Read one image; also with it, the problems of its annotations."""

    def stamp(self) -> str:
        """Changes when the annotations do."""
        return ""

    def streams(self) -> list[Stream]:
        return [Stream(split, None, group, len(entries)) for (split, group), entries in self._listing().items()]

    def make(self, split: str, group: str, unit: int) -> list[Sample | Problem] | None:
        entries = self._listing()[split, group][unit * UNIT : (unit + 1) * UNIT]
        made: list[Sample | Problem] = []
        for entry in entries:
            made += [entry] if isinstance(entry, Problem) else self.load(entry)
        return made if entries else None

    def _list(self) -> Listing:
        """What `scan` finds, limited and with the held-out images in their splits."""
        found = self.scan()
        self.options.check_hold_out({split for split, _ in found})
        placed: Listing = {}
        for (split, group), entries in found.items():
            for entry in entries[: self.options.limit]:
                new = split if isinstance(entry, Problem) else self.options.place(split, entry.name)
                placed.setdefault((new, group), []).append(entry)
        for name, fraction in (("val", self.options.val), ("test", self.options.test)):
            if fraction and name not in {split for split, _ in placed}:
                raise UserError(
                    f"--{name} {fraction} of so few images is none: give a larger fraction, or leave it out"
                )
        return placed

    def _digest_of(self, listing: Listing) -> str:
        digest = hashlib.blake2b(self.stamp().encode(), digest_size=12)
        for part, entries in sorted(listing.items()):
            digest.update(repr(part).encode())
            for entry in entries:
                text = str(entry) if isinstance(entry, Problem) else f"{entry.name} {size_of(entry.path)}"
                digest.update(f"{text}\n".encode(errors="surrogateescape"))
        return digest.hexdigest()

    def _listing(self) -> Listing:
        if self._key not in _listings:
            try:
                listing = self._list()
                digest = self._digest_of(listing)
            except OSError as error:
                raise UserError(f"cannot read {self.root}: {error}") from error
            if digest != self._digest:
                raise UserError(f"the files below {self.root} changed while they were converted: start anew")
            self._keep(listing)
        return _listings[self._key]

    def _keep(self, listing: Listing) -> None:
        _listings.clear()
        _listings[self._key] = listing

    @property
    def _key(self) -> Hashable:
        return self.format, self.root, self.options, self._digest


def size_of(path: Path) -> int:
    """A file's size in bytes, -1 where there is none to be known."""
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return -1
