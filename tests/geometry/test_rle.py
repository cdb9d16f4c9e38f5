import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pycocotools import mask as reference

from objectspace.errors import UserError
from objectspace.geometry import rle

masks = st.tuples(st.integers(1, 40), st.integers(1, 40)).flatmap(lambda shape: arrays(np.bool_, shape))


@given(masks)
def test_the_code_is_that_of_pycocotools(mask: np.ndarray) -> None:
    code = rle.encode(mask)
    assert code["counts"] == reference.encode(np.asfortranarray(mask, np.uint8))["counts"].decode()
    assert rle.area(code) == mask.sum()


@given(masks)
def test_decoding_gives_the_mask_back(mask: np.ndarray) -> None:
    assert np.array_equal(rle.decode(rle.encode(mask)), mask)


def test_long_runs_survive() -> None:
    mask = np.zeros((1000, 1000), np.bool_)
    mask[400:900, 3] = mask[0, 0] = mask[-1, -1] = True
    assert np.array_equal(rle.decode(rle.encode(mask)), mask)


def test_plain_counts_are_understood() -> None:
    assert rle.decode(rle.from_uncompressed([1, 2, 1], [2, 2])).tolist() == [[False, True], [True, False]]


@pytest.mark.parametrize("counts", ["", "5", "@1", "\u00e9", "0o", "zzzzzzzzzzzzzzzzzzzz"])
def test_a_damaged_code_is_refused(counts: str) -> None:
    with pytest.raises(UserError, match="run-length"):
        rle.decode({"size": [4, 4], "counts": counts})
