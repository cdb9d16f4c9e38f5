"""A truth made by hand, and a scene that is just like it."""

from dataclasses import dataclass, field

import numpy as np

from objectspace.scene import Component, Object, Scene


@dataclass
class Known:
    """A truth made by hand: two objects an image, one above the other, on floor and wall."""

    images: np.ndarray = field(default_factory=lambda: np.full((3, 8, 8, 3), 100, np.uint8))
    with_masks: bool = True
    labelled: bool = True
    groups: tuple[str, ...] = ()
    ignored: tuple[tuple[float, ...], ...] = ()  # in every image

    def __len__(self) -> int:
        return len(self.images)

    @property
    def object_count(self) -> int:
        return 2 * len(self.images) if self.labelled else 0

    def visible_boxes(self, index: int) -> np.ndarray:
        return np.array([[0, 0, 4, 2], [0, 4, 4, 8]], float)[: 2 * self.labelled]

    def boxes(self, index: int) -> np.ndarray:
        return np.array([[0, 0, 4, 6], [0, 4, 4, 8]], float)[: 2 * self.labelled]

    def ignored_boxes(self, index: int) -> np.ndarray:
        return np.array(self.ignored, float).reshape(-1, 4)

    def categories(self, index: int) -> list[str]:
        return ["ball", "cube"][: 2 * self.labelled]

    def masks(self, index: int) -> list:
        return [mask_of(*box) if self.with_masks else None for box in self.visible_boxes(index).astype(int).tolist()]

    def ground(self, index: int) -> dict:
        free = ~np.any([mask_of(0, 0, 4, 2), mask_of(0, 4, 4, 8)], axis=0)
        return {"wall": mask_of(0, 0, 8, 4) & free, "floor": mask_of(0, 4, 8, 8) & free}

    def group(self, index: int) -> str:
        return self.groups[index] if self.groups else ""


def mask_of(x0: int, y0: int, x1: int, y1: int) -> np.ndarray:
    mask = np.zeros((8, 8), np.bool_)
    mask[y0:y1, x0:x1] = True
    return mask


def perfect(known: Known, index: int = 0) -> Scene:
    rows = zip(known.visible_boxes(index), known.boxes(index), known.masks(index), strict=True)
    objects = tuple(Object(tuple(box), tuple(whole), mask=mask) for box, whole, mask in rows)
    components = tuple(Component(mask) for mask in known.ground(index).values())
    return Scene(8, 8, objects, components, reconstruction=known.images[index])
