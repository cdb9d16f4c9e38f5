import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score

from objectspace.evaluation.masks import ari, compare, partition, partition_of
from objectspace.scene import Component, Object, Scene

SIZE = (6, 8)


def area(rows: slice, columns: slice, size: tuple[int, int] = SIZE) -> np.ndarray:
    mask = np.zeros(size, np.bool_)
    mask[rows, columns] = True
    return mask


LEFT, RIGHT = area(slice(None), slice(0, 4)), area(slice(None), slice(4, 8))
TOP, BOTTOM = area(slice(0, 3), slice(None)), area(slice(3, 6), slice(None))
FIRST, SECOND = area(slice(0, 2), slice(0, 2)), area(slice(3, 5), slice(4, 8))
NONE = area(slice(0, 0), slice(0, 0))


@pytest.mark.parametrize("seed", range(8))
def test_ari_is_scikit_learns(seed: int) -> None:
    random = np.random.default_rng(seed)
    truth = random.integers(0, random.integers(1, 6), 500)
    predicted = np.where(random.random(500) < 0.5, truth, random.integers(-3, 9, 500))
    assert ari(truth, predicted) == pytest.approx(adjusted_rand_score(truth, predicted), abs=1e-12)


@pytest.mark.parametrize(
    ("truth", "predicted", "expected"),
    [
        ([0, 0, 0], [5, 5, 5], 1),
        ([0, 0, 0], [0, 1, 1], 0),
        ([0, 1, 1], [0, 0, 0], 0),
        ([0, 1, 2], [7, 8, 9], 1),
        ([0, 1, 2], [0, 0, 0], 0),
        ([4], [2], 1),
    ],
)
def test_ari_of_single_segments(truth: list, predicted: list, expected: float) -> None:
    assert ari(truth, predicted) == expected
    assert adjusted_rand_score(truth, predicted) == expected


def test_ari_of_many_pixels_is_exact() -> None:
    truth = np.repeat([0, 1, 2], [200_000, 90_000, 10_001])
    predicted = np.roll(truth, 7)
    assert ari(truth, predicted) == pytest.approx(adjusted_rand_score(truth, predicted), abs=1e-12)


def test_nothing_to_compare_is_undefined_and_unequal_lengths_are_refused() -> None:
    assert np.isnan(ari([], []))
    with pytest.raises(ValueError, match="3 true labels"):
        ari([1, 2, 3], [1, 2])


def test_perfect_masks_have_perfect_scores_whatever_their_order() -> None:
    floor, wall = BOTTOM & ~SECOND, TOP & ~FIRST
    scores = compare(partition([FIRST, SECOND], [floor, wall], SIZE), partition([SECOND, FIRST], [wall, floor], SIZE))
    assert (scores.ari, scores.fg_ari, scores.miou, scores.mbo, scores.background_miou) == (1, 1, 1, 1, 1)


def test_foreground_ari_looks_at_true_objects_only() -> None:
    truth = partition([FIRST, SECOND], [], SIZE)
    around = partition([LEFT, RIGHT], [], SIZE)  # separates the objects, but takes the background with them
    scores = compare(truth, around)
    assert scores.fg_ari == 1
    assert scores.ari < 0.2
    one_object = compare(truth, partition([FIRST | SECOND], [], SIZE))
    assert one_object.fg_ari == 0


def test_components_are_segments_too() -> None:
    """A model that tells objects from background by nothing at all is still measured."""
    scores = compare(partition([FIRST, SECOND], [], SIZE), partition([], [FIRST, SECOND, ~(FIRST | SECOND)], SIZE))
    assert (scores.ari, scores.fg_ari, scores.miou, scores.mbo) == (1, 1, 1, 1)


def test_miou_pairs_one_to_one_and_mbo_does_not() -> None:
    truth = partition([LEFT & TOP, LEFT & BOTTOM], [], SIZE)
    scores = compare(truth, partition([LEFT], [], SIZE))
    assert scores.mbo == 0.5
    assert scores.miou == pytest.approx((0.5 + 0 + 1) / 3), "one half, the other without a partner, the background"


def test_miou_finds_the_best_pairing() -> None:
    random = np.random.default_rng(0)
    first, second = random.integers(0, 5, SIZE), random.integers(0, 4, SIZE)
    truth = partition([first == number for number in range(5)], [], SIZE)
    predicted = partition([second == number for number in range(4)], [], SIZE)
    overlaps = np.array(
        [
            [((first == t) & (second == p)).sum() / ((first == t) | (second == p)).sum() for p in range(4)]
            for t in range(5)
        ]
    )
    rows, columns = linear_sum_assignment(-overlaps)
    assert compare(truth, predicted).miou == pytest.approx(overlaps[rows, columns].sum() / 5)
    assert compare(truth, predicted).mbo == pytest.approx(overlaps.max(1).mean())


def test_an_image_without_objects_measures_its_background_only() -> None:
    scores = compare(partition([], [], SIZE), partition([], [], SIZE))
    assert (scores.ari, scores.miou) == (1, 1)
    assert np.isnan([scores.fg_ari, scores.mbo, scores.background_miou]).all()
    assert compare(partition([], [], SIZE), partition([], [TOP, BOTTOM], SIZE)).ari == 0


def test_nothing_found_is_defined() -> None:
    scores = compare(partition([FIRST, SECOND], [], SIZE), partition([], [], SIZE))
    assert (scores.ari, scores.fg_ari) == (0, 0)
    assert scores.miou == pytest.approx(36 / 48 / 3), "the background alone has a partner"
    assert scores.mbo == pytest.approx((4 / 48 + 8 / 48) / 2)


def test_an_object_that_cannot_be_seen_does_not_count() -> None:
    with_hidden = compare(partition([FIRST, NONE], [], SIZE), partition([FIRST], [], SIZE))
    assert (with_hidden.mbo, with_hidden.miou, with_hidden.fg_ari) == (1, 1, 1)


def test_a_pixel_in_several_masks_belongs_to_the_first_and_objects_go_before_the_ground() -> None:
    labels = partition([FIRST, LEFT], [TOP], SIZE).labels
    assert (labels[0, 0], labels[0, 3], labels[5, 0], labels[0, 7], labels[5, 7]) == (0, 1, 1, 2, 3)


def test_the_best_scored_object_has_the_pixel() -> None:
    box = (0, 0, 1, 1)
    objects = (Object(box, box, score=0.6, mask=LEFT), Object(box, box, score=0.9, mask=FIRST))
    divided = partition_of(Scene(*SIZE, objects, (Component(TOP),)))
    assert divided is not None
    assert (divided.labels[0, 0], divided.labels[0, 3], divided.labels[0, 7]) == (0, 1, 2)
    assert partition_of(Scene(*SIZE, (Object(box, box),))) is None, "an object without a mask"


def test_components_together_make_up_a_part_of_the_background() -> None:
    halves = [TOP & LEFT, TOP & RIGHT, BOTTOM]
    assert compare(partition([], [TOP, BOTTOM], SIZE), partition([], halves, SIZE)).background_miou == 1


def test_background_miou_by_hand() -> None:
    upper = area(slice(0, 4), slice(None))  # three rows of the top, one of the bottom
    scores = compare(partition([], [TOP, BOTTOM], SIZE), partition([], [upper, ~upper], SIZE))
    assert scores.background_miou == pytest.approx((24 / 32 + 16 / 24) / 2)


def test_background_miou_leaves_true_objects_out_and_counts_false_ones_as_missing() -> None:
    truth = partition([FIRST], [TOP, BOTTOM], SIZE)
    assert compare(truth, partition([], [TOP, BOTTOM], SIZE)).background_miou == 1, "what is in an object is not asked"
    false = compare(truth, partition([FIRST, SECOND], [TOP, BOTTOM], SIZE))
    assert false.background_miou == pytest.approx((1 + 16 / 24) / 2)


def test_one_component_can_be_right_about_one_part_only() -> None:
    whole = compare(partition([], [TOP, BOTTOM, NONE], SIZE), partition([], [], SIZE))
    assert whole.background_miou == pytest.approx(0.5 / 2), "a part that cannot be seen is not asked for"


def test_masks_of_another_size_are_refused() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        partition([FIRST], [], (8, 6))
    with pytest.raises(ValueError, match="cannot be compared"):
        compare(partition([], [], SIZE), partition([], [], (8, 6)))
