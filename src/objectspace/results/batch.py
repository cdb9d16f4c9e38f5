"""Images that are taken apart together, as they are read."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from objectspace.io.paths import ImageFile
from objectspace.scene import Picture

LARGEST_BATCH = 2**24  # pixels


@dataclass(frozen=True, eq=False)
class Frame:
    """An image that waits to be taken apart."""

    source: ImageFile
    stamp: str
    number: int | None
    pixels: Picture  # their brightness as the model sees it


@dataclass
class Batch:
    """A batch in the making: its frames, and the sources that are at their end once these are done."""

    frames: list[Frame] = field(default_factory=list)
    ended: list[tuple[ImageFile, str]] = field(default_factory=list)

    def is_full(self, most: int) -> bool:
        """Whether it is to be taken apart before more is read."""
        return is_full((frame.pixels.shape[:2] for frame in self.frames), most)

    def holds(self, source: ImageFile) -> bool:
        """Whether the same file was named twice."""
        return any(source.key == other.key for other, _ in self.ended)


def is_full(sizes: Iterable[tuple[int, ...]], most: int) -> bool:
    """Whether images of these heights and widths are as many as may be worked on at a time."""
    pixels = [height * width for height, width in sizes]
    return len(pixels) >= most or sum(pixels) >= LARGEST_BATCH
