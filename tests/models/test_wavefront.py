"""Cells of a slanted diagonal inferred together: the same values, gradients and samples as one after another."""

import copy
from itertools import product

import pytest
import torch
from torch import Tensor

from objectspace.config import Stage
from objectspace.models import create
from objectspace.models.parts.sequence import fronts, visited
from objectspace.models.spair import SequentialConfig, SequentialModel
from oracle.small import named, random_images
from oracle.small_spair import sequential_model, small_spair, small_spair_p

STAGE = Stage(presence_prior=0.1, scale_prior_mean=-1.0, temperature=1.3, boundary_weight=0.7)
EVIDENCE = Stage(
    presence_prior=0.1,
    scale_prior_mean=-1.0,
    temperature=1.0,
    unknown=0.1,
    own_background=True,
    presence_by_evidence=True,
    explored_cells=2,
    lesson=1.0,
)
GRIDS = [(4, 4), (5, 3), (3, 7), (1, 4), (6, 1)]


def in_both_orders(config: SequentialConfig, seed: int = 0) -> tuple[SequentialModel, SequentialModel]:
    slow = sequential_model(config, seed)
    fast = sequential_model(config.model_copy(update={"wavefront": True}), seed)
    fast.load_state_dict(copy.deepcopy(slow.state_dict()))
    return slow, fast


def assert_same(
    slow: SequentialModel, fast: SequentialModel, images: Tensor, stage: Stage = STAGE, sample: bool = True
) -> None:
    generators = [torch.Generator().manual_seed(3) for _ in range(2)]
    one, other = (
        model(images, stage, sample=sample, generator=generator)
        for model, generator in zip((slow, fast), generators, strict=True)
    )
    torch.testing.assert_close(other.loss, one.loss, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(other.reconstruction, one.reconstruction, rtol=1e-9, atol=1e-9)
    for name in ("presence_logits", "presence", "where"):
        expected = getattr(one.foreground.cells, name)
        torch.testing.assert_close(getattr(other.foreground.cells, name), expected, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(other.foreground.objects.what, one.foreground.objects.what, rtol=1e-9, atol=1e-9)
    assert torch.equal(generators[0].get_state(), generators[1].get_state()), "as much was drawn"
    for output in (one, other):
        output.loss.mean().backward()
    for (name, left), right in zip(slow.named_parameters(), fast.parameters(), strict=True):
        torch.testing.assert_close(right.grad, left.grad, rtol=1e-7, atol=1e-7, msg=named(name))


@pytest.mark.parametrize("sample", [True, False])
@pytest.mark.parametrize("neighbourhood", [1, 2])
@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_values_and_gradients_are_those_of_the_sequence(
    grid: tuple[int, int], neighbourhood: int, sample: bool
) -> None:
    size = (16 * grid[0], 16 * grid[1])
    slow, fast = in_both_orders(small_spair(size, grid, {"budget": 3}, neighbourhood=neighbourhood))
    assert_same(slow, fast, random_images(2, size, 5), sample=sample)


def test_what_a_plan_teaches_is_the_same_and_no_cell_of_a_front_gives_way() -> None:
    slow, fast = in_both_orders(small_spair((48, 80), (3, 5), {"presence_threshold": 0.4, "give_way": 0.1}))
    assert_same(slow, fast, random_images(2, (48, 80), 5), EVIDENCE)


def test_patches_are_the_same_too() -> None:
    slow, fast = in_both_orders(small_spair_p((64, 64), (8, 8)))
    assert_same(slow.train(), fast.train(), random_images(2, (64, 64), 5))


@pytest.mark.parametrize("neighbourhood", [1, 2, 3])
@pytest.mark.parametrize(("rows", "columns"), [(16, 16), (3, 7), (7, 3), (1, 5), (5, 1)])
def test_a_front_knows_what_it_must_and_its_cells_do_not_know_one_another(
    rows: int, columns: int, neighbourhood: int
) -> None:
    for together in (False, True):
        order, back = fronts(rows, columns, neighbourhood, together)
        turn = {cell: number for number, front in enumerate(order) for cell in front}
        assert sorted(turn) == list(range(rows * columns))
        for row, column in product(range(rows), range(columns)):
            for down, right in visited(neighbourhood):
                if row + down >= 0 and 0 <= column + right < columns:
                    waited = turn[row * columns + column] - turn[(row + down) * columns + column + right]
                    assert 1 <= waited <= back


def test_there_are_as_few_fronts_as_can_be() -> None:
    assert len(fronts(16, 16, 1, together=True)[0]) == 46
    for rows, columns, neighbourhood in ((16, 16, 2), (8, 8, 1), (5, 4, 1), (4, 9, 3)):
        expected = columns - 1 + (neighbourhood + 1) * (rows - 1) + 1
        assert len([*fronts(rows, columns, neighbourhood, together=True)[0]]) <= expected
    assert len(fronts(8, 8, 1, together=True)[0]) == 7 + 2 * 7 + 1


def test_a_model_visits_as_its_config_says() -> None:
    calls = {}
    for wavefront in (False, True):
        model = create(small_spair(wavefront=wavefront)).eval()
        numbers: list[int] = []
        model.foreground.heads.register_forward_hook(lambda _, inputs, out, numbers=numbers: numbers.append(1))
        model(torch.rand(1, 3, 32, 32), STAGE, sample=False)
        calls[wavefront] = len(numbers)
    assert calls == {False: 16, True: 3 + 2 * 3 + 1}


def test_a_place_in_a_patch_is_said_by_the_latents_that_mean_it() -> None:
    foreground = sequential_model(small_spair_p((64, 96), (8, 12))).foreground
    where = torch.tensor([[0.5, 0.25, 0.1, -0.3]], dtype=torch.float64)
    cell = torch.tensor([5])
    scale, shift = foreground.to_latents(where, cell, (32, 32))
    patch = torch.zeros(1, 3, 32, 32, dtype=torch.float64)
    again = foreground._to_where(patch, (4, 4), cell, scale[None], shift[None])
    torch.testing.assert_close(again[0], where)
