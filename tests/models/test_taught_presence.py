"""What presence is taught: to be what the evidence says, from wherever it is."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from objectspace.config import Stage
from objectspace.models.parts.cells import Chosen, choose, explore
from objectspace.models.parts.grid import GridModel, GridOutput
from objectspace.models.parts.teaching import flattered, teach_presence
from objectspace.models.parts.warm import Missed
from objectspace.ops.mixtures import gaussian_log_density
from oracle.small import small_config, small_model

OFF = -8.7  # a logit of cells that are off: a presence of 1.7e-4
STAGE = Stage(
    presence_prior=1e-20,
    scale_prior_mean=-1.0,
    scale_prior_std=2.0,
    temperature=1.0,
    unknown=0.1,
    presence_by_evidence=True,
    explored_cells=4,
)


def slopes(
    logits: Tensor, worth: Tensor, prior: float, candidates: Tensor | None, chosen: Chosen, missed: Missed | None = None
) -> Tensor:
    """The gradient (B, N) of what is taught by the logits."""
    logits = logits.clone().requires_grad_()
    foreground = SimpleNamespace(
        cells=SimpleNamespace(presence_logits=logits),
        objects=SimpleNamespace(chosen=chosen),
        prior=torch.full_like(logits, prior),
    )
    taught = teach_presence(foreground, worth, candidates, missed)
    assert taught.shape == (len(logits),)
    assert taught.isfinite().all()
    taught.sum().backward()
    assert logits.grad is not None
    return logits.grad


@pytest.mark.parametrize("logit", [-8.8, OFF, 0.0, 8.8])
def test_evidence_leads_from_anywhere_to_the_posterior_given_the_others(logit):
    logits, worth = torch.full((1, 4), logit), torch.tensor([100.0, -100.0, 46.05, 40.0])
    found = slopes(logits, worth, 1e-20, None, choose(logits.sigmoid(), None, 0.0))
    best = torch.sigmoid(worth - torch.tensor(1e20).log())
    assert best[0] == 1
    assert 0.4 < best[2] < 0.6, "worth its price"
    torch.testing.assert_close(found[0], 10 * (torch.tensor(logit).sigmoid() - best))


def test_a_dead_cell_that_is_worth_much_learns_as_fast_as_any():
    logits = torch.tensor([[-8.8, 0.0]])
    dead, undecided = slopes(logits, torch.tensor([100.0, 100.0]), 0.1, None, choose(logits.sigmoid(), None, 0.0))[0]
    assert dead < undecided < 0, "the bound's own gradient is nearly nothing there"


def test_cells_that_are_not_weighed_are_absent_where_they_are_explained_and_else_wait():
    logits = torch.tensor([[1.0, 1.0, 1.0, 1.0]])
    chosen = choose(torch.tensor([[0.9, 0.1, 0.1, 0.1]]), 1, 0.0)
    candidates = torch.tensor([[False, False, True, True]])
    absent, present = torch.sigmoid(logits[0, 0]), torch.sigmoid(logits[0, 0]) - 1
    much = torch.tensor([100.0])
    found = slopes(logits, much, 0.1, candidates, chosen)
    torch.testing.assert_close(found[0], 10 * torch.stack([present, absent, absent * 0, absent * 0]))
    found = slopes(logits, much, 0.1, None, chosen)
    torch.testing.assert_close(found[0], 10 * torch.stack([present, absent, absent, absent]))
    more = explore(chosen, candidates, 2, None)
    found = slopes(logits, much.expand(3), 0.1, candidates, more)
    torch.testing.assert_close(found[0], 10 * torch.stack([present, absent, present, present]))


def test_a_cell_that_should_hold_what_is_missed_learns_from_that_and_not_from_what_it_holds():
    logits = torch.tensor([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    chosen = choose(torch.tensor([[0.9, 0.1, 0.1], [0.1, 0.1, 0.1]]), 1, 0.5)
    nothing, much = torch.tensor([-100.0]), torch.tensor([100.0, -100.0])
    absent, present = torch.sigmoid(logits[0, 0]), torch.sigmoid(logits[0, 0]) - 1
    missed = Missed(torch.tensor([0, 1]), torch.tensor([0, 4]), much, torch.zeros(2))
    found = slopes(logits, nothing, 0.1, None, chosen, missed)
    torch.testing.assert_close(found[0], 10 * torch.stack([present, absent, absent]))
    torch.testing.assert_close(found[1], 10 * torch.stack([absent, absent, absent]))
    elsewhere = torch.zeros(2, 3, dtype=torch.bool)
    elsewhere[1] = True
    found = slopes(logits, nothing, 0.1, elsewhere, chosen, missed)
    torch.testing.assert_close(found[1], 10 * torch.stack([0 * absent, absent, 0 * absent]))


def test_without_any_object_the_explained_are_taught_all_the_same():
    logits = torch.zeros(2, 3)
    found = slopes(logits, torch.zeros(0), 0.1, None, choose(logits.sigmoid(), None, 0.9))
    torch.testing.assert_close(found, torch.full((2, 3), 5.0))


def white_things(give_way: float = 0.0, logit: float = OFF, **config: Any) -> GridModel:
    """A model whose cells are off, or of this logit: white objects half an image wide, over what is not white."""
    foreground = {"premultiplied": False, "presence_threshold": 0.02, "give_way": give_way}
    model = small_model(small_config(foreground=foreground, **config)).float()
    heads, decoder = model.foreground.heads, model.foreground.glimpse_decoder
    biases = {
        heads.z_pres_net: [math.atanh(logit / 8.8)],
        heads.z_scale_net: [0.0, 0.0, -3.0, -3.0],
        heads.z_shift_net: [0.0, 0.0, -3.0, -3.0],
        decoder.dec_o: [9.0, 9.0, 9.0],
        decoder.dec_alpha: [9.0],
    }
    with torch.no_grad():
        for layer, bias in biases.items():
            layer.weight.zero_()
            layer.bias.copy_(torch.tensor(bias))
    return model


def weigh(model: GridModel, pictures: Tensor, seed: int, stage: Stage = STAGE) -> tuple[GridOutput, Tensor]:
    """What one step sees, and the gradient (B, N) of its loss by the presence logits."""
    output = model(pictures, stage, generator=torch.Generator().manual_seed(seed))
    logits = output.foreground.cells.presence_logits
    (gradient,) = torch.autograd.grad(output.loss.sum(), logits)
    return output, gradient


def test_a_cell_that_is_off_but_worth_much_is_taught_on():
    output, gradient = weigh(white_things(), torch.ones(2, 3, 32, 32), 0)
    front = output.foreground
    assert front is not None
    chosen = front.objects.chosen
    assert (front.cells.probability < 2e-4).all()
    assert chosen.explored is not None
    assert chosen.explored.sum() == 8
    assert (front.alpha < 1e-3).all(), "absent: nothing is drawn"
    weighed = gradient.flatten()[chosen.flat[chosen.explored]]
    assert (weighed < -9.9).all()
    assert gradient.count_nonzero() == len(chosen.flat), "the others wait for their turn"


def test_a_cell_that_is_off_and_draws_what_is_not_there_stays_off():
    output, gradient = weigh(white_things(), torch.zeros(2, 3, 32, 32), 0)
    assert output.foreground is not None
    assert output.foreground.objects.chosen.explored is not None
    assert output.foreground.objects.chosen.explored.any()
    assert (gradient >= 0).all()
    assert gradient.any()


@pytest.mark.slow
def test_everything_dead_comes_back_to_life_within_a_few_steps():
    model = white_things()
    optimiser = torch.optim.SGD(model.foreground.heads.z_pres_net.parameters(), 0.1)
    for step in range(20):
        optimiser.zero_grad()
        output = model(torch.ones(1, 3, 32, 32), STAGE, generator=torch.Generator().manual_seed(step))
        output.loss.sum().backward()
        optimiser.step()
    assert output.foreground is not None
    assert (output.foreground.cells.probability > 0.5).any()


def test_what_gives_way_learns_nothing():
    output, gradient = weigh(white_things(give_way=0.3), torch.ones(2, 3, 32, 32), 0)
    assert output.foreground is not None
    gone = output.foreground.cells.presence_logits <= -8.8
    assert 0 < gone.sum() < 32
    assert output.foreground.objects.chosen.explored is not None
    assert output.foreground.objects.chosen.explored.any()
    assert not gradient[gone].any()


@pytest.mark.parametrize("sigma", [0.05, 0.15])
@pytest.mark.parametrize("unknown", [1e-3, 0.1])
def test_what_is_explained_is_drawn_perfectly_and_the_rest_stays(sigma, unknown):
    off = torch.linspace(-1, 1, 2 * 5 * 7).view(2, 1, 5, 7) * torch.tensor([0.0, 0.5, 1.0])[:, None, None]
    behind = gaussian_log_density(off, 0.0, sigma)  # from far off through exact to far off again
    found = flattered(behind, sigma, unknown, 3)
    explained = (1 - unknown) * behind.sum(1).exp() > unknown
    assert 0 < explained.sum() < explained.numel()
    assert found.shape == behind.shape
    peak = gaussian_log_density(torch.zeros(()), 0.0, sigma)
    torch.testing.assert_close(found.movedim(1, -1)[explained], peak.expand(int(explained.sum()), 3))
    assert torch.equal(found.movedim(1, -1)[~explained], behind.movedim(1, -1)[~explained])


def test_what_is_drawn_perfectly_or_unexplained_is_not_flattered():
    exact = gaussian_log_density(torch.zeros(1, 3, 2, 2), 0.0, 0.1)
    torch.testing.assert_close(flattered(exact, 0.1, 0.1, 3), exact)
    lost = gaussian_log_density(torch.ones(1, 3, 2, 2), 0.0, 0.1)
    assert torch.equal(flattered(lost, 0.1, 0.1, 3), lost)


def test_whole_pixels_are_flattered_as_their_channels_are():
    behind = gaussian_log_density(torch.linspace(-1, 1, 60).view(1, 3, 4, 5), 0.0, 0.1)
    whole = flattered(behind.sum(1, keepdim=True), 0.1, 0.1, 3)
    torch.testing.assert_close(whole[:, 0], flattered(behind, 0.1, 0.1, 3).sum(1))


@pytest.mark.parametrize(
    ("ground", "only", "present"), [(0.85, False, 1), (0.85, True, 0), (0.2, False, 1), (0.2, True, 1)]
)
def test_an_object_over_a_ground_that_is_a_little_off_is_taught_absent_if_that_is_no_gain(ground, only, present):
    """White on a white image: behind it is a still that explains it nearly (0.85), or not at all (0.2)."""
    model = white_things(logit=0.0, grid=(1, 1), background={"stills": 1, "components": 0})
    with torch.no_grad():
        model.background.pictures.fill_(ground)
    output, gradient = weigh(model, torch.ones(2, 3, 32, 32), 0, replace(STAGE, unexplained_only=only))
    assert output.foreground is not None
    assert len(output.foreground.objects.chosen.flat) == 2, "weighed"
    torch.testing.assert_close(gradient, 10 * (torch.full((2, 1), 0.5) - present))
