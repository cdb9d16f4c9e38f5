"""What is really on the screen: the objects on which memory and picture agree.

Reads the sightings of both modes and the screen; gives boxes in screen pixels and counts of the agreement. OCAtari's
rules are written by hand and have faults: they place objects that are off the screen, that flicker and are not drawn
in this frame, or that were shot long ago. So, in this order:

1. a box is clipped to the screen, and dropped where nothing of it is left, where it shows nothing (`shows_something`),
   or where the same mode names the same place twice;
2. in categories that both modes know, an object needs a sighting by each, matched one to one by category and overlap;
   its box is vision's, which is drawn round the pixels, while RAM's has a standard size and may lag behind;
3. in categories that only one mode knows, or where `faults` says whom to believe, that mode decides alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from objectspace.data.atari import faults
from objectspace.data.atari.modes import Sighting
from objectspace.geometry.boxes import Box, as_boxes, clip_box, iou

# The modes agree on an object if their boxes, each grown by SLACK pixels on all sides, have an IoU of at least AGREE.
# The slack is for missiles: being one pixel off, as hand-made boxes are, should not matter more for a small thing.
SLACK = 1.0
AGREE = 0.5
TWICE = 0.75  # IoU from which two boxes are one thing under two names

Screen = NDArray[np.uint8]
Overlap = NDArray[np.float64]
Pair = tuple[Sighting, Sighting]  # by RAM mode, by vision mode


@dataclass(frozen=True)
class ScreenObject:
    """An object and who found it: "ram+vision", "ram" or "vision"."""

    category: str
    box: Box
    found_by: str


@dataclass(frozen=True)
class ScreenTruth:
    """The objects of one screen.

    `ram` and `vision` count the visible sightings in the categories that both modes know, `agreed` how many of them
    match; None for a mode that failed. `alone` counts the objects that rest on the word of one mode.
    """

    objects: tuple[ScreenObject, ...]
    ram: int | None
    vision: int | None
    agreed: int
    alone: int


@dataclass(frozen=True)
class Judge:
    """Who is asked about a category in one game."""

    ram_knows: frozenset[str]
    vision_knows: frozenset[str]
    same: Mapping[str, str]
    believe: Mapping[str, str]
    merges: bool = False

    @classmethod
    def of(cls, game: str, ram_knows: Iterable[str], vision_knows: Iterable[str]) -> "Judge":
        """The rules for a game whose modes know these categories."""
        same = faults.SAME.get(game, {})
        return cls(
            frozenset(same.get(name, name) for name in ram_knows),
            frozenset(same.get(name, name) for name in vision_knows) - faults.UNSEEN.get(game, frozenset()),
            same,
            faults.BELIEVE.get(game, {}),
            game in faults.MERGES,
        )

    def name(self, category: str) -> str:
        """The name under which categories are compared."""
        return self.same.get(category, category)

    def is_shared(self, category: str) -> bool:
        """Whether both modes know a category."""
        return self.name(category) in self.ram_knows & self.vision_knows

    def decides(self, category: str) -> str:
        """Who says whether such an object is there: "both" modes together, or "ram" or "vision" alone."""
        alone = "ram" if self.name(category) in self.ram_knows else "vision"
        return self.believe.get(self.name(category), "both" if self.is_shared(category) else alone)


def agree(
    screen: Screen, ram: Sequence[Sighting] | None, vision: Sequence[Sighting] | None, judge: Judge
) -> ScreenTruth:
    """Weigh the sightings of the two modes against each other; None stands for a mode that failed."""
    seen = {"ram": visible(screen, ram or ()), "vision": visible(screen, vision or ())}
    if ram is None or vision is None:
        only = tuple(ScreenObject(item.category, item.box, mode) for mode in seen for item in seen[mode])
        count = len(only)
        return ScreenTruth(only, None if ram is None else count, None if vision is None else count, 0, count)
    shared = {mode: [item for item in seen[mode] if judge.is_shared(item.category)] for mode in seen}
    pairs = match(shared["ram"], shared["vision"], judge)
    objects = [_together(pair, judge) for pair in pairs if judge.decides(pair[0].category) == "both"]
    agreed = {id(item) for pair in pairs for item in pair}
    for mode, sightings in seen.items():
        for item in sightings:
            if judge.decides(item.category) == mode and not (overlaps([item], objects) >= TWICE).any():
                objects.append(ScreenObject(item.category, item.box, "ram+vision" if id(item) in agreed else mode))
    alone = sum(item.found_by != "ram+vision" for item in objects)
    return ScreenTruth(tuple(objects), len(shared["ram"]), len(shared["vision"]), len(pairs), alone)


def match(ram: Sequence[Sighting], vision: Sequence[Sighting], judge: Judge) -> list[Pair]:
    """The pairs on which both modes agree, each sighting in one at most, chosen for the greatest overlap in all."""
    overlap = overlaps(ram, vision, grow=SLACK)  # (R, V)
    names = [np.array([judge.name(item.category) for item in items], np.str_) for items in (ram, vision)]
    overlap[(names[0][:, None] != names[1]) | (overlap < AGREE)] = 0
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    return [(ram[row], vision[column]) for row, column in zip(rows, columns, strict=True) if overlap[row, column] > 0]


def visible(screen: Screen, sightings: Iterable[Sighting]) -> list[Sighting]:
    """The sightings that lie on the screen and show something, each thing once, with clipped boxes."""
    height, width = screen.shape[:2]
    clipped = [(item.category, clip_box(item.box, height, width)) for item in sightings]
    shown = [Sighting(name, box) for name, box in clipped if box is not None and shows_something(screen, box)]
    overlap = overlaps(shown, shown)
    kept: list[int] = []
    for index, item in enumerate(shown):
        if not any(overlap[index, other] >= TWICE and shown[other].category == item.category for other in kept):
            kept.append(index)
    return [shown[index] for index in kept]


def shows_something(screen: Screen, box: Box) -> bool:
    """False where a box has one colour all over, and most of the pixels around it have that colour too."""
    x0, y0, x1, y1 = int(box[0]), int(box[1]), int(np.ceil(box[2])), int(np.ceil(box[3]))
    inside = screen[y0:y1, x0:x1].reshape(-1, 3)
    if (inside != inside[0]).any():
        return True
    around = screen[max(y0 - 1, 0) : y1 + 1, max(x0 - 1, 0) : x1 + 1].reshape(-1, 3)
    alike = int((around == inside[0]).all(axis=1).sum()) - len(inside)
    return alike * 2 <= len(around) - len(inside)


def overlaps(
    ones: Sequence[Sighting | ScreenObject], others: Sequence[Sighting | ScreenObject], grow: float = 0.0
) -> Overlap:
    """Intersection over union of every box with every other (n, m), all boxes grown by some pixels on each side."""
    outwards = grow * np.array([-1, -1, 1, 1])
    first, second = (as_boxes([item.box for item in items]) + outwards for items in (ones, others))
    return iou(first, second)


def _together(pair: Pair, judge: Judge) -> ScreenObject:
    by_ram, by_vision = pair
    boxes = (by_vision.box, by_ram.box) if judge.merges else (by_vision.box,)
    return ScreenObject(by_ram.category, min(boxes, key=_area), "ram+vision")


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
