"""How large things are, how many, how dense: from regions of unexplained pixels, never from labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from objectspace.auto.behind import side, typical
from objectspace.geometry.regions import Region

LEAST = 0.35  # of the typical side: smaller regions are pieces and specks
APART = 1.5  # times as large, for two kinds of sizes
TIGHT = 0.4  # of the distance of two kinds that each may spread over
SHARE = 0.15  # of the regions, that the rarer kind has at least
FEW = 12  # regions, with which nothing can be said of how sizes spread
UNSURE = 0.5  # is the spread then


@dataclass(frozen=True)
class Sizes:
    """What regions say; sides in pixels of the pictures that they are of."""

    side: float  # of the middle one
    smallest: float  # of the tenth part, from below ...
    largest: float  # ... and from above
    spread: float  # stdev of the logarithms
    kinds: tuple[float, ...]  # the middle sides of two kinds, if there are two
    number: float  # a picture, on average
    most: float  # in the fullest pictures: one of twenty has more
    cover: float  # share of the pixels
    regions: int  # that all this is from


def measure(regions: Sequence[Sequence[Region]], shape: Sequence[int]) -> Sizes | None:
    """The sizes of regions, a list of them for each picture (H, W); None where there are too few to say anything.

    What the rim cuts off counts as an object and tells no size.
    """
    least = LEAST * typical([each for found in regions for each in found])
    kept = [[each for each in found if side(each) >= least] for found in regions]
    whole = np.array([side(each) for found in kept for each in found if not _cut(each, shape)])
    if len(whole) < 3:
        return None
    counts = [len(found) for found in kept]
    logs = np.log(whole)
    area = sum(each.area for found in kept for each in found)
    return Sizes(
        side=float(np.median(whole)),
        smallest=float(np.quantile(whole, 0.1)),
        largest=float(np.quantile(whole, 0.9)),
        spread=float(logs.std()) if len(whole) >= FEW else UNSURE,
        kinds=_kinds(logs),
        number=float(np.mean(counts)),
        most=float(np.quantile(counts, 0.95)),
        cover=area / (len(regions) * shape[0] * shape[1]),
        regions=len(whole),
    )


def _cut(region: Region, shape: Sequence[int]) -> bool:
    x0, y0, x1, y1 = region.box
    return x0 <= 0 or y0 <= 0 or x1 >= shape[1] or y1 >= shape[0]


def _kinds(logs: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, ...]:
    """The two middles of logarithms of sides, if they fall into two heaps; nothing otherwise."""
    if len(logs) < FEW:
        return ()
    low, high = np.quantile(logs, (0.1, 0.9))
    for _ in range(20):
        small = logs < (low + high) / 2
        if small.all() or not small.any():
            return ()
        low, high = logs[small].mean(), logs[~small].mean()
    spread = max(logs[small].std(), logs[~small].std())
    rarer = min(small.mean(), 1 - small.mean())
    if high - low < np.log(APART) or rarer < SHARE or spread > TIGHT * (high - low):
        return ()
    return float(np.exp(np.median(logs[small]))), float(np.exp(np.median(logs[~small])))
