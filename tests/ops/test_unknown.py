"""The unknown: a pixel that is explained by nobody."""

import math

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal

from objectspace.ops import compositing
from objectspace.ops import mixtures as mx

DOUBLE = torch.float64


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=DOUBLE)


@pytest.mark.parametrize("unknown", [1e-6, 0.1, 0.9])
def test_a_pixel_is_explained_by_its_channels_together_or_by_nobody(unknown):
    density = 3 * random(2, 3, 4, 5)
    expected = torch.log((1 - unknown) * density.prod(1) + unknown)
    torch.testing.assert_close(mx.with_unknown(density.log(), unknown), expected)


def test_without_the_unknown_there_is_the_sum_over_channels_bit_for_bit():
    log_density = 50 * random(2, 3, 4, 5) - 25
    assert torch.equal(mx.with_unknown(log_density, 0.0), log_density.sum(1))
    assert not mx.share_of_unknown(log_density.sum(1), 0.0).any()


def test_the_share_of_the_unknown_is_its_posterior():
    density = 3 * random(2, 3, 4, 5)
    share = mx.share_of_unknown(mx.with_unknown(density.log(), 0.2), 0.2)
    torch.testing.assert_close(share, 0.2 / (0.8 * density.prod(1) + 0.2))


@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
def test_a_pixel_far_from_everything_costs_the_unknown_s_price_and_teaches_nothing(dtype):
    log_density = torch.full((1, 3, 1, 1), -1e4, dtype=dtype, requires_grad=True)
    pixel = mx.with_unknown(log_density, 0.05)
    pixel.sum().backward()
    pixel = pixel.detach()
    assert float(pixel) == pytest.approx(math.log(0.05))
    assert float(mx.share_of_unknown(pixel, 0.05)) == pytest.approx(1.0)
    assert log_density.grad is not None
    assert (log_density.grad == 0).all()


def grid(side: int, channels: int) -> Tensor:
    """The middles of side ** channels cells of [0, 1] ** channels: (1, C, side, ...), its last axes folded into one."""
    axis = (torch.arange(side, dtype=DOUBLE) + 0.5) / side
    return torch.stack(torch.meshgrid(*[axis] * channels, indexing="ij")).reshape(1, channels, side, -1)


@pytest.mark.parametrize(("channels", "side"), [(1, 4000), (3, 80)])
def test_the_density_of_a_pixel_with_the_unknown_integrates_to_at_most_one(channels, side):
    """On colours in [0, 1]: the unknown's share and what of the others lies there; outside only the others have any."""
    unknown, alpha, sigmas = 0.1, 0.3, (0.1, 0.2)
    colour, back = torch.tensor([0.2, 0.9, 0.5], dtype=DOUBLE), torch.tensor([0.95, 0.4, 0.1], dtype=DOUBLE)
    points = grid(side, channels)
    shape = (1, channels, 1, 1)
    behind = mx.gaussian_log_density(points, back[:channels].view(shape), sigmas[1])
    weight = torch.full_like(points[:, :1], alpha)
    log_pixel = mx.mix_pixels(
        points, colour[:channels].view(shape).expand_as(points), weight, behind, sigmas[0], unknown
    )
    integral = float(log_pixel.exp().mean())

    def inside(mean: Tensor, sigma: float) -> Tensor:
        normal = Normal(mean[:channels], sigma)
        return normal.cdf(torch.ones(channels, dtype=DOUBLE)) - normal.cdf(torch.zeros(channels, dtype=DOUBLE))

    known = alpha * inside(colour, sigmas[0]) + (1 - alpha) * inside(back, sigmas[1])
    assert integral == pytest.approx(unknown + (1 - unknown) * float(known.prod()), abs=1e-4)
    assert integral <= 1


def test_objects_over_what_is_behind_or_nobody_s():
    images, colour, alpha, back = (
        random(2, 3, 4, 4),
        random(2, 3, 4, 4, seed=1),
        random(2, 1, 4, 4, seed=2),
        random(2, 3, 4, 4, seed=3),
    )
    known = (alpha + 1e-3) * Normal(colour, 0.2).log_prob(images).exp() + (1 - alpha + 1e-3) * back
    expected = torch.log(0.7 * known.prod(1) + 0.3)
    torch.testing.assert_close(mx.mix_pixels(images, colour, alpha, back.log(), 0.2, 0.3, 1e-3), expected)


def test_gradients():
    log_density, alpha = random(1, 3, 2, 2).log().requires_grad_(), random(1, 1, 2, 2).requires_grad_()
    images, colour = random(1, 3, 2, 2, seed=1), random(1, 3, 2, 2, seed=2).requires_grad_()
    assert torch.autograd.gradcheck(lambda density: mx.with_unknown(density, 0.1), (log_density,))
    assert torch.autograd.gradcheck(
        lambda colour, alpha, behind: mx.mix_pixels(images, colour, alpha, behind, 0.3, 0.1),
        (colour, alpha, log_density),
    )


def test_colour_is_what_was_premultiplied_and_black_where_there_is_nothing():
    colour, alpha = random(2, 3, 4, 4), random(2, 1, 4, 4, seed=1)
    alpha[0] = 0
    alpha.requires_grad_()
    found = compositing.colour_of(colour * alpha, alpha)
    torch.testing.assert_close(found[1], colour[1])
    assert not found[0].any()
    found.sum().backward()
    assert alpha.grad is not None
    assert alpha.grad.isfinite().all()
