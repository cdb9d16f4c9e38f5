"""Numbers that follow objects: through crossings and short absences, and never to somebody else."""

import numpy as np
import pytest

from objectspace.video.tracking import Tracker

RED, BLUE = [3.0, 0.0], [0.0, 3.0]


def box(x: float, y: float = 0.5, side: float = 0.1) -> list[float]:
    return [x - side / 2, y - side / 2, x + side / 2, y + side / 2]


def test_numbers_follow_objects_whatever_order_they_come_in() -> None:
    tracker = Tracker()
    assert tracker.update([box(0.2), box(0.8)], [RED, RED]).tolist() == [0, 1]
    assert tracker.update([box(0.82), box(0.22)], [RED, RED]).tolist() == [1, 0]


def test_equal_objects_that_cross_keep_their_numbers() -> None:
    tracker = Tracker()
    for step in range(9):
        numbers = tracker.update([box(0.1 + 0.1 * step), box(0.9 - 0.1 * step)], [RED, RED])
    assert numbers.tolist() == [0, 1]


def test_different_objects_that_meet_and_turn_back_keep_their_numbers() -> None:
    tracker = Tracker()
    for x in (0.1, 0.2, 0.3, 0.4, 0.49, 0.4, 0.3, 0.2):
        numbers = tracker.update([box(x), box(1 - x)], [RED, BLUE])
        assert numbers.tolist() == [0, 1]


def test_one_that_passes_behind_another_comes_out_with_its_number() -> None:
    tracker = Tracker(patience=3)
    for step in range(9):
        moving = [(box(0.1 + 0.1 * step), RED)] if not 3 <= step <= 5 else []
        rows = [*moving, (box(0.5), BLUE)]
        numbers = tracker.update([row[0] for row in rows], [row[1] for row in rows])
        assert numbers[-1] == 1
    assert numbers.tolist() == [0, 1]


@pytest.mark.parametrize(("absent", "number"), [(2, 0), (3, 1)])
def test_an_object_is_remembered_only_so_long(absent: int, number: int) -> None:
    tracker = Tracker(patience=2)
    tracker.update([box(0.5)], [RED])
    for _ in range(absent):
        assert tracker.update([], []).tolist() == []
    assert tracker.remembered == ({0} if absent <= 2 else set())
    assert tracker.update([box(0.5)], [RED]).tolist() == [number]


def test_what_is_too_far_or_too_different_is_new() -> None:
    for place, look in ((box(0.9), RED), (box(0.2), [-3.0, 0.0])):
        tracker = Tracker(reach=0.2, likeness=1.0)
        tracker.update([box(0.2)], [RED])
        assert tracker.update([place], [look]).tolist() == [1]


def test_a_near_pair_does_not_rob_two_others_of_theirs() -> None:
    """The greedy choice would give the middle object to the wrong track and leave one without."""
    tracker = Tracker(reach=0.2)
    tracker.update([box(0.30), box(0.42)], [RED, RED])
    assert tracker.update([box(0.40), box(0.55)], [RED, RED]).tolist() == [0, 1]


def test_numbers_begin_anew_after_a_reset_and_not_before() -> None:
    tracker = Tracker(patience=0)
    tracker.update([box(0.1)], [RED])
    tracker.update([], [])
    assert tracker.update([box(0.1)], [RED]).tolist() == [1]
    tracker.reset()
    assert tracker.update([box(0.9)], [BLUE]).tolist() == [0]


def test_objects_without_latents_are_followed_by_their_boxes() -> None:
    tracker = Tracker()
    tracker.update([box(0.2), box(0.6)], np.zeros((2, 0)))
    assert tracker.update([box(0.6), box(0.2)], np.zeros((2, 0))).tolist() == [1, 0]


def test_latents_of_another_model_are_refused() -> None:
    tracker = Tracker()
    tracker.update([box(0.2)], [RED])
    with pytest.raises(ValueError, match="reset between models"):
        tracker.update([box(0.2)], [[1.0, 2.0, 3.0]])
