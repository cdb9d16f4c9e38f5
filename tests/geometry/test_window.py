"""A mask as the window that holds it is the same mask."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from objectspace.geometry import rle
from objectspace.geometry.window import Window

masks = st.tuples(st.integers(1, 12), st.integers(1, 12)).flatmap(lambda shape: arrays(np.bool_, shape))


@given(masks)
def test_a_window_is_tight_and_gives_the_mask_its_area_and_its_code_back(mask: np.ndarray) -> None:
    window = Window.of(mask)
    assert np.array_equal(window.whole, mask)
    assert window.area == mask.sum()
    assert window.encoded() == rle.encode(mask)
    assert (window.box is None) == (not mask.any())


@given(masks, st.integers(-5, 12), st.integers(-5, 12))
def test_what_lies_outside_of_the_image_is_cut_off(mask: np.ndarray, top: int, left: int) -> None:
    canvas = np.zeros((40, 40), np.bool_)
    canvas[10 + top : 10 + top + mask.shape[0], 10 + left : 10 + left + mask.shape[1]] = mask
    assert np.array_equal(Window.of(mask, top, left, (9, 11)).whole, canvas[10:19, 10:21])


@given(arrays(np.bool_, (9, 7)), arrays(np.bool_, (9, 7)), st.integers(0, 9), st.integers(0, 7))
def test_windows_are_joined_and_cut_as_masks_are(one: np.ndarray, other: np.ndarray, y: int, x: int) -> None:
    assert np.array_equal(Window.of(one).joined(Window.of(other)).whole, one | other)
    assert np.array_equal(Window.of(one).within((x, 0, 7, y)), one[:y, x:])
