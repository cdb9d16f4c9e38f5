"""The CRC-32C checksum (Castagnoli) in numpy, fast enough for gigabytes.

Reads bytes, gives a number. The checksum of a message is linear in its bits, so it need not be computed from front to
back: take the message as 32-bit words and fold neighbours together, (left, right) -> advance(left) ^ right, where
`advance` moves a remainder over as many bytes as `right` covers. Each pass halves the number of words and doubles that
distance, and is a handful of numpy calls. `advance` is itself linear, so a table for each half of a word holds it.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

_POLYNOMIAL = 0x82F63B78  # bits reversed
_SHORT = 64  # bytes below which the plain loop is faster

Words = NDArray[np.uint32]


def crc32c(data: bytes) -> int:
    """CRC-32C of `data`: the one of b"123456789" is 0xE3069283."""
    if len(data) < _SHORT:
        return _one_by_one(data)
    padding = -len(data) % 4  # zeros in front change nothing, since the remainder begins at zero there
    padded = np.zeros(padding + len(data), np.uint8)
    padded[padding:] = np.frombuffer(data, np.uint8)
    padded[padding : padding + 4] ^= 0xFF  # the customary initial value of all ones
    words = padded.view("<u4")
    level = 0
    while len(words) > 1:
        if len(words) % 2:
            words = np.concatenate([np.zeros(1, "<u4"), words])
        words = _apply(_advance(level), words[0::2]) ^ words[1::2]
        level += 1
    return int(_apply(_advance(0), words)[0]) ^ 0xFFFFFFFF


def masked(crc: int) -> int:
    """The form in which TFRecord files store it, so that a checksum of checksums is none of the usual values."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


@cache
def _byte_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


def _one_by_one(data: bytes, crc: int = 0xFFFFFFFF) -> int:
    table = _byte_table()
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


@cache
def _advance(level: int) -> Words:
    """Tables (2, 65536) that move a remainder over 4 * 2^level zero bytes, for its lower and its upper half."""
    bits = np.left_shift(1, np.arange(32)).astype("<u4")
    if level:
        half = _advance(level - 1)
        moved = _apply(half, _apply(half, bits))
    else:
        moved = np.array([_one_by_one(bytes(4), int(bit)) ^ 0xFFFFFFFF for bit in bits], "<u4")
    tables = np.zeros((2, 65536), "<u4")
    for table, images in zip(tables, moved.reshape(2, 16), strict=True):
        for bit, image in enumerate(images):
            table[1 << bit : 2 << bit] = table[: 1 << bit] ^ image
    return tables


def _apply(tables: Words, words: Words) -> Words:
    halves = np.ascontiguousarray(words).view("<u2").reshape(-1, 2)
    moved: Words = tables[0].take(
        halves[:, 0], mode="clip"
    )  # no index can be outside, and to clip is faster than to check
    moved ^= tables[1].take(halves[:, 1], mode="clip")
    return moved
