"""What a generator or a converter makes: an image with the truth about its objects.

Boxes are in pixels, as `geometry/boxes.py` says.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from objectspace.geometry import rle
from objectspace.geometry.boxes import Box
from objectspace.io.images import Photo

Attribute = str | float | int | list[float] | None


@dataclass(frozen=True)
class TrueObject:
    """One object as the generator knows it.

    `box` encloses the whole object, hidden parts included, clipped to the image (the paper's ground truth);
    `visible_box` and `mask` enclose what can be seen. A source that knows only one box gives only `box`.
    """

    category: str
    box: Box
    visible_box: Box | None = None
    mask: rle.RunLength | None = None
    attributes: Mapping[str, Attribute] = field(default_factory=dict)  # shape, color, visible_fraction, ...


@dataclass(frozen=True)
class Sample:
    """An image (H, W, 3), RGB in bytes or grey in words of 16 bit, its objects, and what else is known about it.

    `ground` is an optional label map of the parts that are no object, such as floor, wall and sky. Where images are to
    be distinct, two samples with the same `identity` are the same; it is the pixels, unless a source sets it.
    `ignored` are regions that count neither way: no objects, but drawn like some, such as a score or a crowd.
    """

    image: Photo
    objects: tuple[TrueObject, ...] = ()
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    ground: Mapping[str, rle.RunLength] = field(default_factory=dict)
    identity: bytes = b""
    ignored: tuple[TrueObject, ...] = ()


@dataclass(frozen=True)
class Problem:
    """An input that could not be used: which one, and why."""

    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"
