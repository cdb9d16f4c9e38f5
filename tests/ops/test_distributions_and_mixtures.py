"""Divergences, samples, masks and likelihoods."""

import math

import pytest
import torch
from torch.distributions import Bernoulli, Normal, kl_divergence

from objectspace.ops import distributions as d
from objectspace.ops import mixtures as mx

DOUBLE = torch.float64


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=DOUBLE)


def test_gaussian_kl_is_torch_s():
    mean, std, other = random(50), random(50, seed=1).exp(), random(50, seed=2)
    expected = kl_divergence(Normal(mean, std), Normal(other, 0.3))
    torch.testing.assert_close(d.gaussian_kl(mean, std, other, 0.3), expected)


@pytest.mark.parametrize("prior", [0.5, 0.01, 1e-10])
def test_bernoulli_kl_is_exact_for_tiny_priors(prior):
    logits = torch.linspace(-8.8, 8.8, 41, dtype=DOUBLE)
    expected = kl_divergence(Bernoulli(logits=logits), Bernoulli(torch.tensor(prior, dtype=DOUBLE)))
    torch.testing.assert_close(d.bernoulli_kl(logits, prior), expected, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(d.bernoulli_kl(logits.float(), prior).double(), expected, rtol=1e-5, atol=1e-5)


def test_bernoulli_kl_of_the_prior_itself_is_zero():
    logit = torch.tensor(math.log(1e-10) - math.log1p(-1e-10), dtype=DOUBLE)
    assert abs(float(d.bernoulli_kl(logit, 1e-10))) < 1e-15


def test_samples_follow_the_generator_alone():
    mean = torch.zeros(5)
    first, second = (d.sample_gaussian(mean, mean + 1, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first, second)


def test_relaxed_bernoulli_is_nearly_binary_when_cold():
    logits = torch.full((20000,), 1.0)
    cold = d.sample_relaxed_bernoulli(logits, 0.01, torch.Generator().manual_seed(0))
    assert abs(float((cold > 0.5).float().mean()) - torch.sigmoid(torch.tensor(1.0))) < 0.01
    assert float(((cold > 0.01) & (cold < 0.99)).float().mean()) < 0.05
    warm = d.sample_relaxed_bernoulli(logits * 8.8, 2.5, torch.Generator().manual_seed(0))
    assert warm.isfinite().all()


@pytest.mark.parametrize("components", [1, 2, 5])
def test_masks_sum_to_one(components):
    log_masks = mx.stick_breaking(20 * random(2, components - 1, 1, 4, 3))
    assert log_masks.shape == (2, components, 1, 4, 3)
    torch.testing.assert_close(log_masks.exp().sum(1), torch.ones(2, 1, 4, 3, dtype=DOUBLE))


def test_a_mixture_is_the_log_of_a_sum():
    images, means, masks = random(2, 3, 4, 4), random(2, 3, 3, 4, 4), torch.softmax(random(2, 3, 1, 4, 4), 1)
    expected = (masks * Normal(means, 0.4).log_prob(images[:, None]).exp()).sum(1).log()
    torch.testing.assert_close(mx.mix_components(images, means, masks.log(), 0.4), expected)
    with_epsilon = ((masks + 1e-2) * Normal(means, 0.4).log_prob(images[:, None]).exp()).sum(1).log()
    torch.testing.assert_close(mx.mix_components(images, means, masks.log(), 0.4, 1e-2), with_epsilon)


def test_a_weight_of_zero_or_one_has_a_finite_gradient():
    weight = torch.tensor([0.0, 1.0, 0.5], requires_grad=True)
    mixed = mx.mix_two(torch.tensor([-500.0, 3.0, 0.0]), torch.tensor([2.0, -500.0, 0.0]), weight)
    torch.testing.assert_close(mixed, torch.tensor([2.0, 3.0, 0.0]))
    mixed.sum().backward()
    assert weight.grad.isfinite().all()


def test_gradients():
    a, b, c = (random(3, 2, seed=seed).requires_grad_() for seed in range(3))
    check = torch.autograd.gradcheck
    assert check(lambda m, s, p: d.gaussian_kl(m, s.exp(), p, 0.5), (a, b, c))
    assert check(lambda x: d.bernoulli_kl(x, 1e-10), (a,))
    assert check(mx.stick_breaking, (a,))
    assert check(lambda x, y, w: mx.mix_two(x, y, w.sigmoid()), (a, b, c))
    assert check(lambda x, y, w: mx.mix_two(x, y, w.sigmoid(), 1e-5), (a, b, c))
    images, means, masks = random(1, 2, 2, 2), random(1, 2, 2, 2, 2).requires_grad_(), random(1, 2, 1, 2, 2)
    assert check(lambda m, k: mx.mix_components(images, m, k.log_softmax(1), 0.5), (means, masks.requires_grad_()))
    assert check(lambda x: mx.gaussian_log_density(x, 0.2, 0.7), (a,))
    assert check(lambda m, s: d.sample_gaussian(m, s, torch.Generator().manual_seed(1)), (a, b))
    assert check(lambda x: d.sample_relaxed_bernoulli(x, 0.7, torch.Generator().manual_seed(1)), (a,))
