"""Mixtures of pictures: stick-breaking masks and the likelihood of an image under them, in log space.

Shapes: B images, K components, C H W image.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

_TINY = 1e-30  # a weight below it counts as none: its gradient is zero, not infinite


def stick_breaking(logits: Tensor) -> Tensor:
    """Logits (B, K - 1, ...) to log-masks (B, K, ...): each takes its share of what is left, the last the rest."""
    taken = F.logsigmoid(logits)
    left = F.logsigmoid(-logits).cumsum(dim=1)  # log of what remains after each
    nothing = logits.new_zeros(logits.shape[0], 1, *logits.shape[2:])  # log of a whole
    return torch.cat([taken, nothing], dim=1) + torch.cat([nothing, left], dim=1)


def log_weight(weight: Tensor, epsilon: float = 0.0) -> Tensor:
    """log(weight + epsilon), finite and with a finite gradient also where the weight is 0."""
    return (weight + epsilon).clamp(min=_TINY).log()


def add_in_log_space(log_mask: Tensor, epsilon: float) -> Tensor:
    """log(mask + epsilon) for a mask given as its logarithm."""
    return (log_mask.exp() + epsilon).log() if epsilon else log_mask


def mix_two(log_first: Tensor, log_second: Tensor, weight: Tensor, epsilon: float = 0.0) -> Tensor:
    """log(w p1 + (1 - w) p2) from log p1, log p2 and w, elementwise."""
    return torch.logaddexp(log_first + log_weight(weight, epsilon), log_second + log_weight(1 - weight, epsilon))


def with_unknown(log_density: Tensor, unknown: float) -> Tensor:
    """log((1 - e) p + e) of pixels (B, H, W) from log p of their channels (B, C, H, W).

    With probability e = `unknown` a pixel is explained by nobody: then its colour is uniform on [0, 1]^C, all channels
    at once. 0 leaves the sum over channels.
    """
    known = log_density.sum(1)
    if unknown == 0:
        return known
    return torch.logaddexp(known + math.log1p(-unknown), known.new_tensor(unknown).log())


def share_of_unknown(log_pixel: Tensor, unknown: float) -> Tensor:
    """The posterior probability that nobody explains a pixel, from what `with_unknown` gave, elementwise."""
    return torch.zeros_like(log_pixel) if unknown == 0 else torch.exp(math.log(unknown) - log_pixel)


def mix_pixels(
    images: Tensor, colour: Tensor, alpha: Tensor, behind: Tensor, sigma: float, unknown: float, epsilon: float = 0.0
) -> Tensor:
    """log p of pixels: objects of a colour N(colour, sigma) with weight alpha, over what is `behind`, or nobody's.

    Images and colours (B, C, H, W), alpha (B, 1, H, W), `behind` the log density of every channel (B, C, H, W)
    -> (B, H, W).
    """
    return with_unknown(mix_two(gaussian_log_density(images, colour, sigma), behind, alpha, epsilon), unknown)


def mix_components(images: Tensor, means: Tensor, log_masks: Tensor, sigma: float, epsilon: float = 0.0) -> Tensor:
    """log sum_k pi_k N(x; mu_k, sigma) for images (B, C, H, W), means (B, K, C, H, W), log-masks (B, K, 1, H, W)."""
    scaled = (images.unsqueeze(1) - means) * (0.5**0.5 / sigma)
    terms = add_in_log_space(log_masks, epsilon) - scaled.square()
    return torch.logsumexp(terms, dim=1) - _log_normaliser(sigma)


def gaussian_log_density(values: Tensor, mean: Tensor | float, sigma: float) -> Tensor:
    """log N(values; mean, sigma), elementwise."""
    return -0.5 * ((values - mean) / sigma).square() - _log_normaliser(sigma)


def _log_normaliser(sigma: float) -> float:
    return float(torch.tensor(sigma * (2 * torch.pi) ** 0.5, dtype=torch.float64).log())
