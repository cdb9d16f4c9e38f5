"""What is behind the objects of a picture, in closed form: the simplest grounds, and what each leaves unexplained.

Nothing is learned. It is a first guess, made before there is a model: how large objects are, how much they differ from
what is behind them, how fine the noise is. Pictures are floats in [0, 1]. Shapes: n pictures, H W picture.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from objectspace.geometry.regions import Region, find_regions

Floats = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]
NEAR = 0.08  # a pixel no channel of which is further off belongs to a ground, while grounds are looked for
ROUNDS = 6  # of fitting and leaving out what does not fit
LARGEST = 0.45  # of each side of a picture: what is larger is ground
MOST_AREA = 0.2  # of the picture, likewise
LONGEST = 4.0  # times as long as wide, likewise
LEAST_PIXELS = 6
COLOURS = 5  # of a ground of several
THRESHOLDS = (0.035, 0.05, 0.07, 0.1, 0.14, 0.2, 0.28)  # differences from which on a pixel may be unexplained
COVER = 0.3  # how much the area of regions of one size counts beside order: its power
FILLED = 0.35  # of its box, that an object fills at least
ENOUGH = 0.06  # of the score: a stronger ground must be better by more
FAMILY = 1.8  # times larger or smaller than typical: regions of one size


@dataclass(frozen=True, eq=False)
class Left:
    """What one kind of ground leaves of some pictures."""

    name: str
    difference: Floats  # (n, H, W) the largest of the channels
    threshold: float  # of the difference, above which a pixel is unexplained
    regions: tuple[tuple[Region, ...], ...]  # of each picture: those that may be objects
    order: float  # how much of all that is unexplained lies in regions of about one size: 1 where nothing else is left
    alike: float  # the share of all pixels that lie in those

    @property
    def size(self) -> float:
        """The side in pixels of the region in which the middle pixel of all of them lies; 0 where there is none."""
        return typical([region for each in self.regions for region in each])

    @property
    def noise(self) -> float:
        """The stdev of what is explained."""
        return 1.4826 * float(np.median(self.difference[~self.unexplained]))

    @property
    def contrast(self) -> float:
        """How much the middle one of the regions differs from what is behind it."""
        inside = [
            float(np.median(map_[region.box[1] : region.box[3], region.box[0] : region.box[2]][region.mask]))
            for map_, each in zip(self.difference, self.regions, strict=True)
            for region in each
        ]
        return float(np.median(inside)) if inside else 0.0

    @property
    def unexplained(self) -> Mask:
        """(n, H, W)"""
        return self.difference > self.threshold


def side(region: Region) -> float:
    """The side of a square as large as a region's box."""
    x0, y0, x1, y1 = region.box
    return float(np.sqrt((x1 - x0) * (y1 - y0)))


def typical(regions: Sequence[Region]) -> float:
    """The side of the region in which the middle one of all their pixels lies, the smallest region first."""
    if not regions:
        return 0.0
    ordered = sorted(regions, key=side)
    sums = np.cumsum([each.area for each in ordered])
    return side(ordered[int(np.searchsorted(sums, sums[-1] / 2))])


def grounds(pictures: Floats, fixed: bool) -> list[Left]:
    """What each kind of ground leaves of pictures (n, H, W, 3), the weakest kind first."""
    left = [_left(name, pictures, np.stack([fit(each) for each in pictures])) for name, fit in FITS.items()]
    if fixed:
        left.insert(2, _left("one still", pictures, np.median(pictures, axis=0)[None]))
    return left


def weakest(left: Sequence[Left]) -> Left:
    """The first, weakest first, that leaves regions of one size and little else, about as well as any."""
    scores = [each.order * each.alike**COVER for each in left]
    return next(each for each, score in zip(left, scores, strict=True) if score >= (1 - ENOUGH) * max(scores))


def _left(name: str, pictures: Floats, behind: Floats) -> Left:
    smooth = ndimage.gaussian_filter(pictures - behind, (0, 0.7, 0.7, 0))
    difference = np.abs(smooth).max(3)
    tried = [_order(difference > threshold) for threshold in THRESHOLDS]
    chosen = int(np.argmax([order * alike**COVER for order, alike in tried]))
    threshold = THRESHOLDS[chosen]
    regions = tuple(
        tuple(objects(map_ > threshold, picture)) for map_, picture in zip(difference, pictures, strict=True)
    )
    return Left(name, difference, threshold, regions, *tried[chosen])


def _order(unexplained: Mask) -> tuple[float, float]:
    """See `Left.order` and `Left.alike`; of pixels (n, H, W), touching objects not taken apart."""
    regions = [objects(each) for each in unexplained]
    share = order(regions, unexplained)
    return share, share * float(unexplained.mean())


def order(regions: Sequence[Sequence[Region]], unexplained: Mask) -> float:
    """How much of all unexplained pixels (n, H, W) lies in regions of about one size, of those of each picture."""
    every = [region for found in regions for region in found]
    middle = typical(every)
    alike = sum(each.area for each in every if middle / FAMILY < side(each) < middle * FAMILY)
    return alike / max(1, int(np.count_nonzero(unexplained)))


def objects(unexplained: Mask, picture: Floats | None = None) -> list[Region]:
    """Those of the regions of one picture's unexplained pixels (H, W) that may be objects, the largest first.

    With the picture (H, W, 3) touching objects are taken apart.
    """
    solid = ndimage.binary_opening(unexplained, np.ones((2, 2)))
    height, width = unexplained.shape
    return [
        region
        for region in find_regions(solid, picture, LEAST_PIXELS, split=picture is not None)
        if region.length <= LONGEST
        and region.area >= FILLED * region.mask.size
        and region.area <= MOST_AREA * unexplained.size
        and region.box[2] - region.box[0] <= LARGEST * width
        and region.box[3] - region.box[1] <= LARGEST * height
    ]


def one_colour(picture: Floats) -> Floats:
    """The colour that most of a picture is near (1, 1, 3)."""
    pixels = picture[::2, ::2].reshape(-1, 3)
    colour = _commonest(pixels)
    for _ in range(ROUNDS):
        near = np.abs(pixels - colour).max(1) < NEAR
        if not near.any():
            break
        colour = pixels[near].mean(0)
    return np.asarray(colour.reshape(1, 1, 3))


def plane(picture: Floats) -> Floats:
    """A plane of colour, (H, W, 3)."""
    return _surface(picture, degree=1)


def curved(picture: Floats) -> Floats:
    """A colour that changes smoothly, (H, W, 3), as light does."""
    return _surface(picture, degree=3)


def several_colours(picture: Floats) -> Floats:
    """Of each pixel the nearest of a few colours that large areas have, (H, W, 3)."""
    left = np.ones(picture.shape[:2], np.bool_)
    colours = list[Floats]()
    while len(colours) < COLOURS:
        colour = _commonest(picture[left])
        for _ in range(ROUNDS):
            near = left & (np.abs(picture - colour).max(2) < NEAR)
            if not near.any():
                break
            colour = picture[near].mean(0)
        colours.append(colour)
        left &= np.abs(picture - colour).max(2) >= NEAR
        left &= _large(left)
        if left.mean() < MOST_AREA / 4:
            break
    distances = np.stack([np.abs(picture - colour).max(2) for colour in colours])
    return np.asarray(np.stack(colours)[distances.argmin(0)])


def _large(left: Mask) -> Mask:
    """Those pixels (H, W) that lie in regions too large for objects."""
    labels, count = ndimage.label(ndimage.binary_opening(left, np.ones((3, 3))))
    if not count:
        return np.zeros_like(left)
    sizes = np.bincount(labels.ravel())
    large = sizes > MOST_AREA / 4 * left.size
    large[0] = False
    return np.asarray(large[labels])


def _commonest(pixels: Floats) -> Floats:
    """The middle (3,) of the most frequent bin of pixels (n, 3)."""
    bins = (pixels * 15.999).astype(np.int64) @ np.array([256, 16, 1])
    return np.asarray(pixels[bins == np.bincount(bins).argmax()].mean(0))


def _surface(picture: Floats, degree: int) -> Floats:
    """A polynomial of x and y fitted to what is near it, each round nearer, (H, W, 3)."""
    height, width = picture.shape[:2]
    y, x = (each.ravel() for each in np.meshgrid(np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij"))
    terms = np.stack([x**i * y**j for i in range(degree + 1) for j in range(degree + 1 - i)], axis=1)
    some = np.arange(0, len(x), max(1, len(x) // 4000))
    basis, pixels = terms[some], picture.reshape(-1, 3)[some]
    values = np.broadcast_to(one_colour(picture).reshape(1, 3), pixels.shape)
    for near in np.geomspace(4 * NEAR, NEAR, ROUNDS):
        distance = np.abs(pixels - values).max(1)
        weight = np.exp(-0.5 * (distance / near) ** 2)[:, None]
        solution = np.linalg.lstsq(basis * weight, pixels * weight, rcond=None)[0]
        values = basis @ solution
    return np.asarray((terms @ solution).reshape(height, width, 3))


FITS: dict[str, Callable[[Floats], Floats]] = {
    "one colour an image": one_colour,
    "one plane of colour an image": plane,
    "one smooth component": curved,
    "several colours an image": several_colours,
}
