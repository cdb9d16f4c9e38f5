"""Points in groups by k-means, and how many groups there are.

Reads points (n, D), such as the `what` of objects; gives centroids, the largest group first. All chance comes from a
seed. Shapes: n points, K clusters, D latent.
"""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2

Floats = NDArray[np.float64]
Points = NDArray[np.floating[Any]]

STARTS = 4  # k-means ends where it begins well: the best of so many starts is taken
ROUNDS = 10  # of k-means at a time, until nothing changes any more ...
MOST_TIMES = 10  # ... but not more often than this
LOOKED_AT = 2000  # points on which the silhouette is measured: it compares all pairs
MOST_CLUSTERS = 16  # that are tried when nobody says how many
_TOGETHER = 2**22  # distances computed at a time


def kmeans(points: Points, count: int, seed: int = 0) -> Floats:
    """Centroids (K, D) of at most `count` groups: fewer only where fewer points differ from one another."""
    values = np.asarray(points, np.float64)
    if values.ndim != 2 or not len(values) or count < 1:
        raise ValueError(f"cannot make {count} groups of points {values.shape}")
    rng = np.random.default_rng(seed)
    count = min(count, len(np.unique(values, axis=0)))
    runs = [_settled(values, count, rng) for _ in range(STARTS)]
    centroids, _ = min(runs, key=lambda run: run[1])
    sizes = np.bincount(nearest(values, centroids), minlength=len(centroids))
    return centroids[[number for number in np.argsort(-sizes, kind="stable") if sizes[number]]]


def choose(points: Points, counts: Iterable[int] | None = None, seed: int = 0) -> Floats:
    """Centroids of as many groups as separate the points best, by the mean silhouette; of equals, the fewest."""
    values = np.asarray(points, np.float64)
    most = min(MOST_CLUSTERS, len(np.unique(values[:LOOKED_AT], axis=0)))
    some = values
    if len(values) > LOOKED_AT:
        some = values[np.sort(np.random.default_rng(seed).choice(len(values), LOOKED_AT, replace=False))]
    best, best_width = kmeans(values, 1, seed), 0.0
    for count in range(2, most + 1) if counts is None else counts:
        centroids = kmeans(values, count, seed)
        width = silhouette(some, nearest(some, centroids))
        if width > best_width:
            best, best_width = centroids, width
    return best


def are_middles(points: Points, centroids: Floats, within: float) -> bool:
    """Whether each centroid (K, D) is the middle of the points that are nearest to it, so that k-means would stay."""
    values = np.asarray(points, np.float64)
    groups = nearest(values, centroids)
    sizes = np.bincount(groups, minlength=len(centroids))
    sums = np.zeros_like(centroids)
    np.add.at(sums, groups, values)
    return bool(sizes.all() and np.abs(sums / sizes[:, None] - centroids).max() < within)


def nearest(points: Points, centroids: Floats) -> NDArray[np.int64]:
    """The number of the nearest centroid of each point, (n,)."""
    values, step = np.asarray(points, np.float64), max(1, _TOGETHER // max(1, len(centroids)))
    parts = [_distances(values[start : start + step], centroids).argmin(1) for start in range(0, len(values), step)]
    return np.concatenate([np.zeros(0, np.int64), *parts])


def silhouette(points: Points, groups: NDArray[np.int64]) -> float:
    """The mean silhouette (Rousseeuw, 1987): from -1, all in the wrong group, to 1, far from all others.

    A point that is alone in its group counts 0; with fewer than two groups nothing is separated, and it is 0.
    """
    values = np.asarray(points, np.float64)
    names, index, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(names) < 2:
        return 0.0
    apart = np.sqrt(_distances(values, values))
    member = np.eye(len(names))[index]  # (n, K)
    sums = apart @ member  # (n, K) distances to all of each group
    alone = sizes[index] == 1
    own = np.take_along_axis(sums, index[:, None], 1)[:, 0] / np.maximum(sizes[index] - 1, 1)
    others = np.where(member > 0, np.inf, sums / sizes).min(1)
    larger = np.maximum(own, others)
    widths = np.divide(others - own, larger, out=np.zeros_like(own), where=(larger > 0) & ~alone)
    return float(widths.mean())


def _settled(points: Floats, count: int, rng: np.random.Generator) -> tuple[Floats, float]:
    """Centroids from a start as k-means++ picks it, moved until nothing changes; and the sum of squares."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "One of the clusters is empty")  # it stays where it is, and is left out later
        centroids, groups = kmeans2(points, count, iter=ROUNDS, minit="++", rng=rng)
        for _ in range(MOST_TIMES - 1):
            before = centroids
            centroids, groups = kmeans2(points, before, iter=ROUNDS, minit="matrix")
            if np.array_equal(centroids, before):
                break
    return centroids, float(((points - centroids[groups]) ** 2).sum())


def _distances(first: Floats, second: Floats) -> Floats:
    """Squared distances (n, m); what is no more than rounding is 0, so that equal points count as equal."""
    lengths = (first**2).sum(1)[:, None] + (second**2).sum(1)
    squares = lengths - 2 * first @ second.T
    return np.where(squares > 1e-12 * lengths, squares, 0.0)
