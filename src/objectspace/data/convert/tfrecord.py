"""TFRecord files, without TensorFlow: bytes in checked records, plain or gzip as a whole.

    uint64 length | uint32 masked crc32c(length) | data | uint32 masked crc32c(data), all little-endian

A file is not believed: a length is checked before anything of that length is read, a checksum before data is given.
It can be read from front to back only, so each process keeps its place between two calls, see `record`.
"""

import atexit
import gzip
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from objectspace.data.convert.crc32c import crc32c, masked
from objectspace.errors import UserError

MAX_RECORD = 64 * 2**20  # bytes; the largest of the known data sets has records of 3.2 million
_HEADER, _FOOTER = struct.Struct("<QI"), struct.Struct("<I")


class RecordFile:
    """A TFRecord file with a place in it: `number` is the index of the record that comes next."""

    def __init__(self, path: Path) -> None:
        self.path, self.number = path, 0
        self._offset = 0  # bytes of whole records so far, unpacked
        try:
            self._raw = path.open("rb")
            is_gzip = self._raw.read(2) == b"\x1f\x8b"
            self._raw.seek(0)
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror}") from error
        self._file: IO[bytes] = gzip.GzipFile(fileobj=self._raw) if is_gzip else self._raw  # type: ignore[assignment]

    def close(self) -> None:
        self._file.close()
        self._raw.close()

    @property
    def consumed(self) -> int:
        """Bytes of the file as it lies on disk that were read so far, more or less."""
        return self._raw.tell()

    def next(self) -> bytes | None:
        """The next record's data, checked; None at the end of the file."""
        length = self._length()
        if length is None:
            return None
        data, footer = self._read(length), self._read(_FOOTER.size)
        if _FOOTER.unpack(footer)[0] != masked(crc32c(data)):
            raise self._damaged("its checksum does not match its data, so the file is damaged")
        self._advance(length)
        return data

    def skip(self) -> bool:
        """Pass over the next record without a look at its data; False at the end of the file."""
        length = self._length()
        if length is None:
            return False
        self._read(length + _FOOTER.size)
        self._advance(length)
        return True

    def _length(self) -> int | None:
        header = self._read(_HEADER.size, may_end=True)
        if not header:
            return None
        length, checksum = _HEADER.unpack(header)
        if checksum != masked(crc32c(header[:8])):
            if self.number == 0:
                raise UserError(f"{self.path} is not a TFRecord file: its first 12 bytes are no record header")
            raise self._damaged("its header's checksum does not match, so the file is damaged")
        if length > MAX_RECORD:
            raise self._damaged(
                f"it claims a length of {length:,} bytes, more than the {MAX_RECORD:,} that are allowed"
            )
        return int(length)

    def _read(self, size: int, may_end: bool = False) -> bytes:
        try:
            data = self._file.read(size)
        except EOFError as error:
            raise self._damaged("the gzip stream ends there, so the file is truncated") from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise self._damaged(f"the gzip stream is damaged there ({error})") from error
        except OSError as error:
            raise UserError(f"cannot read {self.path}: {error}") from error
        if len(data) < size and not (may_end and not data):
            raise self._damaged("the file ends in the middle of it, so the file is truncated")
        return data

    def _advance(self, length: int) -> None:
        self.number += 1
        self._offset += _HEADER.size + length + _FOOTER.size

    def _damaged(self, what: str) -> UserError:
        keep = f"; or take only the whole records before it, with --limit {self.number}" if self.number else ""
        return UserError(
            f"{self.path}, record {self.number} at byte {self._offset} (unpacked): {what}. "
            f"Fetch the file again, then the same command continues{keep}"
        )


_places: dict[tuple[Path, int, str], RecordFile] = {}  # of this process: the last file read, and where it stands


@contextmanager
def record(path: Path, number: int, changed: int, reader: str) -> Iterator[RecordFile]:
    """The file, ready to give record `number`, or at its end; only from front to back is this cheap.

    `changed`, the file's time stamp, and `reader` tell apart places in files of one name.
    """
    key = (path, changed, reader)
    try:
        if key not in _places or _places[key].number > number:
            _close_all()
            _places[key] = RecordFile(path)
        records = _places[key]
        while records.number < number and records.skip():
            pass
        yield records
    except BaseException:  # it may stand within a record now
        _close_all()
        raise


@atexit.register
def _close_all() -> None:
    while _places:
        _places.popitem()[1].close()
