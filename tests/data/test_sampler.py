import numpy as np
import pytest

from objectspace.data.sampler import Sampler


def test_an_epoch_shows_every_image_once() -> None:
    sampler = Sampler(length=30, batch=5, seed=1)
    seen = np.concatenate([sampler.indices(step) for step in range(6)])
    assert sorted(seen) == list(range(30))


def test_batches_go_on_over_the_end_of_an_epoch() -> None:
    sampler = Sampler(length=7, batch=5)
    stream = np.concatenate([sampler.indices(step) for step in range(7)])
    for epoch in range(5):
        assert sorted(stream[7 * epoch : 7 * epoch + 7]) == list(range(7))
    assert Sampler(length=3, batch=10).indices(0).shape == (10,)


def test_it_is_a_function_of_seed_step_and_rank() -> None:
    steps = [5, 1000, 5, 2]
    first = [Sampler(100, 8, seed=2).indices(step) for step in steps]
    assert np.array_equal(first[0], first[2])
    assert np.array_equal(first[1], Sampler(100, 8, seed=2).indices(1000))
    assert not np.array_equal(first[0], Sampler(100, 8, seed=3).indices(5))
    assert not np.array_equal(Sampler(100, 100, seed=2).indices(0), Sampler(100, 100, seed=2).indices(1))


def test_processes_share_the_same_global_batch() -> None:
    for step in range(9):
        parts = [Sampler(50, 4, seed=5, ranks=3).indices(step, rank) for rank in range(3)]
        assert np.array_equal(np.concatenate(parts), Sampler(50, 12, seed=5).indices(step))


@pytest.mark.parametrize("wrong", [{"length": 0, "batch": 1}, {"length": 1, "batch": 0}])
def test_nothing_to_sample_is_an_error(wrong: dict) -> None:
    with pytest.raises(ValueError, match="at least one"):
        Sampler(**wrong)
    with pytest.raises(ValueError, match="out of range"):
        Sampler(4, 2, ranks=2).indices(0, rank=2)
