"""Purity, and which true object a found one is."""

import math

import numpy as np
import pytest

from objectspace.labels.purity import purity, true_categories

SQUARE = [0.0, 0.0, 10.0, 10.0]
NEAR = [1.0, 0.0, 11.0, 10.0]  # IoU 9 / 11
FAR = [50.0, 50.0, 60.0, 60.0]


def test_purity_is_the_share_of_the_commonest_category_of_each_group() -> None:
    assert purity([0, 0, 0, 1, 1], ["a", "a", "b", "b", "b"]) == pytest.approx(4 / 5)
    assert purity([0, 1, 2], ["a", "a", "a"]) == 1
    assert purity([0, 0, 0, 0], ["a", "b", "c", "d"]) == 1 / 4


def test_purity_of_nothing_is_undefined_and_of_unequal_lists_an_error() -> None:
    assert math.isnan(purity([], []))
    with pytest.raises(ValueError, match="2 objects in groups, but 1"):
        purity([0, 1], ["a"])


def test_an_object_is_the_true_one_that_it_overlaps_most() -> None:
    found = true_categories(np.array([NEAR, FAR]), np.array([FAR, SQUARE]), ["far", "square"])
    assert found == ["square", "far"]


def test_a_true_object_counts_once_for_the_better_box() -> None:
    assert true_categories(np.array([NEAR, SQUARE]), np.array([SQUARE]), ["square"]) == [None, "square"]


def test_too_little_overlap_is_none() -> None:
    half = np.array([[0.0, 0.0, 10.0, 4.9]])
    assert true_categories(half, np.array([SQUARE]), ["square"]) == [None]
    assert true_categories(half, np.array([SQUARE]), ["square"], least=0.49) == ["square"]


def test_no_boxes_on_either_side() -> None:
    nothing = np.zeros((0, 4))
    assert true_categories(np.array([SQUARE]), nothing, []) == [None]
    assert true_categories(nothing, np.array([SQUARE]), ["square"]) == []
