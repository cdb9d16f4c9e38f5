"""Outlines of masks: the path encloses exactly the mask's pixels."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers.report_scenes import full
from objectspace.reports.page.overlay import outline, overlay


def filled(path: str, height: int, width: int) -> np.ndarray:
    """The pixels within a path of horizontal and vertical lines, by the even-odd rule."""
    crossings = np.zeros((height, width + 1), np.int64)
    for x, y, steps in re.findall(r"M(\d+) (\d+)((?:[hv]-?\d+)+)z", path):
        first = x, y = int(x), int(y)
        for kind, length in [*re.findall(r"([hv])(-?\d+)", steps), ("v", None)]:
            if kind == "h":
                x += int(length)
                continue
            end = first[1] if length is None else y + int(length)
            crossings[min(y, end) : max(y, end), x] += 1
            y = end
        assert x == first[0], "the last line closes the loop"
    return np.cumsum(crossings, axis=1)[:, :width] % 2 == 1


@given(arrays(np.bool_, st.tuples(st.integers(1, 9), st.integers(1, 9))))
def test_an_outline_encloses_exactly_the_mask(mask: np.ndarray) -> None:
    assert (filled(outline(mask), *mask.shape) == mask).all()


def test_a_rectangle_has_four_corners() -> None:
    mask = np.zeros((9, 9), np.bool_)
    mask[2:5, 3:8] = True
    assert outline(mask) == "M3 2h5v3h-5z"


def test_small_boxes_lie_above_the_large_ones_around_them() -> None:
    _, scene = full()
    order = re.findall(r'class="thing k(\d)"', overlay(scene, None, "image-1"))
    assert order.index("1") > order.index("0")


@pytest.mark.parametrize("index", range(3))
def test_parts_of_one_object_share_a_class(index: int) -> None:
    _, scene = full()
    drawn = overlay(scene, None, "image-1")
    assert f'class="shade k{index}"' in drawn
    assert f'class="thing k{index}"' in drawn
