"""A mixture of Gaussians: each step as a slow transcription of the textbook has it, and what comes out of it."""

import math

import pytest
import torch

from objectspace.ops.gaussian_mixture import GaussianMixture, fit


def clouds(count: int = 200) -> torch.Tensor:
    noise = torch.randn(count, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return noise * torch.tensor([0.1, 0.5]) + torch.tensor([[3.0, 0.0], [-3.0, 1.0]]).repeat(count // 2, 1)


def test_density_is_the_sum_over_components_one_number_at_a_time() -> None:
    mixture = GaussianMixture(
        torch.tensor([0.25, 0.75]), torch.tensor([[0.0, 1.0], [2.0, 3.0]]), torch.tensor([[1.0, 2.0], [0.5, 0.1]])
    )
    point = torch.tensor([[0.3, 1.5]])
    slow = 0.0
    for component in range(2):
        density = float(mixture.weights[component])
        for axis in range(2):
            mean, variance = float(mixture.means[component, axis]), float(mixture.variances[component, axis])
            density *= math.exp(-((float(point[0, axis]) - mean) ** 2) / (2 * variance)) / math.sqrt(
                2 * math.pi * variance
            )
        slow += density
    assert float(mixture.log_density(point)[0]) == pytest.approx(math.log(slow), rel=1e-6)


def test_two_clouds_are_found() -> None:
    points = clouds()
    mixture = fit(points, 2)
    order = mixture.means[:, 0].argsort()
    assert torch.allclose(mixture.weights, torch.tensor([0.5, 0.5], dtype=torch.float64), atol=1e-6)
    for component, cloud in zip(order.tolist(), (points[1::2], points[::2]), strict=True):
        assert torch.allclose(mixture.means[component], cloud.mean(0), atol=1e-6)
        assert torch.allclose(mixture.variances[component], cloud.var(0, correction=0), atol=1e-6)


def test_more_rounds_are_never_worse_and_a_seed_decides_all() -> None:
    points = clouds()
    one, three = (float(fit(points, count).log_density(points).mean()) for count in (1, 3))
    assert three > one
    assert torch.equal(fit(points, 3, 7).means, fit(points, 3, 7).means)


def test_what_is_drawn_is_like_what_was_fitted() -> None:
    points = clouds()
    drawn = fit(points, 2).draw(4000, torch.Generator().manual_seed(1))
    assert torch.allclose(drawn.mean(0), points.mean(0), atol=0.2)
    assert torch.allclose(drawn.std(0), points.std(0), atol=0.2)
    assert fit(points, 2).draw(0).shape == (0, 2)


@pytest.mark.parametrize("points", [torch.zeros(5, 3), torch.ones(1, 3)])
def test_equal_points_and_one_point_are_no_trouble(points: torch.Tensor) -> None:
    mixture = fit(points, 4)
    assert torch.isfinite(mixture.log_density(points.double())).all()
    assert torch.allclose(mixture.draw(3), points[:1].double().expand(3, -1), atol=0.1)
