"""Groups of points: those that are there are found, by the same seed the same ones, as many as separate best."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from objectspace.labels.clusters import choose, kmeans, nearest, silhouette


def blobs(*sizes: int, dim: int = 8, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Points around middles that are far apart, and which middle each is around."""
    rng = np.random.default_rng(seed)
    middles = 6 * np.eye(dim)[: len(sizes)]
    groups = np.repeat(np.arange(len(sizes)), sizes)
    return middles[groups] + 0.4 * rng.standard_normal((len(groups), dim)), groups


def test_groups_that_are_there_are_found_the_largest_first() -> None:
    points, groups = blobs(20, 60, 40)
    found = nearest(points, kmeans(points, 3))
    assert [set(groups[found == number]) for number in range(3)] == [{1}, {2}, {0}]


def test_the_number_of_groups_is_found() -> None:
    for sizes in ((30, 30), (40, 20, 30, 10, 25)):
        assert len(choose(blobs(*sizes)[0])) == len(sizes)


def test_many_points_are_looked_at_in_part() -> None:
    points, groups = blobs(1500, 1500, 1500)
    centroids = choose(points, counts=(2, 3, 4))
    assert len(centroids) == 3
    assert len(set(zip(groups, nearest(points, centroids), strict=True))) == 3


def test_the_same_seed_gives_the_same_groups() -> None:
    points = np.random.default_rng(1).standard_normal((200, 4))
    assert np.array_equal(kmeans(points, 5, seed=3), kmeans(points, 5, seed=3))


def test_centroids_are_the_middles_of_their_points_and_close_to_the_best() -> None:
    points = np.random.default_rng(2).standard_normal((200, 4))  # of no groups, so that a bad start ends badly
    centroids = kmeans(points, 3)
    groups = nearest(points, centroids)
    for number, centroid in enumerate(centroids):
        assert centroid == pytest.approx(points[groups == number].mean(0))
    best = KMeans(3, n_init=50, random_state=0).fit(points).inertia_
    assert best * 0.999 < ((points - centroids[groups]) ** 2).sum() < best * 1.02


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6 / 3])
def test_equal_points_are_one_group_however_many_are_asked_for(value: float) -> None:
    points = np.full((50, 5), value)
    assert kmeans(points, 4).shape == (1, 5)
    assert choose(points).shape == (1, 5)
    assert len(kmeans(np.concatenate([points, points + 1]), 4)) == 2


def test_a_single_point_is_a_group() -> None:
    assert choose(np.ones((1, 3))).tolist() == [[1, 1, 1]]


def test_the_silhouette_is_the_one_that_others_compute() -> None:
    points = np.random.default_rng(0).standard_normal((80, 6))
    groups = np.random.default_rng(1).integers(0, 4, 80)
    groups[0] = 9  # alone in its group
    assert silhouette(points, groups) == pytest.approx(silhouette_score(points, groups))
    assert silhouette(points, np.zeros(80, np.int64)) == 0


def test_nothing_cannot_be_grouped() -> None:
    for points, count in ((np.zeros((0, 3)), 2), (np.zeros((3, 3)), 0), (np.zeros(3), 1)):
        with pytest.raises(ValueError, match="cannot make"):
            kmeans(points, count)
