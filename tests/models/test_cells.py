"""Which cells are worked on, and how likely each is to hold an object."""

from dataclasses import replace

import pytest
import torch

from objectspace.config import Stage
from objectspace.models.parts.cells import Hints, choose

STAGE = Stage(presence_prior=0.1, scale_prior_mean=-1.0, temperature=1.0, unknown=0.1)


def marked(*pixels: tuple[int, int]) -> torch.Tensor:
    """An image of 8 x 12 pixels, six cells of 4, with some pixels marked."""
    image = torch.zeros(1, 8, 12)
    for row, column in pixels:
        image[0, row, column] = 1
    return image


def test_without_hints_the_prior_is_one_number():
    stage = replace(STAGE, motion_prior=0.6, explained_prior=0.001)
    assert Hints().presence_prior(stage, 4) == 0.1
    everything = Hints(marked((0, 0)).bool(), marked((0, 0)))
    assert everything.presence_prior(STAGE, 4) == 0.1, "hints that no prior looks at"


def test_what_the_background_explains_is_unlikely_to_be_an_object():
    left = marked((0, 0), (7, 7)) * 0.6 + marked((0, 11)) * 0.5
    prior = Hints(unexplained=left).presence_prior(replace(STAGE, explained_prior=0.001), 4)
    torch.testing.assert_close(prior, torch.tensor([[0.1, 0.001, 0.001, 0.001, 0.1, 0.001]]))


def test_what_is_explained_never_becomes_likelier():
    late = replace(STAGE, presence_prior=1e-20, explained_prior=0.001)
    prior = Hints(unexplained=marked((0, 0)).double()).presence_prior(late, 4)
    assert prior.dtype == torch.float64
    assert (prior == 1e-20).all()


def test_what_moves_is_likely_whether_or_not_it_is_explained():
    stage = replace(STAGE, explained_prior=0.001, motion_prior=0.6)
    hints = Hints(motion=marked((1, 1), (1, 5)).bool(), unexplained=marked((0, 0), (0, 8)))
    torch.testing.assert_close(hints.presence_prior(stage, 4), torch.tensor([[0.6, 0.6, 0.1, 0.001, 0.001, 0.001]]))
    slow = replace(stage, motion_prior=0.01)
    torch.testing.assert_close(hints.presence_prior(slow, 4), torch.tensor([[0.1, 0.1, 0.1, 0.001, 0.001, 0.001]]))


PRESENCE = torch.tensor([[0.9, 0.0, 0.5, 0.7], [0.2, 0.8, 0.6, 0.1]])
KEPT = torch.tensor([[False, True, True, True], [True, False, False, True]])


@pytest.mark.parametrize(
    ("budget", "threshold", "expected"),
    [
        (None, 0.0, [1, 2, 3, 4, 7]),
        (2, 0.0, [2, 3, 4, 7]),
        (None, 0.15, [2, 3, 4]),
        (1, 0.15, [3, 4]),
        (9, 0.0, [1, 2, 3, 4, 7]),
    ],
)
def test_only_cells_that_are_kept_are_chosen(budget, threshold, expected):
    chosen = choose(PRESENCE, budget, threshold, KEPT)
    assert chosen.flat.tolist() == expected
    assert chosen.image.tolist() == [number // 4 for number in expected]
    assert chosen.mask is not None
    assert chosen.mask.flatten().nonzero().flatten().tolist() == expected


def test_all_cells_are_chosen_where_nothing_limits_them():
    assert choose(PRESENCE, None, 0.0).mask is None
    assert choose(PRESENCE, 4, 0.0).flat.tolist() == list(range(8))
