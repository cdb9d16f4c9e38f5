"""Which categories of a truth never move: scenery, by a rule that looks at the boxes alone.

A category stands still where nearly all its boxes are at its usual places. There are as many of those as it has
objects in one image at the most, and they are where its boxes are most often. Platforms, keys and shields are always
at theirs; whatever moves has more places than that. A category seen in few images is not called still.
"""

from collections import Counter, defaultdict
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from objectspace.evaluation.boxes import Floats

PLACES = 100  # the image's height and width in steps of a place; a neighbouring place still counts as the same
NEARLY_ALL = 0.95  # of a category's boxes
LEAST_IMAGES = 20  # in which a category must be seen

Place = tuple[int, int]


class Boxes(Protocol):
    """What must be known about n images; `objectspace.data.Dataset` is such a thing."""

    def __len__(self) -> int: ...
    @property
    def images(self) -> NDArray[np.uint8]: ...  # (n, H, W, 3)
    def boxes(self, index: int) -> Floats: ...  # (m, 4) whole objects
    def categories(self, index: int) -> list[str]: ...  # m names
    def group(self, index: int) -> str: ...  # a game's name or the like


def still_categories(dataset: Boxes) -> dict[str, tuple[str, ...]]:
    """For each group of images, such as a game, the names of the categories that stand still, in order."""
    places: dict[tuple[str, str], list[list[Place]]] = defaultdict(list)  # by group and name, image by image
    groups: dict[str, list[str]] = {}
    height, width = dataset.images.shape[1:3]
    for index in range(len(dataset)):
        here: dict[str, list[Place]] = defaultdict(list)
        centres = dataset.boxes(index).reshape(-1, 2, 2).mean(1) / [width, height] * PLACES
        for name, (x, y) in zip(dataset.categories(index), centres.round().astype(int).tolist(), strict=True):
            here[name].append((x, y))
        groups.setdefault(dataset.group(index), [])
        for name, mine in here.items():
            places[dataset.group(index), name].append(mine)
    for (group, name), by_image in sorted(places.items()):
        if len(by_image) >= LEAST_IMAGES and _at_usual_places(by_image) >= NEARLY_ALL:
            groups[group].append(name)
    return {group: tuple(names) for group, names in groups.items()}


def _at_usual_places(by_image: list[list[Place]]) -> float:
    """The share of boxes that stand at a usual place, or one step from it."""
    often = Counter(place for mine in by_image for place in mine)
    usual = [place for place, _ in often.most_common(max(len(mine) for mine in by_image))]
    near = {(x + right, y + down) for x, y in usual for right in (-1, 0, 1) for down in (-1, 0, 1)}
    return sum(count for place, count in often.items() if place in near) / often.total()
