"""Mixtures of pictures: stick-breaking masks and the likelihood of an image under them, in log space.

The paper mixes every channel by itself, so that a pixel may have its red of one part and its blue of another. Densities
of whole pixels have one channel in place of C, (B, 1, H, W), and are mixed with all channels at once. Shapes: B images,
K components, C H W image.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

DARKEST, LEVELS = 0.3, 8  # of shadows: factors of the light, from the first up to one
_TINY = 1e-30  # a weight below it counts as none: its gradient is zero, not infinite


def stick_breaking(logits: Tensor) -> Tensor:
    """Logits (B, K - 1, ...) to log-masks (B, K, ...): each takes its share of what is left, the last the rest.

    >>> stick_breaking(torch.zeros(1, 2)).exp()
    tensor([[0.5000, 0.2500, 0.2500]])
    """
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
    """log(w p1 + (1 - w) p2) from log p1, log p2 and w, elementwise.

    >>> mix_two(torch.tensor(0.2).log(), torch.tensor(0.6).log(), torch.tensor(0.5)).exp()
    tensor(0.4000)
    """
    return torch.logaddexp(log_first + log_weight(weight, epsilon), log_second + log_weight(1 - weight, epsilon))


def with_unknown(log_density: Tensor, unknown: float) -> Tensor:
    """log((1 - e) p + e) of pixels (B, H, W) from log p of their channels (B, C, H, W).

    With probability e = `unknown` a pixel is explained by nobody: then its colour is uniform on [0, 1]^C, all channels
    at once. 0 leaves the sum over channels.

    >>> hopeless = torch.full((1, 3, 1, 1), -1e4)  # a pixel that nothing explains is explained by nobody
    >>> with_unknown(hopeless, 0.1).exp()
    tensor([[[0.1000]]])
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

    Images, colours and the log density `behind` of every channel, or of whole pixels, (B, C or 1, H, W), alpha
    (B, 1, H, W) -> (B, H, W).
    """
    before = with_channels_of(gaussian_log_density(images, colour, sigma), behind)
    return with_unknown(mix_two(before, behind, alpha, epsilon), unknown)


def with_channels_of(log_density: Tensor, like: Tensor) -> Tensor:
    """Log densities of channels (B, C, H, W), or of whole pixels where `like` has these: (B, C or 1, H, W)."""
    return log_density if like.shape[1] == log_density.shape[1] else log_density.sum(1, keepdim=True)


def mix_components(
    images: Tensor, means: Tensor, log_masks: Tensor, sigma: float, epsilon: float = 0.0, whole: bool = False
) -> Tensor:
    """log sum_k pi_k N(x; mu_k, sigma) for images (B, C, H, W), means (B, K, C, H, W), log-masks (B, K, 1, H, W).

    Of every channel (B, C, H, W), or of `whole` pixels (B, 1, H, W).
    """
    distance = ((images.unsqueeze(1) - means) * (0.5**0.5 / sigma)).square()
    distance = distance.sum(2, keepdim=True) if whole else distance
    terms = add_in_log_space(log_masks, epsilon) - distance
    return torch.logsumexp(terms, dim=1) - _log_normaliser(sigma) * (images.shape[1] if whole else 1)


def mix_shaded(
    images: Tensor,
    means: Tensor,
    log_masks: Tensor,
    sigma: float,
    shadow: float,
    epsilon: float = 0.0,
    whole: bool = False,
) -> Tensor:
    """`mix_components`, of which each pixel lies in shadow with probability `shadow`: see `in_shadow`."""
    plain = mix_components(images, means, log_masks, sigma, epsilon, whole)
    return in_shadow(images, (log_masks.exp() * means).sum(1), plain, sigma, shadow) if shadow else plain


def shades(images: Tensor, ground: Tensor) -> Tensor:
    """How much darker than the ground (B, C, H, W) images (B, C, H, W) are, as shadows go: (B, 1, H, W), below 1."""
    darker = (images * ground).sum(1, keepdim=True) / ground.square().sum(1, keepdim=True).clamp(min=_TINY)
    step = (1 - DARKEST) / LEVELS
    return DARKEST + step * ((darker - DARKEST) / step).round().clamp(0, LEVELS - 1)


def in_shadow(images: Tensor, ground: Tensor, plain: Tensor, sigma: float, share: float) -> Tensor:
    """The log density (B, C or 1, H, W) of a background of which each pixel lies in shadow with probability `share`.

    In shadow the ground (B, C, H, W) is darker by one of LEVELS factors, the same for all channels. `plain` is the log
    density in the light. Of light and all shadows the likeliest is taken, which bounds the sum over them from below.
    """
    if share == 0:
        return plain
    channels = plain.shape[1]
    with torch.no_grad():
        darker = shades(images, ground)
    lit = plain + math.log1p(-share) / channels
    dark = (
        with_channels_of(gaussian_log_density(images, darker * ground, sigma), plain)
        + math.log(share / LEVELS) / channels
    )
    return torch.where(dark.sum(1, keepdim=True) > lit.sum(1, keepdim=True), dark, lit)


def gaussian_log_density(values: Tensor, mean: Tensor | float, sigma: float) -> Tensor:
    """log N(values; mean, sigma), elementwise."""
    return -0.5 * ((values - mean) / sigma).square() - _log_normaliser(sigma)


def _log_normaliser(sigma: float) -> float:
    return float(torch.tensor(sigma * (2 * torch.pi) ** 0.5, dtype=torch.float64).log())
