"""Distributions of the latents: divergences in forms that stay exact, and samples that take a generator.

The functions are elementwise, and whoever calls sums up; a `Gaussian` sums over its own dimensions.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

LEAST_STD = 1e-4  # added to the stdevs of components' latents, so that none vanishes
NEARLY_ONE = 4.0  # before a sigmoid


@dataclass(frozen=True)
class Gaussian:
    """A diagonal Gaussian and the value that was taken from it."""

    mean: Tensor  # (..., D)
    std: Tensor
    value: Tensor

    def kl(self, mean: Tensor | float, std: Tensor | float) -> Tensor:
        """KL against N(mean, std), summed over D: (...)."""
        return gaussian_kl(self.mean, self.std, mean, std).sum(-1)


def gaussian(
    parameters: Tensor,
    sample: bool,
    generator: torch.Generator | None,
    least_std: float = 0.0,
    noise: Tensor | None = None,
) -> Gaussian:
    """A Gaussian from mean and raw stdev (..., 2D), sampled or at its mean; `noise` (..., D) has been drawn before."""
    mean, raw = parameters.chunk(2, dim=-1)
    std = F.softplus(raw) + least_std
    return Gaussian(mean, std, sample_gaussian(mean, std, generator, noise) if sample else mean)


def bounded_gaussian(parameters: Tensor, sample: bool, generator: torch.Generator | None) -> Gaussian:
    """The same with a stdev between LEAST_STD and a little more than one, and near one at first: GENESIS's priors."""
    mean, raw = parameters.chunk(2, dim=-1)
    std = torch.sigmoid(raw + NEARLY_ONE) + LEAST_STD
    return Gaussian(mean, std, sample_gaussian(mean, std, generator) if sample else mean)


def gaussian_kl(mean: Tensor, std: Tensor, prior_mean: Tensor | float, prior_std: Tensor | float) -> Tensor:
    """KL(N(mean, std) || N(prior_mean, prior_std))."""
    ratio = (std / prior_std).square()
    distance = ((mean - prior_mean) / prior_std).square()
    return 0.5 * (ratio + distance - 1 - ratio.log())


def bernoulli_kl(logits: Tensor, prior: Tensor | float) -> Tensor:
    """KL(Bernoulli(sigmoid(logits)) || Bernoulli(prior)); exact for priors as small as 1e-10."""
    log_present: Tensor | float
    log_absent: Tensor | float
    if isinstance(prior, Tensor):
        log_present, log_absent = prior.log(), (-prior).log1p()
    else:
        log_present, log_absent = math.log(prior), math.log1p(-prior)
    present = logits.sigmoid() * (F.logsigmoid(logits) - log_present)
    absent = (-logits).sigmoid() * (F.logsigmoid(-logits) - log_absent)
    return present + absent


def sample_gaussian(
    mean: Tensor, std: Tensor, generator: torch.Generator | None = None, noise: Tensor | None = None
) -> Tensor:
    """A reparameterised sample; `noise` has been drawn before, or comes from the generator."""
    if noise is None:
        noise = torch.randn(mean.shape, generator=generator, dtype=mean.dtype, device=mean.device)
    return mean + std * noise


def sample_relaxed_bernoulli(
    logits: Tensor, temperature: float, generator: torch.Generator | None = None, uniform: Tensor | None = None
) -> Tensor:
    """A reparameterised sample of the binary concrete (Gumbel-softmax) distribution, in (0, 1).

    `uniform` are the random numbers in [0, 1), if they have been drawn before.
    """
    if uniform is None:
        uniform = torch.rand(logits.shape, generator=generator, dtype=logits.dtype, device=logits.device)
    uniform = uniform.clamp(torch.finfo(logits.dtype).tiny, 1 - torch.finfo(logits.dtype).eps)
    noise = uniform.log() - (-uniform).log1p()
    return torch.sigmoid((logits + noise) / temperature)


def inverse_softplus(value: float) -> float:
    """What a net has to give for a stdev of this value."""
    return value + math.log(-math.expm1(-value))
