"""Which cells are worked on, and how likely each is to hold an object."""

from dataclasses import replace

import pytest
import torch

from objectspace.config import Stage
from objectspace.models.parts.cells import Chosen, Hints, choose, explore, giving_way

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


def test_candidates_are_where_the_background_leaves_something_unexplained():
    left = marked((0, 0), (7, 7)) * 0.6 + marked((0, 11)) * 0.5
    candidates = Hints(unexplained=left).candidates(4)
    assert candidates is not None
    assert candidates.tolist() == [[True, False, False, False, True, False]]
    assert Hints(motion=marked((0, 0)).bool()).candidates(4) is None, "that is not known"


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


CANDIDATES = torch.tensor([[True, True, False, False, True, True], [False, True, True, False, False, False]])


def explored(chosen: Chosen) -> torch.Tensor:
    """The explored ones among all cells: (B, N)."""
    assert chosen.mask is not None
    assert chosen.explored is not None
    found = torch.zeros_like(chosen.mask)
    found.view(-1)[chosen.flat[chosen.explored]] = True
    return found


@pytest.mark.parametrize("most", [1, 2, 3, 6, 100])
def test_only_absent_candidates_are_explored_and_not_too_many(most):
    presence = torch.tensor([[0.9, 0.1, 0.8, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.1, 0.1, 0.9]])
    chosen = choose(presence, None, 0.5)
    assert chosen.mask is not None
    seen = torch.zeros_like(chosen.mask)
    for seed in range(30):
        more = explore(chosen, CANDIDATES, most, torch.Generator().manual_seed(seed))
        found = explored(more)
        assert torch.equal(more.mask, chosen.mask | found)
        assert more.flat.tolist() == more.mask.flatten().nonzero().flatten().tolist()
        assert more.image.tolist() == [number // 6 for number in more.flat.tolist()]
        assert found.sum(1).tolist() == [min(most, 3), min(most, 2)]
        seen |= found
    assert torch.equal(seen, CANDIDATES & ~chosen.mask), "everyone's turn comes"


def test_the_same_seed_explores_the_same_cells():
    chosen = choose(torch.zeros(3, 40), None, 0.5)
    everywhere = torch.ones(3, 40, dtype=torch.bool)
    one, again, other = (
        explored(explore(chosen, everywhere, 4, torch.Generator().manual_seed(seed))) for seed in (1, 1, 2)
    )
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


def test_nothing_is_explored_where_nothing_is_unexplained():
    more = explore(choose(PRESENCE, 1, 0.0), torch.zeros(2, 4, dtype=torch.bool), 3, None)
    assert not explored(more).any()
    assert more.flat.tolist() == [0, 5]


def test_nothing_is_explored_where_every_cell_is_chosen_or_none_is_asked_for():
    candidates = torch.ones(2, 4, dtype=torch.bool)
    for chosen, most in ((choose(PRESENCE, None, 0.0), 3), (choose(PRESENCE, 1, 0.0), 0)):
        generator = torch.Generator().manual_seed(0)
        before = generator.get_state()
        assert explore(chosen, candidates, most, generator) is chosen
        assert torch.equal(generator.get_state(), before), "no random number is drawn for nothing"


def boxes_at(*centres: float) -> torch.Tensor:
    """Boxes of one height and width, side by side: those 0.1 apart have an IoU of 0.6, those 0.2 apart of 1/3."""
    return torch.tensor([[[0.2, 0.2, centre, 0.0] for centre in centres]])


@pytest.mark.parametrize(
    ("logits", "centres", "gone"),
    [
        ([3.0, 2.0, 1.0], [0.0, 0.1, 0.2], [False, True, False]),  # the middle one goes, so the last one stays
        ([1.0, 2.0, 3.0], [0.0, 0.1, 0.2], [False, True, False]),
        ([1.0, 3.0, 2.0], [0.0, 0.1, 0.2], [True, False, True]),
        ([5.0, 4.0, 3.0, 2.0, 1.0], [0.0, 0.1, 0.2, 0.3, 0.4], [False, True, False, True, False]),
        ([1.0, 2.0, 3.0], [0.0, 0.2, 0.4], [False, False, False]),  # nothing overlaps enough
        ([2.0, 2.0], [0.0, 0.1], [False, True]),  # of equals the first stays
        ([8.8, 8.8, 8.8, 8.8], [0.0, 0.0, 0.0, 0.0], [False, True, True, True]),
        ([-8.0, -7.0], [0.0, 0.1], [True, False]),  # surer, though neither is sure
        ([0.0], [0.0], [False]),
    ],
)
def test_a_cell_gives_way_to_a_surer_one_that_stays(logits, centres, gone):
    assert giving_way(torch.tensor([logits]), boxes_at(*centres), 0.45).tolist() == [gone]


def test_each_image_s_cells_give_way_among_themselves():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(5, 30, generator=generator)
    where = torch.cat(
        [0.1 + 0.4 * torch.rand(5, 30, 2, generator=generator), torch.rand(5, 30, 2, generator=generator)], 2
    )
    gone = giving_way(logits, where, 0.3)
    assert 0 < gone.sum() < 150
    apart = torch.cat([giving_way(logits[b : b + 1], where[b : b + 1], 0.3) for b in range(5)])
    assert torch.equal(gone, apart)
    order = torch.randperm(30, generator=generator)
    assert torch.equal(giving_way(logits[:, order], where[:, order], 0.3), gone[:, order])
