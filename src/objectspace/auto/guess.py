"""The first guess of what the objects are, before there is a model: closed-form grounds on small pictures.

Gives a ground, regions and their sizes in the pictures' own pixels. Where regions are tiny at the common small size,
it looks again at parts of the pictures, closer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from objectspace.auto import behind, sizes
from objectspace.auto.behind import Floats, Left
from objectspace.auto.look import Look
from objectspace.auto.sizes import Sizes
from objectspace.io.images import Photo, resize
from objectspace.io.view import View, stretched

LOOKED_AT = 32  # pictures, at most
COMMON = 224  # pixels of the longer side
TINY = 7.0  # pixels: regions that are smaller at that size are looked at closer ...
TRIED = 4  # parts of each picture, of which the liveliest is taken
CLOSER = 14.0  # ... so that they have about so many


@dataclass(frozen=True, eq=False)
class Guess:
    """What stands out, and before which ground."""

    pictures: Floats  # (n, H, W, 3) as they were looked at
    left: Left
    found: Sizes | None  # in the pictures' own pixels, counted in whole pictures; None: nothing stands out
    scale: float  # pixels looked at, of one of the picture's


def first(photos: Sequence[Photo], seen: Look, view: View) -> Guess:
    """Look at some of the pictures (H, W, 3) as `view` stretches them."""
    width, height = seen.sizes[0][:2]
    some = [each for each in photos if each.shape[:2] == (height, width)] or list(photos)
    some = [some[number] for number in np.unique(np.linspace(0, len(some) - 1, min(len(some), LOOKED_AT)).astype(int))]
    scale = min(1.0, COMMON / max(height, width))
    size = max(32, round(height * scale)), max(32, round(width * scale))
    small = np.stack([resize(stretched(each, view), *size) for each in some]).astype(np.float32) / 255
    guess = _guess(small, scale, seen.camera_fixed, 1.0)
    if scale == 1.0 or guess.left.size >= TINY or guess.found is None:
        return guess
    nearer = min(1.0, CLOSER / max(guess.left.size, 2.0) * scale)
    parts, share = _parts(some, view, nearer)
    closer = _guess(parts, nearer, False, share)
    return closer if closer.found is not None else guess


def _guess(pictures: Floats, scale: float, fixed: bool, share: float) -> Guess:
    """From pictures at a scale, each of which is a share of a whole one."""
    left = behind.weakest(behind.grounds(pictures, fixed))
    found = sizes.measure(left.regions, left.difference.shape[1:])
    return Guess(pictures, left, None if found is None else in_pictures(found, scale, share), scale)


def in_pictures(found: Sizes, scale: float, share: float) -> Sizes:
    """Sizes measured at a scale in parts of pictures, in the pictures' own pixels and numbers."""
    return replace(
        found,
        side=found.side / scale,
        smallest=found.smallest / scale,
        largest=found.largest / scale,
        kinds=tuple(each / scale for each in found.kinds),
        number=found.number / share,
        most=found.most / share,
    )


def _parts(photos: Sequence[Photo], view: View, scale: float) -> tuple[Floats, float]:
    """A part of each picture at a scale, (n, COMMON, COMMON, 3): the liveliest of a few. And its share of the whole."""
    generator, parts = np.random.default_rng(0), []
    height, width = photos[0].shape[:2]
    side = min(round(COMMON / scale), height, width)
    for photo in (each for each in photos if each.shape[:2] == (height, width)):
        shown = stretched(photo, view)
        corners = generator.integers(0, (height - side + 1, width - side + 1), (TRIED, 2))
        crops = [shown[top : top + side, left : left + side] for top, left in corners]
        liveliest = max(crops, key=lambda each: float(each[::4, ::4].std()))
        parts.append(resize(np.ascontiguousarray(liveliest), COMMON, COMMON))
    return np.stack(parts).astype(np.float32) / 255, side * side / (height * width)
