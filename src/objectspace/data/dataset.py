"""One data set type for all that reads images: a memory map, boxes, and masks on demand.

Reads a split of the on-disk format (`store.py`), at any size and channel order; gives uint8 arrays and `Scene`s.
"""

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from objectspace.data.memory_map import open_map
from objectspace.data.sample import Problem
from objectspace.errors import UserError
from objectspace.geometry import rle
from objectspace.geometry.boxes import tight_box
from objectspace.io.view import View
from objectspace.scene import Object, Scene


class Dataset:
    """The images of one split.

    `size` (height, width), or one number for a square, is what every image is resized to; boxes and masks follow.
    Without it, all images must have one size. Files that cannot be used are left out and listed in `problems`.
    With a `view` the images are those that a model with that view is trained on: stretched, and with a scale tiles of
    `size` at positions that depend on the file's name alone.
    """

    def __init__(
        self,
        root: Path | str,
        split: str = "train",
        size: int | tuple[int, int] | None = None,
        channels: Literal["rgb", "bgr"] = "rgb",
        view: View | None = None,
    ) -> None:
        self.root, self.split = Path(root), split
        folder = self.root / split
        if not folder.is_dir():
            raise UserError(_no_split(self.root, split))
        if (self.root / ".making").exists() and not (self.root / "dataset.json").exists():
            raise UserError(f"{self.root} is not finished: the command that began it continues it")
        self.view = view  # what was done to the images; None: nothing but that they were resized
        self._map = open_map(folder, (size, size) if isinstance(size, int) else size, channels, view)

    def __len__(self) -> int:
        return len(self._map.names)

    @property
    def height(self) -> int:
        return int(self._map.images.shape[1])

    @property
    def width(self) -> int:
        return int(self._map.images.shape[2])

    @property
    def images(self) -> NDArray[np.uint8]:
        """All images (n, H, W, 3), on disk until touched."""
        return self._map.images

    @property
    def names(self) -> tuple[str, ...]:
        """The file names, below `<split>/images`."""
        return self._map.names

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Files and annotations that were left out, each with the reason."""
        return self._map.problems

    @property
    def object_count(self) -> int:
        return len(self._map.truth.boxes)

    @property
    def annotated_sizes(self) -> NDArray[np.int64]:
        """Height and width of the images as the annotations know them, (n, 2); 1, 1 where there are none."""
        return self._map.truth.sizes

    def batch(self, indices: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Some images, copied: (B, H, W, 3)."""
        return np.ascontiguousarray(self._map.images[indices])

    def boxes(self, index: int) -> NDArray[np.float64]:
        """The boxes of whole objects, hidden parts included: (m, 4), x0 y0 x1 y1 in pixels."""
        return self._map.truth.boxes[self._map.truth.objects(index)] * self._scale(index)

    def visible_boxes(self, index: int) -> NDArray[np.float64]:
        """The boxes of what can be seen: (m, 4)."""
        return self._map.truth.visible_boxes[self._map.truth.objects(index)] * self._scale(index)

    def ignored_boxes(self, index: int) -> NDArray[np.float64]:
        """Regions that count neither way, such as a game's score: (r, 4). They are not among the objects."""
        return self._map.truth.ignored(index) * self._scale(index)

    def categories(self, index: int) -> list[str]:
        """What the objects are: m names."""
        return [str(name) for name in self._map.truth.categories[self._map.truth.objects(index)]]

    def masks(self, index: int) -> list[rle.Mask | None]:
        """The visible pixels of the objects: m masks (H, W), None where the data set has none."""
        objects = self._map.truth.objects(index)
        masks = (self._map.truth.mask(number, index) for number in range(objects.start, objects.stop))
        return [None if mask is None else self._resized(mask) for mask in masks]

    def ground(self, index: int) -> dict[str, rle.Mask]:
        """The named parts that are no object, such as floor, wall and sky: (H, W) each."""
        return {name: self._resized(mask) for name, mask in self._map.truth.ground(index).items()}

    def group(self, index: int) -> str:
        """The game or other group that the image belongs to."""
        return str(self._map.truth.groups[index])

    @property
    def sequences(self) -> NDArray[np.str_]:
        """For each image the run of successive frames that it is from, (n,); "" where it is from none."""
        return self._map.truth.sequences

    def scene(self, index: int) -> Scene:
        """The truth about an image as a scene, for whatever reads scenes."""
        objects = []
        depths = self._map.truth.depths[self._map.truth.objects(index)]
        rows = zip(
            self.visible_boxes(index), self.boxes(index), depths, self.masks(index), self.categories(index), strict=True
        )
        for visible, whole, depth, mask, label in rows:
            tight = None if mask is None else tight_box(mask)
            objects.append(Object(tight or tuple(visible), tuple(whole), depth=depth, mask=mask, label=label))
        return Scene(self.height, self.width, tuple(objects))

    def _scale(self, index: int) -> NDArray[np.float64]:
        """Factors (4,) from the annotated image's pixels to this data set's."""
        height, width = (int(side) or 1 for side in self._map.truth.sizes[index])
        return np.tile([self.width / width, self.height / height], 2)

    def _resized(self, mask: rle.Mask) -> rle.Mask:
        if mask.shape == (self.height, self.width):
            return mask
        image = Image.fromarray(mask).resize((self.width, self.height), Image.Resampling.NEAREST)
        return np.asarray(image, np.bool_)


def splits_of(root: Path | str) -> list[str]:
    """The names of a data set's splits, train first."""
    root = Path(root)
    if not root.is_dir():
        raise UserError(f"there is no directory {root}")
    found = sorted(folder.name for folder in root.iterdir() if (folder / "images").is_dir())
    usual = [name for name in ("train", "val", "test") if name in found]
    return [*usual, *(name for name in found if name not in usual)]


def _no_split(root: Path, split: str) -> str:
    found = splits_of(root)
    if found:
        return f"{root} has no split {split!r}; it has {', '.join(found)}"
    advice = f"for a folder of pictures, run  objectspace data convert {root} OUT --format folder"
    return f"{root} is not a data set (it has no <split>/images): {advice}"
