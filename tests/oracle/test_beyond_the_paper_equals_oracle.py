"""What goes beyond the paper equals its literal transcription too, in values and in gradients, for SPACE and SPAIR."""

import copy
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from objectspace.config import Stage
from objectspace.models.parts.grid import GridModel, GridOutput
from objectspace.ops.distributions import bernoulli_kl
from oracle import space_oracle
from oracle import test_space_equals_oracle as for_space
from oracle import test_spair_equals_oracle as for_spair
from oracle.small import small_config, small_model
from oracle.small_spair import sequential_model, small_spair, small_spair_p

STAGE = Stage(presence_prior=0.1, scale_prior_mean=-1.0, temperature=1.3, boundary_weight=0.7)
UNKNOWN = replace(STAGE, unknown=0.1)
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
    "everything": replace(
        STAGE,
        unknown=0.2,
        foreground_sigma=0.12,
        background_sigma=0.2,
        explained_prior=0.01,
        own_background=True,
        dropped_cells=0.3,
        presence_by_evidence=True,
    ),
}


def small(kind: str, grid: tuple[int, int] = (2, 2), seed: int = 0, **foreground: Any) -> GridModel:
    if kind == "space":
        return small_model(small_config(grid=grid, foreground=foreground), seed)
    return sequential_model(small_spair(grid=grid, foreground=foreground), seed)


def images(count: int = 2, size: tuple[int, int] = (32, 32), seed: int = 1) -> Tensor:
    """Noise, half of it faint: a background can explain some of it."""
    pictures = for_space.random_images(count, size, seed)
    pictures[:, :, : size[0] // 2] = 0.5 + 0.1 * (pictures[:, :, : size[0] // 2] - 0.5)
    return pictures


def assert_equal(model: GridModel, pictures: Tensor, stage: Stage, sample: bool = False, seed: int = 0) -> GridOutput:
    check = for_space if model.config.kind == "space" else for_spair
    return check.assert_equal_in_values_and_gradients(model, pictures, stage, sample, seed)


@both
@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES.keys())
def test_stages(kind, stage):
    output = assert_equal(small(kind), images(), stage, sample=True, seed=3)
    assert (
        ((output.unexplained > 0) & (output.unexplained < 1)).all() if stage.unknown else not output.unexplained.any()
    )


@both
@pytest.mark.parametrize(("stage", "sample"), [(STAGE, False), (STAGES["everything"], True)], ids=["paper", "beyond"])
@pytest.mark.parametrize(
    "foreground", [{"premultiplied": False}, {"margin": 0.3}, {"premultiplied": False, "margin": 0.15}], ids=str
)
def test_colour_divided_by_alpha_and_a_margin(kind, sample, stage, foreground):
    assert_equal(small(kind, **foreground), images(), stage, sample, seed=4)


@both
def test_a_budget_and_a_threshold_of_what_is_not_dropped(kind):
    model = small(kind, grid=(4, 4), budget=5, presence_threshold=0.3, presence_weighted_kl=False)
    output = assert_equal(model, images(3), STAGES["everything"], sample=True, seed=5)
    assert 0 < len(output.foreground.objects.where) <= 15


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
        model.background.pictures.copy_(for_space.random_images(background["stills"], (32, 32), 8))
    pictures = images(3)
    pictures[1:] = (model.background.pictures[-1] + 0.05 * for_space.random_images(2, (32, 32), 9)).detach()
    output = assert_equal(model.train(training), pictures, stage, sample=training, seed=7)
    assert (output.kl["still"] == torch.tensor(background["stills"], dtype=torch.float64).log()).all()
    assert (output.kl.keys() >= {"mask", "component"}) == (background.get("components", 3) > 0)


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
    """By brute force: the bound with the object less the bound without it, less its latents, clamped; and the KL."""
    model, pictures, seed = small("space", grid=(4, 4), premultiplied=False), images(1), 2
    heads: dict[str, Tensor] = {}
    stage = replace(UNKNOWN, presence_by_evidence=True)

    def keep(module, inputs, output):
        output.retain_grad()
        heads["presence"] = output

    model.foreground.heads.z_pres_net.register_forward_hook(keep)
    output = model(pictures, stage, generator=torch.Generator().manual_seed(seed))
    output.loss.sum().backward()
    raw = heads["presence"].detach().flatten()
    logits, found = 8.8 * raw.tanh(), output.foreground.objects
    drawn = list(zip(found.picture, found.alpha, found.frame, found.depth.unsqueeze(1), strict=True))
    density, expected, clamped = output.background.log_density.exp()[0], torch.zeros_like(raw), 0

    def bound(presences: list[Tensor]) -> Tensor:
        picture, alpha = space_oracle.lay(drawn, presences, (32, 32))
        mean = space_oracle.mean_of(picture, alpha, premultiplied=False)
        return space_oracle.log_pixels(model, pictures[0], mean, alpha, density, stage).sum()

    with torch.no_grad():
        presences = list(found.presence)
        for i in range(16):
            one, zero = torch.ones_like(presences[i]), torch.zeros_like(presences[i])
            gain = bound([*presences[:i], one, *presences[i + 1 :]]) - bound(
                [*presences[:i], zero, *presences[i + 1 :]]
            )
            worth = (gain - output.foreground.cost[i]).clamp(-200, 200)
            clamped += int(abs(worth) == 200)
            probability = logits[i].sigmoid()
            expected[i] = -worth * probability * (1 - probability)
    with torch.enable_grad():
        free = logits.clone().requires_grad_()
        bernoulli_kl(free, stage.presence_prior).sum().backward()
    expected = (expected + free.grad) * 8.8 * (1 - raw.tanh().square())
    torch.testing.assert_close(heads["presence"].grad.flatten(), expected, rtol=1e-8, atol=1e-8)
    assert 0 < clamped < 16


def test_no_presence_but_the_evidence_s_has_a_gradient():
    model = copy.deepcopy(small("space", grid=(4, 4)))
    output = model(images(), replace(UNKNOWN, presence_by_evidence=True))
    rest = output.loss - output.penalties["presence_by_evidence"] - output.kl["presence"]
    rest.sum().backward()
    assert (
        model.foreground.heads.z_pres_net.weight.grad is None or not model.foreground.heads.z_pres_net.weight.grad.any()
    )
    assert model.foreground.heads.z_scale_net.weight.grad.any()
