"""SPACE as a module: invariants, options, starts."""

import copy
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from pydantic import ValidationError

from objectspace.config import Anneal, Stage
from objectspace.models import Space, create
from objectspace.models.parts.cells import choose
from objectspace.models.parts.settings import InitConfig
from objectspace.models.space import SpaceConfig as Config
from objectspace.ops.distributions import bernoulli_kl
from oracle.small import small_config, small_model

STAGE = Stage(presence_prior=0.1, scale_prior_mean=-1.0, temperature=1.0, boundary_weight=1.0)


def terms(output):
    return {"log_likelihood": output.log_likelihood, **output.kl, **output.penalties}


def test_terms_are_per_image_and_the_loss_is_their_sum():
    output = create(small_config())(torch.rand(3, 3, 32, 32), STAGE)
    assert all(term.shape == (3,) for term in terms(output).values())
    expected = -output.log_likelihood + sum(output.kl.values()) + output.penalties["boundary"]
    torch.testing.assert_close(output.loss, expected)


def test_the_paper_s_defaults_make_the_published_model():
    shapes = json.loads((Path(__file__).parents[1] / "data/official/official_checkpoint_keys.json").read_text())
    no_parameters = ("tau", "fg_module.prior_", "offset", "boundary_filter", "running_", "num_batches")
    published = [shape for name, shape in shapes.items() if not any(part in name for part in no_parameters)]
    with torch.device("meta"):
        model = Space(Config())
    assert sum(p.numel() for p in model.parameters()) == sum(math.prod(shape) for shape in published)
    assert model.config.foreground.grid == (16, 16)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["random", "black", "white", "constant", "noise at the edges of the range"])
def test_terms_are_finite_over_many_inputs(kind):
    model = create(small_config((16, 16), (2, 2), foreground={"sigma": 0.05}, background={"sigma": 0.05})).train()
    generator = torch.Generator().manual_seed(1)
    for _ in range(10):
        images = {
            "random": torch.rand(20, 3, 16, 16, generator=generator),
            "black": torch.zeros(20, 3, 16, 16),
            "white": torch.ones(20, 3, 16, 16),
            "constant": torch.rand(20, 3, 1, 1, generator=generator).expand(-1, -1, 16, 16),
            "noise at the edges of the range": torch.rand(20, 3, 16, 16, generator=generator).round(),
        }[kind]
        output = model(images, STAGE, generator=generator)
        assert all(term.isfinite().all() for term in terms(output).values())
        model.zero_grad()
        output.loss.mean().backward()
        assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
        assert (output.background.masks.sum(1) - 1).abs().max() < 1e-5
        assert output.alpha.min() >= 0
        assert output.alpha.max() <= 1 + 1e-5


def test_a_batch_of_one():
    output = create(small_config()).train()(torch.rand(1, 3, 32, 32), STAGE)
    assert output.reconstruction.shape == (1, 3, 32, 32)


@pytest.mark.parametrize("options", [{}, {"budget": 3, "presence_threshold": 0.3}])
def test_an_image_is_seen_the_same_alone_and_in_company(options):
    model = small_model(small_config(foreground=options)).eval()
    images = torch.rand(4, 3, 32, 32, dtype=torch.float64)
    together = model(images, STAGE, sample=False)
    for number in range(4):
        alone = model(images[number : number + 1], STAGE, sample=False)
        torch.testing.assert_close(alone.reconstruction[0], together.reconstruction[number], rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(alone.loss[0], together.loss[number], rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(alone.background.masks[0], together.background.masks[number], rtol=1e-12, atol=1e-12)


def test_forward_changes_no_state_in_evaluation():
    model = create(small_config()).eval()
    before = copy.deepcopy(model.state_dict())
    model(torch.rand(2, 3, 32, 32), STAGE)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_randomness_comes_from_the_generator_alone():
    model, images = create(small_config()).eval(), torch.rand(2, 3, 32, 32)
    state = torch.random.get_rng_state()
    first, second = (model(images, STAGE, generator=torch.Generator().manual_seed(5)).loss for _ in range(2))
    assert torch.equal(first, second)
    assert torch.equal(state, torch.random.get_rng_state())
    assert not torch.equal(first, model(images, STAGE, generator=torch.Generator().manual_seed(6)).loss)


def test_creating_a_model_leaves_the_global_random_state_alone():
    state = torch.random.get_rng_state()
    first, second, other = (create(small_config(), seed=seed) for seed in (1, 1, 2))
    assert torch.equal(state, torch.random.get_rng_state())
    weights = [model.foreground.encoder.enc[0].weight for model in (first, second, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize(("rows", "columns"), [(1, 2), (2, 4), (4, 8), (8, 16), (16, 32)])
def test_every_grid_puts_each_cell_s_object_into_that_cell(rows, columns):
    model = create(small_config((64, 128), (rows, columns), {"budget": 2}))
    with torch.no_grad():
        for parameter in model.foreground.heads.z_shift_net.parameters():
            parameter.zero_()
    where = model(torch.rand(1, 3, 64, 128), STAGE, sample=False).foreground.cells.where
    x, y = 2 * (torch.arange(columns) + 0.5) / columns - 1, 2 * (torch.arange(rows) + 0.5) / rows - 1
    middles = torch.stack([x.repeat(rows), y.repeat_interleave(columns)], 1)  # of the cells, row by row
    torch.testing.assert_close(where[0, :, 2:], middles, atol=1e-5, rtol=0)


@pytest.mark.parametrize("glimpse", [8, 16, 32, 64])
def test_every_glimpse_size(glimpse):
    model = create(small_config(foreground={"glimpse": glimpse}))
    output = model(torch.rand(1, 3, 32, 32), STAGE)
    output.loss.mean().backward()
    assert output.foreground.objects.alpha.shape == (16, 1, glimpse, glimpse)
    assert all(parameter.grad.isfinite().all() for parameter in model.foreground.glimpse_encoder.parameters())


def test_fractions_of_the_resolution():
    for fraction in (1, 2, 4, 8):
        output = create(small_config((32, 48), (4, 6), background={"fraction": fraction}))(
            torch.rand(2, 3, 32, 48), STAGE
        )
        assert output.background.means.shape == (2, 3, 3, 32, 48)
        torch.testing.assert_close(output.background.masks.sum(1), torch.ones(2, 1, 32, 48))


def test_the_budget_takes_the_most_present():
    presence = torch.tensor([[0.1, 0.9, 0.5, 0.7], [0.2, 0.1, 0.05, 0.3]])
    assert choose(presence, 2, 0.0).flat.tolist() == [1, 3, 4, 7]
    assert choose(presence, 2, 0.25).flat.tolist() == [1, 3, 7]
    assert choose(presence, None, 0.95).flat.tolist() == []
    assert choose(presence, 9, 0.0).mask is None


def test_heads_start_at_their_priors():
    config, anneal = small_config(init=InitConfig(weight_factor=1e-6)), Anneal(scale_prior_mean=-1.7)
    output = create(config, anneal)(torch.rand(2, 3, 32, 32), anneal.at(0), sample=False)
    cells = output.foreground.cells
    torch.testing.assert_close(cells.scale.mean, torch.full_like(cells.scale.mean, -1.7), atol=1e-3, rtol=0)
    torch.testing.assert_close(cells.scale.std, torch.full_like(cells.scale.std, 0.1), atol=1e-3, rtol=0)
    assert output.kl["scale"].max() < 0.01
    assert cells.probability.min() > 0.9
    assert output.foreground.objects.alpha.mean() < 0.3


def test_heads_may_start_as_torch_starts_them():
    output = create(small_config(init=InitConfig(heads="default")))(
        torch.rand(2, 3, 32, 32), Anneal().at(0), sample=False
    )
    assert output.kl["scale"].min() > 10


def test_stages():
    anneal = Anneal(boundary="(0 -> 1):(10 -> 10) then (1 -> 0):(20 -> 20)", fixed_alpha=0.2, fixed_alpha_steps=5)
    assert anneal.at(4).fixed_alpha == 0.2
    assert anneal.at(5).fixed_alpha is None
    held = Anneal(fixed_alpha="(1e-30 -> 0.5):(9 -> 10)", fixed_alpha_steps=20)
    assert [held.at(step).fixed_alpha for step in (9, 10, 20)] == [1e-30, 0.5, None]
    alone = Anneal(background_first=3, foreground_sigma="(0.5 -> 0.25):(0 -> 4)")
    assert [alone.at(step).background_only for step in (0, 2, 3)] == [True, True, False]
    assert (alone.at(2).foreground_sigma, alone.final().foreground_sigma) == (0.375, 0.25)
    assert not alone.final().background_only
    assert [anneal.at(step).boundary_weight for step in (9, 10, 19, 20)] == [0, 1, 1, 0]
    assert anneal.final() == Stage(presence_prior=0.01, scale_prior_mean=-2.0, temperature=0.5)


def test_parameter_groups_hold_every_parameter_once():
    model = create(small_config())
    groups = model.parameter_groups()
    assert groups.keys() == {"foreground", "background"}
    held = [id(parameter) for group in groups.values() for parameter in group]
    assert sorted(held) == sorted(id(parameter) for parameter in model.parameters())


@pytest.mark.parametrize("dense", [(), (8, 6)], ids=["convolutions", "dense"])
def test_what_starts_as_narrow_and_alpha_as_opaque_as_they_are_told(dense):
    init = {"what_std": 0.05, "weight_factor": 1e-6, "alpha_bias": 3.0}
    model = create(small_config((32, 32), (4, 4), foreground={"dense": dense}, init=init))
    found = model(torch.rand(1, 3, 32, 32), sample=False).foreground.objects
    assert found.what_posterior.std.sub(0.05).abs().max() < 1e-4
    assert (model.foreground.glimpse_decoder.dec_alpha.bias == 3).all()
    assert found.alpha.mean() > 0.9


def test_where_something_moves_an_object_is_likelier():
    model, images = Space.create(small_config()), torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    stage = Stage(presence_prior=0.01, scale_prior_mean=-2.0, temperature=1.0, motion_prior=0.6)
    motion = torch.zeros(2, 32, 32, dtype=torch.bool)
    motion[0, 0, 32 // model.config.foreground.grid[1]] = True  # a pixel of the second cell
    plain = model(images, stage, sample=False)
    logits = plain.foreground.cells.presence_logits
    expected = plain.kl["presence"].clone()
    expected[0] += (bernoulli_kl(logits, 0.6) - bernoulli_kl(logits, 0.01))[0, 1]
    torch.testing.assert_close(model(images, stage, sample=False, motion=motion).kl["presence"], expected)
    still = model(images, replace(stage, motion_prior=None), sample=False, motion=motion)
    torch.testing.assert_close(still.kl["presence"], plain.kl["presence"])


@pytest.mark.parametrize("way", ["plane", "palette"])
@pytest.mark.parametrize("other", ["flat", "strong_decoder"])
def test_a_component_that_is_drawn_in_two_ways_is_refused(way, other):
    with pytest.raises(ValidationError, match="plane, flat and strong_decoder are ways to draw"):
        small_config(background={way: True, other: True})


def test_a_palette_whose_latents_hold_no_colour_is_refused():
    with pytest.raises(ValidationError, match="component_dim = 2 cannot hold a colour"):
        small_config(background={"palette": True, "component_dim": 2})


def test_a_palette_starts_with_the_colours_of_the_image():
    """Before any training: every component draws what its mask sees, and not what the nets happen to say."""
    model = create(small_config(background={"palette": True}), seed=0).eval()
    colours = torch.rand(4, 3, 1, 1, generator=torch.Generator().manual_seed(0))
    pictures = (0.1 + 0.8 * colours).expand(-1, -1, *model.config.image_size)
    means = model(pictures, sample=False).background.means
    torch.testing.assert_close(means, pictures[:, None].expand_as(means), atol=0.05, rtol=0)
