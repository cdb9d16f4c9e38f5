"""What overlapping tiles of an image saw becomes the objects of the image: the same thing seen twice is one.

Where two tiles overlap both show a thing, and its masks agree: so two objects are the same if most of what the smaller
of them has there is the other's. Kept is the one that is farther from the rims of its tile; where rims cut both,
they are joined. What a tile sees outside of its core, which its neighbours see better, counts only if it is in the core
of another. Convention: x right, y down, in the image's pixels; a box of whole pixels is (x0, y0, x1, y1).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from objectspace.geometry.window import Window
from objectspace.scene import Object

SAME = 0.5  # of the smaller one, where both tiles look
CUT = 1.5  # pixels: an object that is so near to a rim goes on beyond it

Pixels = tuple[int, int, int, int]


@dataclass(frozen=True)
class Place:
    """Where a tile lies in the image."""

    box: Pixels  # all of it that lies in the image
    core: tuple[float, float, float, float]  # what no other tile sees better
    slack: float  # how far beyond its core a centre may be, so that none falls between two


@dataclass(frozen=True, eq=False)
class Sight:
    """An object as a tile saw it, in the image's pixels."""

    item: Object
    window: Window
    place: Place
    size: tuple[int, int]  # H, W of the image

    @property
    def room(self) -> float:
        """How far it is from the rims of its tile that are none of the image."""
        x0, y0, x1, y1 = self.item.box
        left, top, right, bottom = self.place.box
        height, width = self.size
        gaps = [(x0 - left, left > 0), (y0 - top, top > 0), (right - x1, right < width), (bottom - y1, bottom < height)]
        return min((gap for gap, counts in gaps if counts), default=float("inf"))

    @property
    def in_core(self) -> bool:
        x0, y0, x1, y1 = self.item.box
        x, y, (left, top, right, bottom) = (x0 + x1) / 2, (y0 + y1) / 2, self.place.core
        slack = self.place.slack
        return left - slack <= x < right + slack and top - slack <= y < bottom + slack


@dataclass
class _Thing:
    """Sights of one thing, the best first, and the object that they make."""

    sights: list[Sight]
    item: Object
    window: Window


def join(sights: Sequence[Sight]) -> list[Object]:
    """The objects that tiles saw, each once, in the order of `sights`."""
    things: list[_Thing] = []
    boxes = np.zeros((len(sights), 4))
    for sight in sorted(sights, key=lambda each: (-each.room, -each.item.score)):
        x0, y0, x1, y1 = sight.item.box
        known = boxes[: len(things)]
        near = (known[:, 0] < x1) & (known[:, 2] > x0) & (known[:, 1] < y1) & (known[:, 3] > y0)
        number = next((number for number in np.flatnonzero(near).tolist() if _is(sight, things[number])), None)
        if number is None:
            number = len(things)
            things.append(_Thing([sight], sight.item, sight.window))
        else:
            _add(sight, things[number])
        boxes[number] = things[number].item.box
    order = {id(sight): number for number, sight in enumerate(sights)}
    kept = [thing for thing in things if any(sight.in_core for sight in thing.sights)]
    return [thing.item for thing in sorted(kept, key=lambda thing: order[id(thing.sights[0])])]


def _is(sight: Sight, thing: _Thing) -> bool:
    """Whether what a tile saw is a thing that other tiles saw; a tile does not see the same thing twice."""
    if any(sight.place is other.place for other in thing.sights):
        return False
    return any(_same(sight, other) for other in thing.sights)


def _same(sight: Sight, other: Sight) -> bool:
    one, two = sight.place.box, other.place.box
    both = max(one[0], two[0]), max(one[1], two[1]), min(one[2], two[2]), min(one[3], two[3])
    if both[0] >= both[2] or both[1] >= both[3]:
        return False
    mine, theirs = sight.window.within(both), other.window.within(both)
    least = min(mine.sum(), theirs.sum())
    return bool(least > 0 and (mine & theirs).sum() > SAME * least)


def _add(sight: Sight, thing: _Thing) -> None:
    """One more sight of a thing: it changes it only if rims cut both."""
    cut = sight.room < CUT and thing.sights[0].room < CUT
    thing.sights.append(sight)
    if not cut:
        return
    thing.window = thing.window.joined(sight.window)
    mine, theirs = thing.item, sight.item
    whole = [mine.whole_box or mine.where_box, theirs.whole_box or theirs.where_box]
    thing.item = mine.changed(
        mask=thing.window,
        box=thing.window.box or mine.box,
        where_box=_around(mine.where_box, theirs.where_box),
        whole_box=_around(*whole),
        score=max(mine.score, theirs.score),
        evidence=None if mine.evidence is None or theirs.evidence is None else max(mine.evidence, theirs.evidence),
        understood=mine.understood or theirs.understood,
    )


def _around(one: Sequence[float], two: Sequence[float]) -> tuple[float, float, float, float]:
    return min(one[0], two[0]), min(one[1], two[1]), max(one[2], two[2]), max(one[3], two[3])
