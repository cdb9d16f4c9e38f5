"""What goes beyond the paper equals its literal transcription too, in values and in gradients, for SPACE and SPAIR."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from objectspace.config import Stage
from objectspace.models.parts.background import BackgroundOutput
from objectspace.models.parts.grid import GridModel, GridOutput
from oracle import space_oracle
from oracle import test_space_equals_oracle as for_space
from oracle import test_spair_equals_oracle as for_spair
from oracle.small import random_images, small_config, small_model
from oracle.small_spair import sequential_model, small_spair, small_spair_p

pytestmark = pytest.mark.slow  # few of them take a second, but there are many
STAGE = Stage(presence_prior=0.1, scale_prior_mean=-1.0, temperature=1.3, boundary_weight=0.7)
UNKNOWN = replace(STAGE, unknown=0.1)
# Objects gain about as much as they cost, so that evidence leaves their presence in doubt.
DOUBT = replace(
    STAGE,
    unknown=0.5,
    presence_prior=0.999,
    scale_prior_std=2.0,
    foreground_sigma=0.3,
    background_sigma=0.25,
    presence_by_evidence=True,
)
both = pytest.mark.parametrize("kind", ["space", "spair"])
STAGES = {
    "the unknown": UNKNOWN,
    "a rare unknown, and sigmas of their own": replace(
        STAGE, unknown=1e-3, foreground_sigma=0.11, background_sigma=0.25
    ),
    "a fixed alpha": replace(UNKNOWN, fixed_alpha=0.3),
    "an objective of the background's own": replace(UNKNOWN, own_background=True),
    "the same without the unknown": replace(STAGE, own_background=True),
    "a prior by what is explained": replace(STAGE, unknown=0.3, explained_prior=0.001),
    "both": replace(STAGE, unknown=0.3, explained_prior=0.001, own_background=True),
    "cells dropped": replace(UNKNOWN, dropped_cells=0.4),
    "cells dropped, the background first": replace(UNKNOWN, dropped_cells=0.4, own_background=True),
    "presence by evidence": replace(UNKNOWN, presence_by_evidence=True),
    "presence by evidence without the unknown": replace(STAGE, presence_by_evidence=True),
    "presence by evidence in doubt": DOUBT,
    "giving way": UNKNOWN,
    "giving way to evidence": DOUBT,
    "explored cells": replace(DOUBT, explored_cells=1),
    "gains by the unexplained only": replace(DOUBT, unexplained_only=True),
    "everything": replace(
        DOUBT, explained_prior=0.01, own_background=True, dropped_cells=0.3, unexplained_only=True, explored_cells=1
    ),
}

FOREGROUNDS: dict[str, dict[str, Any]] = {
    "giving way": {"give_way": 0.1},
    "giving way to evidence": {"give_way": 0.1},
    "explored cells": {"budget": 2},
    "everything": {"give_way": 0.1, "budget": 2, "presence_threshold": 0.1},
}  # of models in these stages


def small(kind: str, grid: tuple[int, int] = (2, 2), seed: int = 0, **foreground: Any) -> GridModel:
    if kind == "space":
        return small_model(small_config(grid=grid, foreground=foreground), seed)
    return sequential_model(small_spair(grid=grid, foreground=foreground), seed)


def images(count: int = 2, size: tuple[int, int] = (32, 32), seed: int = 1) -> Tensor:
    """Noise, half of it faint: a background can explain some of it."""
    pictures = random_images(count, size, seed)
    pictures[:, :, : size[0] // 2] = 0.5 + 0.1 * (pictures[:, :, : size[0] // 2] - 0.5)
    return pictures


def gone(output: GridOutput) -> Tensor:
    """The cells (B, N) that gave way."""
    return output.foreground.cells.presence_logits == -8.8


def assert_equal(model: GridModel, pictures: Tensor, stage: Stage, sample: bool = False, seed: int = 0) -> GridOutput:
    check = for_space if model.config.kind == "space" else for_spair
    return check.assert_equal_in_values_and_gradients(model, pictures, stage, sample, seed)


@both
@pytest.mark.parametrize("name", STAGES)
def test_stages(kind, name):
    model, stage = small(kind, **FOREGROUNDS.get(name, {})), STAGES[name]
    output = assert_equal(model, images(), stage, sample=True, seed=3)
    assert (
        ((output.unexplained > 0) & (output.unexplained < 1)).all() if stage.unknown else not output.unexplained.any()
    )


@both
@pytest.mark.parametrize("name", [name for name, stage in STAGES.items() if stage.unexplained_only])
def test_gains_by_the_unexplained_only_change_what_is_taught_and_not_the_bound(kind, name):
    bounds, slopes = [], []
    for only in (True, False):
        stage = replace(STAGES[name], unexplained_only=only)
        model = small(kind, **FOREGROUNDS.get(name, {}))
        output = model(images(), stage, generator=torch.Generator().manual_seed(3))
        taught, logits = output.penalties["presence_by_evidence"], output.foreground.cells.presence_logits
        bounds.append(output.elbo)
        slopes.append(torch.autograd.grad(taught.sum(), logits)[0])
    assert (slopes[0] - slopes[1]).abs().max() > 5e-4
    assert torch.equal(*bounds)


@pytest.mark.parametrize("sample", [False, True])
@pytest.mark.parametrize("stage", [STAGE, DOUBT, STAGES["everything"]], ids=["paper", "evidence", "everything"])
def test_cells_that_give_way(stage, sample):
    output = assert_equal(small("space", grid=(4, 4), give_way=0.05), images(), stage, sample, seed=8)
    assert 0 < gone(output).sum() < 32


def test_cells_of_spair_give_way_to_none():
    output = assert_equal(small("spair", grid=(4, 4), give_way=0.01), images(), DOUBT, sample=True, seed=8)
    assert not gone(output).any()


@both
@pytest.mark.parametrize("sample", [False, True])
@pytest.mark.parametrize("foreground", [{"budget": 5}, {"budget": 9, "presence_weighted_kl": False}], ids=str)
def test_cells_that_are_explored(kind, sample, foreground):
    model = small(kind, grid=(4, 4), premultiplied=False, **foreground)
    output = assert_equal(model, images(), replace(DOUBT, explored_cells=3), sample, seed=9)
    found = output.foreground.objects
    assert found.chosen.explored.any()
    assert torch.equal(found.presence == 0, found.chosen.explored)


def test_what_has_given_way_is_not_explored():
    model = small("space", grid=(4, 4), give_way=0.2, budget=3)
    output = assert_equal(model, images(), replace(DOUBT, explored_cells=16), sample=True, seed=10)
    explored = torch.zeros(32, dtype=torch.bool)
    explored[output.foreground.objects.chosen.flat[output.foreground.objects.chosen.explored]] = True
    assert gone(output).any()
    assert explored.any()
    assert not (explored & gone(output).flatten()).any()


@both
@pytest.mark.parametrize(("stage", "sample"), [(STAGE, False), (STAGES["everything"], True)], ids=["paper", "beyond"])
@pytest.mark.parametrize(
    "foreground",
    [
        {"premultiplied": False},
        {"margin": 0.3},
        {"premultiplied": False, "margin": 0.15},
        {"dense": (8, 6)},
        {"dense": (5, 7, 6), "glimpse": 16, "premultiplied": False, "budget": 3},
    ],
    ids=str,
)
def test_colour_divided_by_alpha_a_margin_and_dense_nets(kind, sample, stage, foreground):
    assert_equal(small(kind, **foreground), images(), stage, sample, seed=4)


@both
def test_a_budget_and_a_threshold_of_what_is_not_dropped(kind):
    model = small(kind, grid=(4, 4), budget=5, presence_threshold=0.3, presence_weighted_kl=False)
    output = assert_equal(model, images(3), STAGES["everything"], sample=True, seed=5)
    explored = output.foreground.objects.chosen.explored
    assert 0 < explored.sum() <= 3
    assert 0 < (~explored).sum() <= 15


def test_patches():
    model = sequential_model(
        small_spair_p((64, 64), (8, 8), foreground={"margin": 0.2, "premultiplied": False})
    ).train()
    assert_equal(model, images(2, (64, 64)), STAGES["everything"], sample=True, seed=6)


@pytest.mark.parametrize(("stage", "training"), [(STAGE, False), (STAGES["everything"], True)], ids=["paper", "beyond"])
@pytest.mark.parametrize(
    "background",
    [
        {"stills": 1},
        {"stills": 3},
        {"stills": 3, "components": 1, "still_things": "objects"},
        {"stills": 1, "components": 0},
        {"stills": 3, "components": 0},
        {"stills": 1, "components": 2, "fraction": 2, "input_fraction": 2},
    ],
    ids=str,
)
def test_stills(background, stage, training):
    model = small_model(small_config(grid=(2, 2), background=background))
    with torch.no_grad():
        model.background.pictures.copy_(random_images(background["stills"], (32, 32), 8))
    pictures = images(3)
    pictures[1:] = (model.background.pictures[-1] + 0.05 * random_images(2, (32, 32), 9)).detach()
    output = assert_equal(model.train(training), pictures, stage, sample=training, seed=7)
    assert (output.kl["still"] == torch.tensor(background["stills"], dtype=torch.float64).log()).all()
    assert (output.kl.keys() >= {"mask", "component"}) == (background.get("components", 3) > 0)


@pytest.mark.parametrize(("stage", "training"), [(STAGE, False), (STAGES["everything"], True)], ids=["paper", "beyond"])
@pytest.mark.parametrize("fraction", [1, 2])
@pytest.mark.parametrize(
    "background",
    [{"components": 1}, {"components": 2}, {"components": 1, "stills": 2}],
    ids=["one", "two", "behind stills"],
)
def test_planes_of_colour(background, fraction, stage, training):
    config = small_config((32, 48), (2, 3), background={**background, "plane": True, "fraction": fraction})
    output = assert_equal(small_model(config).train(training), images(3, (32, 48)), stage, sample=training, seed=11)
    assert isinstance(output.background, BackgroundOutput)
    means = output.background.means
    assert (means.flatten(-2).std(-1)[:, -1] > 0).all(), "planes, not one colour each"


@pytest.mark.parametrize(("stage", "training"), [(STAGE, False), (STAGES["everything"], True)], ids=["paper", "beyond"])
@pytest.mark.parametrize(
    "background",
    [{"components": 3}, {"components": 2, "stray": 0.1, "input_fraction": 2}, {"components": 1, "stills": 2}],
    ids=["three", "two, stray", "behind stills"],
)
def test_colours_that_masks_see(background, stage, training):
    """All channels of a pixel are mixed at once, and the latents start from what is there."""
    config = small_config(grid=(2, 2), background={**background, "palette": True})
    output = assert_equal(small_model(config).train(training), images(2), stage, sample=training, seed=11)
    assert isinstance(output.background, BackgroundOutput)
    assert output.background.log_density.shape == (2, 1, 32, 32)
    assert (output.background.means[:, -1].flatten(-2).std(-1) < 1e-12).all(), "one colour each"


@both
def test_without_what_goes_beyond_the_paper_nothing_is_changed_by_it(kind):
    """Options at their zeros are the paper's model bit for bit, not only to rounding."""
    model, pictures = small(kind), images()
    zeros = replace(STAGE, unknown=0.0, dropped_cells=0.0, foreground_sigma=0.15, background_sigma=0.15)
    results = [model(pictures, stage, generator=torch.Generator().manual_seed(0)) for stage in (STAGE, zeros)]
    assert torch.equal(results[0].loss, results[1].loss)
    front, back = results[0].foreground, results[0].background
    paper = (
        torch.logaddexp(
            -((pictures - front.image) * (0.5**0.5 / 0.15)).square() + front.alpha.log(),
            back.log_density + torch.log1p(-front.alpha) + torch.tensor(0.15 * (2 * torch.pi) ** 0.5).double().log(),
        )
        - torch.tensor(0.15 * (2 * torch.pi) ** 0.5).double().log()
    )
    torch.testing.assert_close(results[0].log_likelihood, paper.flatten(1).sum(1))
    assert results[0].penalties.keys() == {"boundary"}


@both
def test_a_background_with_an_objective_of_its_own_learns_from_nothing_else(kind):
    pictures, own = images(), replace(UNKNOWN, own_background=True)
    gradients = {}
    for name, stage in {"own": own, "alone": replace(UNKNOWN, background_only=True), "joint": UNKNOWN}.items():
        model = small(kind)
        loss = model(pictures, stage, sample=False).loss
        loss.sum().backward()
        gradients[name] = {key: each.grad for key, each in model.named_parameters()}
    for key, value in gradients["own"].items():
        if key.startswith("foreground."):  # which sees the same background, whether or not that learns
            torch.testing.assert_close(value, gradients["joint"][key], rtol=1e-9, atol=1e-9)
        elif value is not None:
            torch.testing.assert_close(value, gradients["alone"][key], rtol=1e-9, atol=1e-9)
    moved = [key for key, value in gradients["joint"].items() if key.startswith("background.") and value is not None]
    assert any(not torch.allclose(gradients["joint"][key], gradients["own"][key]) for key in moved)


def test_presence_learns_from_what_each_object_gains():
    """By brute force: the bound with each object and without it, as it is sampled or, where it is explored, absent."""
    model, pictures = small("space", grid=(4, 4), premultiplied=False, budget=5), images(1)
    stage, heads = replace(DOUBT, explored_cells=3), dict[str, Tensor]()

    def keep(module, inputs, output):
        output.retain_grad()
        heads["presence"] = output

    model.foreground.heads.z_pres_net.register_forward_hook(keep)
    output = model(pictures, stage, generator=torch.Generator().manual_seed(2))
    output.loss.sum().backward()
    raw = heads["presence"].detach().flatten()
    probability, found = (8.8 * raw.tanh()).sigmoid(), output.foreground.objects
    drawn: list[Any] = list(zip(found.picture, found.alpha, found.frame, found.depth.unsqueeze(1), strict=True))
    drawn += [None] * 8  # of 16 cells eight are drawn
    density = output.background.log_density.exp()[0].detach()

    def bound(presences: list[Tensor]) -> Tensor:
        picture, alpha = space_oracle.lay(drawn, presences, (32, 32))
        mean = space_oracle.mean_of(picture, alpha, premultiplied=False)
        return space_oracle.log_pixels(model, pictures[0], mean, alpha, density, stage).sum()

    left = [space_oracle.unexplained(stage, density, i // 4, i % 4, 8) for i in range(16)]
    best = torch.where(torch.tensor(left), probability, 0.0)  # of the others: absent, or as they are
    with torch.no_grad():
        presences = [*found.presence, *torch.zeros(8, 1).double()]
        one, zero = torch.ones(()).double(), torch.zeros(()).double()
        for number, cell in enumerate(found.chosen.flat):
            before, after = presences[:number], presences[number + 1 :]
            gain = bound([*before, one, *after]) - bound([*before, zero, *after])
            best[cell] = torch.sigmoid(gain - output.foreground.cost[number] + math.log(0.999 / 0.001))
    expected = 10 * (probability - best) * 8.8 * (1 - raw.tanh().square())
    torch.testing.assert_close(heads["presence"].grad.flatten(), expected, rtol=1e-8, atol=1e-8)
    weighed = best[found.chosen.flat]
    assert ((weighed > 0.01) & (weighed < 0.99)).sum() >= 3
    assert found.chosen.explored.sum() == 3
    assert (found.presence[found.chosen.explored] == 0).all()
    assert 0 < (expected == 0).sum() < 8, "of those not weighed some wait for their turn, and some are explained"


def test_no_presence_but_the_evidence_s_has_a_gradient():
    model = small("space", grid=(4, 4))
    output = model(images(), replace(UNKNOWN, presence_by_evidence=True))
    taught, heads = output.penalties["presence_by_evidence"], model.foreground.heads
    assert (output.kl["presence"] > 0).all()
    (output.loss - taught).sum().backward(retain_graph=True)
    assert heads.z_pres_net.weight.grad is None or not heads.z_pres_net.weight.grad.any()
    assert heads.z_scale_net.weight.grad.any()
    model.zero_grad()
    taught.sum().backward()
    assert heads.z_pres_net.weight.grad.any()
    assert heads.z_scale_net.weight.grad is None, "what an object is worth is taken as it is"
