"""A mixture of Gaussians with diagonal covariances, fitted by expectation maximisation in float64.

Shapes: n points, k components, D numbers a point.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

LEAST_VARIANCE = 1e-4  # so that no component collapses onto one point
ROUNDS = 100
GAIN = 1e-6  # nats a point: less is no progress


@dataclass(frozen=True)
class GaussianMixture:
    """A fitted mixture."""

    weights: Tensor  # (k,) their sum is one
    means: Tensor  # (k, D)
    variances: Tensor  # (k, D)

    def log_density(self, points: Tensor) -> Tensor:
        """Of points (n, D): (n,)."""
        return torch.logsumexp(_joint(self, points), 1)

    def draw(self, count: int, generator: torch.Generator | None = None) -> Tensor:
        """New points (count, D)."""
        like = self.means
        chosen = torch.multinomial(self.weights, max(count, 1), True, generator=generator)[:count]
        noise = torch.randn(count, like.shape[1], generator=generator, dtype=like.dtype, device=like.device)
        return like[chosen] + self.variances[chosen].sqrt() * noise


def fit(points: Tensor, components: int, seed: int = 0) -> GaussianMixture:
    """The mixture that explains points (n, D), at most one component a point; the same seed gives the same one."""
    points = points.double()
    components = max(1, min(components, len(points)))
    centres = _spread(points, components, torch.Generator().manual_seed(seed))
    nearest = torch.cdist(points, centres).argmin(1)
    shares = torch.nn.functional.one_hot(nearest, components).double()
    mixture, before = _maximise(points, shares), -math.inf
    for _ in range(ROUNDS):
        joint = _joint(mixture, points)
        total = torch.logsumexp(joint, 1)
        mixture = _maximise(points, (joint - total[:, None]).exp())
        reached = float(total.mean())
        if reached - before < GAIN:
            break
        before = reached
    return mixture


def _joint(mixture: GaussianMixture, points: Tensor) -> Tensor:
    """Log of weight times density of every component: (n, k)."""
    apart = (points[:, None] - mixture.means) ** 2 / mixture.variances + mixture.variances.log()  # (n, k, D)
    return mixture.weights.log() - 0.5 * (apart + math.log(2 * math.pi)).sum(2)


def _maximise(points: Tensor, shares: Tensor) -> GaussianMixture:
    """The mixture, given how much of each point (n, D) is each component's (n, k)."""
    count = shares.sum(0).clamp_min(1e-9)  # (k,)
    means = shares.T @ points / count[:, None]
    variances = shares.T @ points**2 / count[:, None] - means**2
    return GaussianMixture(count / count.sum(), means, variances.clamp_min(LEAST_VARIANCE))


def _spread(points: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Points to start from (count, D): each far from those before it, by chance, as k-means++ chooses them."""
    chosen = [int(torch.randint(len(points), (1,), generator=generator))]
    for _ in range(count - 1):
        distance = torch.cdist(points, points[chosen]).amin(1) ** 2
        if float(distance.sum()) == 0:
            break  # fewer different points than components
        chosen.append(int(torch.multinomial(distance, 1, generator=generator)))
    return torch.cat([points[chosen], points[chosen[:1]].expand(count - len(chosen), -1)])
