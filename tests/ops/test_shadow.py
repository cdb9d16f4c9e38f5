import math

import torch
from torch import Tensor
from torch.distributions import Normal

from objectspace.ops.mixtures import DARKEST, LEVELS, in_shadow, mix_components, mix_shaded

SIGMA, SHARE = 0.1, 0.2


def _scene() -> tuple[Tensor, Tensor, Tensor]:
    """Images that are partly the ground, partly darker, partly something else: images, ground, plain log density."""
    generator = torch.Generator().manual_seed(0)
    ground = 0.2 + 0.8 * torch.rand(2, 3, 4, 5, generator=generator, dtype=torch.float64)
    light = torch.ones(2, 1, 4, 5, dtype=torch.float64)
    light[:, :, 1] = 0.5
    images = ground * light + 0.05 * torch.randn(2, 3, 4, 5, generator=generator, dtype=torch.float64)
    images[:, :, 2] = torch.rand(2, 3, 5, generator=generator, dtype=torch.float64)
    return images, ground, Normal(ground, SIGMA).log_prob(images)


def _all_ways(images: Tensor, ground: Tensor) -> Tensor:
    """log p of every pixel in the light and at every shade, with its prior: (1 + LEVELS, B, H, W)."""
    ways = [Normal(ground, SIGMA).log_prob(images).sum(1) + math.log(1 - SHARE)]
    for level in range(LEVELS):
        shade = DARKEST + (1 - DARKEST) * level / LEVELS
        ways.append(Normal(shade * ground, SIGMA).log_prob(images).sum(1) + math.log(SHARE / LEVELS))
    return torch.stack(ways)


def test_the_likeliest_of_light_and_all_shades_is_taken() -> None:
    images, ground, plain = _scene()
    ways = _all_ways(images, ground)
    torch.testing.assert_close(in_shadow(images, ground, plain, SIGMA, SHARE).sum(1), ways.max(0).values)
    assert (ways.argmax(0)[:, 1] > 0).all()  # the dark row lies in shadow


def test_it_bounds_the_sum_over_light_and_shades_from_below() -> None:
    images, ground, plain = _scene()
    assert (in_shadow(images, ground, plain, SIGMA, SHARE).sum(1) <= _all_ways(images, ground).logsumexp(0)).all()


def test_without_shadow_nothing_changes() -> None:
    images, ground, plain = _scene()
    assert in_shadow(images, ground, plain, SIGMA, 0.0) is plain
    means, log_masks = ground[:, None], torch.zeros_like(ground[:, None, :1])
    assert torch.equal(
        mix_shaded(images, means, log_masks, SIGMA, 0.0), mix_components(images, means, log_masks, SIGMA)
    )


def test_the_ground_in_shadow_is_that_of_all_components() -> None:
    images, ground, _ = _scene()
    means = torch.stack([ground, ground.flip(1)], dim=1)
    log_masks = torch.tensor([0.7, 0.3], dtype=torch.float64).log().view(1, 2, 1, 1, 1).expand(2, 2, 1, 4, 5)
    plain = mix_components(images, means, log_masks, SIGMA)
    mixed = 0.7 * ground + 0.3 * ground.flip(1)
    shaded = mix_shaded(images, means, log_masks, SIGMA, SHARE)
    torch.testing.assert_close(shaded, in_shadow(images, mixed, plain, SIGMA, SHARE))


def test_its_gradient_reaches_the_ground() -> None:
    images, ground, _ = _scene()

    def density(ground: Tensor) -> Tensor:
        return in_shadow(images, ground, Normal(ground, SIGMA).log_prob(images), SIGMA, SHARE)

    assert torch.autograd.gradcheck(density, ground.clone().requires_grad_())
