"""Objects over one another, and the penalty on their rims."""

import torch

from objectspace.ops.boundary import boundary_map, boundary_penalty, rim_width
from objectspace.ops.compositing import composite
from objectspace.ops.resample import plan_windows

DOUBLE = torch.float64
IMAGE = torch.tensor([0, 0, 1])


def scene(depth: tuple[float, float, float], dtype: torch.dtype = DOUBLE):
    where = torch.tensor([[0.5, 0.5, 0.0, 0.0], [0.5, 0.5, 0.2, 0.1], [0.3, 0.4, -0.9, 0.3]], dtype=dtype)
    alphas = torch.ones(3, 1, 8, 8, dtype=dtype)
    pictures = torch.tensor([1.0, 0.0, 0.5], dtype=dtype)[:, None, None, None].expand(3, 3, 8, 8) * alphas
    windows = plan_windows(where, IMAGE, (24, 20), 8)
    return composite(pictures, alphas, where, torch.tensor(depth, dtype=dtype), windows, 16, (2, 24, 20))


def test_the_nearer_object_hides_the_farther():
    assert scene((-2.0, 2.0, 0.0)).image[0, 0, 12, 10] > 0.99
    assert scene((2.0, -2.0, 0.0)).image[0, 0, 12, 10] < 0.01


def test_nothing_where_nothing_is():
    layers = scene((0.0, 0.0, 0.0))
    assert layers.alpha[0, 0, 0, 0] == 0
    assert layers.image[1, :, :, 19].abs().sum() == 0


def test_float32_holds_the_largest_logits():
    layers = scene((-30.0, -30.0, -30.0), torch.float32)
    assert layers.image.isfinite().all()
    torch.testing.assert_close(layers.alpha[0, 0, 12, 10], torch.tensor(1.0))


def test_no_objects_give_an_empty_picture():
    empty = composite(
        torch.zeros(0, 3, 8, 8), torch.zeros(0, 1, 8, 8), torch.zeros(0, 4), torch.zeros(0), (), 16, (2, 24, 20)
    )
    assert empty.image.shape == (2, 3, 24, 20)
    assert empty.alpha.abs().sum() == 0


def test_gradients_of_compositing():
    where = torch.tensor([[0.43, 0.51, 0.03, 0.01], [0.57, 0.52, 0.23, 0.11]], dtype=DOUBLE, requires_grad=True)
    depth = torch.tensor([0.3, -0.2], dtype=DOUBLE, requires_grad=True)
    alphas = (torch.rand(2, 1, 4, 4, dtype=DOUBLE) * 0.05).requires_grad_()
    pictures = torch.rand(2, 2, 4, 4, dtype=DOUBLE, requires_grad=True)
    windows = plan_windows(where.detach(), IMAGE[:2], (9, 8), 4)

    def run(p, a, w, d):
        layers = composite(p, a, w, d, windows, 6, (1, 9, 8))
        return layers.image, layers.alpha

    assert torch.autograd.gradcheck(run, (pictures, alphas, where, depth))


def test_the_rim_is_six_of_thirty_two():
    assert [rim_width(side) for side in (8, 16, 32, 64)] == [2, 3, 6, 12]


def test_the_boundary_lies_on_the_rim():
    where = torch.tensor([[1.0, 1.0, 0.0, 0.0]])
    windows = plan_windows(where, torch.zeros(1, dtype=torch.long), (32, 32), 32)
    kernel = boundary_map(torch.tensor([0.5]), where, windows, 32, (1, 32, 32))[0, 0]
    torch.testing.assert_close(kernel[0, 0], torch.tensor(0.5 * 1000 / 32**2))
    assert kernel[5, 16] > 0
    assert kernel[6, 16].abs() < 1e-6
    assert kernel[16, 16].abs() < 1e-6


def test_gradients_of_the_boundary():
    where = torch.tensor([[0.43, 0.51, 0.03, 0.01], [0.57, 0.52, 0.23, 0.11]], dtype=DOUBLE, requires_grad=True)
    presence = torch.tensor([0.3, 0.7], dtype=DOUBLE, requires_grad=True)
    alpha = torch.rand(1, 1, 9, 8, dtype=DOUBLE, requires_grad=True)
    windows = plan_windows(where.detach(), IMAGE[:2], (9, 8), 8)
    assert torch.autograd.gradcheck(
        lambda p, w, a: boundary_penalty(boundary_map(p, w, windows, 8, (1, 9, 8)) / 100, a), (presence, where, alpha)
    )
