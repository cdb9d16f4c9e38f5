"""GENESIS and IODINE agree with their literal computation, in values and in gradients."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from objectspace.models import SceneModel
from objectspace.models.parts.mixture import MixtureOutput
from oracle import mixtures
from oracle.agreement import assert_same
from oracle.mixtures import small_genesis, small_iodine, small_mixture


@pytest.fixture(autouse=True)
def float64() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def values(output: MixtureOutput) -> dict[str, Tensor]:
    return {
        "reconstruction": output.reconstruction,
        "log_likelihood": output.log_likelihood,
        **{f"kl_{name}": term for name, term in output.kl.items()},
        "elbo": output.elbo,
        "loss": output.loss,
        "means": output.means,
        "masks": output.masks,
    }


def assert_equal(model: SceneModel, slow: Callable[..., dict[str, Tensor]], images: Tensor, noise: Any) -> None:
    slow_model = copy.deepcopy(model)
    output = model(images, sample=noise is not None, generator=torch.Generator().manual_seed(7))
    fast, expected = values(output), slow(slow_model, images, noise)
    assert_same(fast, expected, model, slow_model)


def pictures(count: int, size: tuple[int, int]) -> Tensor:
    return torch.rand(count, 3, *size, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("sample", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"components": 1},
        {"components": 2, "fraction": 2, "image_size": (32, 48), "sigma": 0.3},
        {"image_size": (32, 64), "input_fraction": 2, "prior_from_state": True},
        {"geco": {"goal": 0.2}, "prior_std": "softplus"},
    ],
)
def test_genesis(options: dict[str, Any], sample: bool, training: bool) -> None:
    config = small_genesis(**options)
    model = small_mixture(config).train(training)
    if config.geco.goal is not None:
        model.after_step({"log_likelihood": -1e4})
        assert float(model.beta) != 1
    generator = torch.Generator().manual_seed(7)
    chain = [torch.randn(2, config.mask_dim, generator=generator) for _ in range(config.components)]
    component = torch.randn(2, config.components, config.component_dim, generator=generator)
    noise = {"mask": torch.stack(chain), "component": component} if sample else None
    assert_equal(model, mixtures.genesis, pictures(2, config.image_size), noise)


@pytest.mark.parametrize("sample", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"components": 2, "refinements": 1},
        {"components": 4, "fraction": 2, "image_size": (20, 31), "sigma": 0.5},
        {"image_size": (32, 16), "input_fraction": 2, "refinements": 3, "decoder_channels": (4,)},
        {"squashed": True, "whole_pixels": False, "start_counts": True},
    ],
)
def test_iodine(options: dict[str, Any], sample: bool) -> None:
    config = small_iodine(**options)
    generator, count = torch.Generator().manual_seed(7), 2 * config.components
    steps = [torch.randn(count, config.slot_dim, generator=generator) for _ in range(config.refinements + 1)]
    noise = torch.stack(steps).view(-1, 2, config.components, config.slot_dim) if sample else None
    assert_equal(small_mixture(config), mixtures.iodine, pictures(2, config.image_size), noise)
