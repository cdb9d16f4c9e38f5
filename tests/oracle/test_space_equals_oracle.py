"""The fast model and the literal transcription of the paper agree, in values and in gradients."""

import copy
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from objectspace.config import Stage
from objectspace.models.parts.background import BackgroundOutput
from objectspace.models.parts.grid import GridOutput
from objectspace.models.space import Space
from oracle import space_oracle
from oracle.agreement import assert_same, values
from oracle.choices import balanced
from oracle.small import (
    kept_cells,
    looks_behind_first,
    present_cells,
    random_images,
    small_config,
    small_model,
    turns_of,
)

STAGE = Stage(presence_prior=0.1, scale_prior_mean=-1.0, temperature=1.3, boundary_weight=0.7)
CASES = 10  # put together by chance
SIZES = [((32, 32), (4, 4)), ((32, 48), (2, 3)), ((48, 32), (6, 4)), ((16, 32), (4, 8)), ((64, 64), (1, 1))]


def assert_equal_in_values_and_gradients(
    model: Space, images: Tensor, stage: Stage, sample: bool = False, seed: int = 0
) -> GridOutput:
    slow_model = copy.deepcopy(model)
    output = model(images, stage, sample=sample, generator=torch.Generator().manual_seed(seed))
    back = output.background
    assert isinstance(back, BackgroundOutput)
    fast = values(output) | {"masks": back.masks, "means": back.means}
    noise, kept, turns = draw_noise(model, output, stage, sample, seed)
    chosen = present_cells(output.foreground.objects.chosen)
    slow = space_oracle.space(slow_model, images, stage, chosen, noise, kept, turns)
    assert_same(fast, slow, model, slow_model)
    return output


def draw_noise(
    model: Space, output: GridOutput, stage: Stage, sample: bool, seed: int
) -> tuple[dict[str, Tensor] | None, Tensor | None, Tensor | None]:
    """The random numbers the model drew, in the order in which it draws them, the cells kept, and explored by turns."""
    generator = torch.Generator().manual_seed(seed)
    count, cells = output.foreground.cells.presence.shape
    background = model.config.background

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def behind() -> dict[str, Tensor]:
        if not sample or not background.components:
            return {}
        return {
            "mask": torch.stack([normal(count, background.mask_dim) for _ in range(background.components)]),
            "component": normal(count, background.components, background.component_dim),
        }

    first = looks_behind_first(stage)
    noise = behind() if first else {}
    kept = kept_cells(count, cells, stage.dropped_cells, generator)
    if sample:
        noise |= {
            "presence": torch.rand(count, cells, generator=generator, dtype=torch.float64),
            "depth": normal(count, cells, 1),
            "scale": normal(count, cells, 2),
            "shift": normal(count, cells, 2),
        }
    objects = output.foreground.objects
    turns = turns_of(count, cells, stage, objects.chosen, generator)
    if not sample:
        return None, kept, turns
    noise["what"] = normal(len(objects.where), model.config.foreground.what_dim)
    return noise | ({} if first else behind()), kept, turns


CHOICES = {
    "size": SIZES,
    "count": [1, 2, 3],
    "components": [1, 2, 3],
    "glimpse": [8, 16],
    "spread": [0.5, 3.0, 8.0],
    "budget": [None, 1, 3],
    "threshold": [0.0, 0.4],
    "give_way": [0.0, 0.2],
    "fraction": [1, 2],
    "weighted": [False, True],
    "training": [False, True],
    "sample": [False, True],
    "seed": range(CASES),
}


@pytest.mark.parametrize(list(CHOICES), balanced(CASES, **CHOICES))
def test_random_configurations(
    size, count, components, glimpse, spread, budget, threshold, give_way, fraction, weighted, training, sample, seed
):
    foreground = {
        "glimpse": glimpse,
        "budget": budget,
        "presence_threshold": threshold,
        "give_way": give_way,
        "presence_weighted_kl": weighted,
    }
    config = small_config(size[0], size[1], foreground, {"components": components, "fraction": fraction})
    model = small_model(config, seed, spread).train(training)
    assert_equal_in_values_and_gradients(model, random_images(count, size[0], seed), STAGE, sample, seed)


@pytest.mark.slow
@pytest.mark.parametrize("training", [False, True])
def test_a_background_that_reads_smaller_images(training):
    config = small_config((64, 32), (8, 4), background={"components": 2, "fraction": 2, "input_fraction": 2})
    model = small_model(config).train(training)
    assert_equal_in_values_and_gradients(model, random_images(2, (64, 32), 5), STAGE, sample=True, seed=5)


def test_the_stage_may_narrow_the_scale_prior():
    model = small_model(small_config())
    narrow = replace(STAGE, scale_prior_std=0.05)
    output = assert_equal_in_values_and_gradients(model, random_images(2, (32, 32), 6), narrow)
    assert (output.kl["scale"] > model(random_images(2, (32, 32), 6), STAGE, sample=False).kl["scale"]).all()


def set_bias(model: Space, head: str, *bias: float) -> None:
    with torch.no_grad():
        getattr(model.foreground.heads, head).bias.copy_(torch.tensor(bias))


def test_boxes_far_larger_than_the_image_and_all_overlapping():
    model = small_model(small_config())
    set_bias(model, "z_scale_net", 4, 4, 0, 0)
    assert_equal_in_values_and_gradients(model, random_images(2, (32, 32), 1), STAGE)


def test_boxes_smaller_than_a_pixel():
    model = small_model(small_config())
    set_bias(model, "z_scale_net", -7, -7, 0, 0)
    assert_equal_in_values_and_gradients(model, random_images(2, (32, 32), 2), STAGE)


@pytest.mark.parametrize("direction", [-4.0, 4.0])
def test_boxes_partly_and_wholly_outside_the_image(direction):
    model = small_model(small_config())
    set_bias(model, "z_scale_net", -4, -4, 0, 0)
    set_bias(model, "z_shift_net", direction, direction, 0, 0)
    output = assert_equal_in_values_and_gradients(model, random_images(2, (32, 32), 3), STAGE)
    assert (output.foreground.cells.where[..., 2:].abs() > 1).any()


def test_no_object_at_all():
    model = small_model(small_config(foreground={"presence_threshold": 0.5}))
    set_bias(model, "z_pres_net", -9)
    output = assert_equal_in_values_and_gradients(model, random_images(2, (32, 32), 4), STAGE)
    assert len(output.foreground.objects.where) == 0
    assert (output.alpha == 0).all()


def test_every_object_present():
    model = small_model(small_config(foreground={"presence_threshold": 0.5}))
    set_bias(model, "z_pres_net", 9)
    output = assert_equal_in_values_and_gradients(model, random_images(2, (32, 32), 5), STAGE)
    assert len(output.foreground.objects.where) == 2 * 16


def test_fixed_alpha():
    stage = Stage(presence_prior=1e-10, scale_prior_mean=-2, temperature=0.5, fixed_alpha=0.2)
    assert_equal_in_values_and_gradients(small_model(small_config()), random_images(2, (32, 32), 6), stage)


def test_annealed_sigmas():
    stage = replace(STAGE, foreground_sigma=0.09, background_sigma=0.12)
    assert_equal_in_values_and_gradients(small_model(small_config()), random_images(2, (32, 32), 6), stage)


@pytest.mark.parametrize("unknown", [0.0, 0.1])
def test_the_background_learns_alone(unknown):
    model = small_model(small_config()).train()
    slow_model, images = copy.deepcopy(model), random_images(2, (32, 32), 9)
    stage = replace(STAGE, background_only=True, background_sigma=0.09, unknown=unknown)
    output = model(images, stage, sample=False)
    parts, kl = space_oracle.background(slow_model, images, None, sigma=0.09)
    loss = -space_oracle.bound_of_the_background(parts["log_density"].exp(), kl, stage)
    torch.testing.assert_close(output.loss, loss, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(output.reconstruction, (parts["masks"] * parts["means"]).sum(1), rtol=1e-9, atol=1e-9)
    output.loss.mean().backward()
    loss.mean().backward()
    for (name, left), right in zip(model.named_parameters(), slow_model.parameters(), strict=True):
        if name.startswith("foreground."):
            assert left.grad is None, name
        elif right.grad is not None:
            torch.testing.assert_close(left.grad, right.grad, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("options", [{"strong_decoder": True, "components": 1}, {"prior_from_state": True}])
def test_options_of_the_background(options):
    model = small_model(small_config(background=options)).train()
    assert_equal_in_values_and_gradients(model, random_images(2, (32, 32), 7), STAGE, sample=True)


def test_epsilon_in_the_mixture():
    model = small_model(small_config(mixture_epsilon=1e-5))
    assert_equal_in_values_and_gradients(model, random_images(2, (32, 32), 8), STAGE)


@pytest.mark.parametrize("from_state", [False, True])
def test_background_generation(from_state):
    model = small_model(small_config(background={"prior_from_state": from_state})).eval()
    means, log_masks = model.background.generate(2, torch.Generator().manual_seed(3))
    generator = torch.Generator().manual_seed(3)
    noise = {
        "mask": torch.stack([torch.randn(2, 3, generator=generator, dtype=torch.float64) for _ in range(3)]),
        "component": torch.randn(2, 3, 4, generator=generator, dtype=torch.float64),
    }
    masks, expected = space_oracle.generate_background(model, noise)
    torch.testing.assert_close(log_masks.exp(), masks, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(means, expected, rtol=1e-9, atol=1e-9)
