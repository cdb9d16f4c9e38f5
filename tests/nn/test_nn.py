"""The parts of the nets: equal to plain torch, whatever they do to save time and memory."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from objectspace.nn.broadcast import BroadcastDecoder, coordinate_map
from objectspace.nn.plane import PlaneDecoder
from objectspace.nn.recompute import activate_convolve, forgetting
from objectspace.nn.stacks import GroupNorm, celu_block, halving_encoder
from objectspace.nn.subpixel import PictureDecoder, Shuffle, enlargements

DOUBLE = torch.float64


def broadcast_plainly(decoder: BroadcastDecoder, latent: torch.Tensor) -> torch.Tensor:
    height, width = decoder.size
    vectors = latent[:, :, None, None].expand(-1, -1, height, width)
    maps = torch.cat([vectors, coordinate_map(height, width, latent).expand(len(latent), -1, -1, -1)], dim=1)
    for layer in decoder.decoder:
        maps = F.elu(maps) if isinstance(layer, nn.ELU) else layer(maps)
    return maps


@pytest.mark.parametrize("count", [0, 3, 11])
@pytest.mark.parametrize("kernel", [1, 3])
def test_activating_again_for_the_backward_pass_changes_nothing(count, kernel):
    torch.manual_seed(0)
    convolution = nn.Conv2d(3, 4, kernel).double()
    maps = torch.randn(count, 3, 6, 7, dtype=DOUBLE, requires_grad=True)
    leaves = (maps, convolution.weight, convolution.bias)
    left, right = activate_convolve(maps, convolution), convolution(F.elu(maps))
    torch.testing.assert_close(left, right, rtol=1e-12, atol=1e-12)
    slopes = (torch.autograd.grad(values.square().sum(), leaves, retain_graph=True) for values in (left, left, right))
    for first, again, expected in zip(*slopes, strict=True):  # twice through one graph, as IODINE does
        torch.testing.assert_close(first, expected, rtol=1e-12, atol=1e-12)
        assert torch.equal(first, again)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("count", [1, 3, 11])
def test_the_broadcast_decoder_equals_a_plain_one(training, count):
    torch.manual_seed(0)
    decoder = BroadcastDecoder(3, (4, 5, 4), 2, (6, 9)).double().train(training)
    for norm in (layer for layer in decoder.modules() if isinstance(layer, nn.BatchNorm2d)):
        nn.init.uniform_(norm.weight, 0.5, 1.5)
        nn.init.normal_(norm.bias)
    plain = copy.deepcopy(decoder)
    latent = torch.randn(count, 3, dtype=DOUBLE, requires_grad=True)
    other = latent.detach().clone().requires_grad_()
    left, right = decoder(latent), broadcast_plainly(plain, other)
    torch.testing.assert_close(left, right, rtol=1e-9, atol=1e-9)
    weights = torch.randn(left.shape, dtype=DOUBLE)
    (left * weights).sum().backward()
    (right * weights).sum().backward()
    torch.testing.assert_close(latent.grad, other.grad, rtol=1e-7, atol=1e-7)
    for (name, a), b in zip(decoder.named_parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-7, atol=1e-7, msg=name)
    for buffer, expected in zip(decoder.buffers(), plain.buffers(), strict=True):
        torch.testing.assert_close(buffer, expected, rtol=1e-9, atol=1e-9)


def plane_by_plane(decoder: PlaneDecoder, latent: torch.Tensor) -> torch.Tensor:
    """Pixel by pixel: a level, a slope to the right and a slope down, from -1 to 1."""
    height, width = decoder.size
    planes = []
    for vector in latent:
        numbers = decoder.linear.weight @ vector + decoder.linear.bias
        for channel in range(decoder.channels):
            level, right, down = numbers[3 * channel : 3 * channel + 3]
            for row in range(height):
                for column in range(width):
                    x, y = 2 * column / (width - 1) - 1, 2 * row / (height - 1) - 1
                    planes.append(level + right * x + down * y)
    return torch.stack(planes).view(len(latent), decoder.channels, height, width)


@pytest.mark.parametrize("count", [1, 3])
def test_the_plane_decoder_equals_a_loop_over_pixels(count):
    torch.manual_seed(0)
    decoder = PlaneDecoder(4, 2, (5, 7)).double()
    latent = torch.randn(count, 4, dtype=DOUBLE, requires_grad=True)
    inputs = (latent, *decoder.parameters())
    left, right = decoder(latent), plane_by_plane(decoder, latent)
    torch.testing.assert_close(left, right, rtol=1e-12, atol=1e-12)
    weights = torch.randn(left.shape, dtype=DOUBLE)
    gradients = [torch.autograd.grad((each * weights).sum(), inputs) for each in (left, right)]
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_a_plane_rises_evenly_to_the_right_and_downwards():
    decoder = PlaneDecoder(1, 3, (5, 9)).double()
    nn.init.zeros_(decoder.linear.weight)
    with torch.no_grad():  # of each channel: level, to the right, down
        decoder.linear.bias.copy_(torch.tensor([0.25, 0, 0, 0.5, 2, 0, -1, 0, -3]))
        level, right, down = decoder(torch.randn(1, 1, dtype=DOUBLE))[0]
    assert (level == 0.25).all()
    torch.testing.assert_close(right, torch.linspace(-1.5, 2.5, 9, dtype=DOUBLE).expand(5, 9))
    torch.testing.assert_close(down, torch.linspace(2, -4, 5, dtype=DOUBLE)[:, None].expand(5, 9))


@pytest.mark.parametrize("size", [(8, 8), (3, 5), (1, 4)])
@pytest.mark.parametrize("count", [0, 1, 4])
def test_planes_have_the_size_asked_for_also_none_of_them(size, count):
    latent = torch.randn(count, 3, requires_grad=True)
    planes = PlaneDecoder(3, 2, size)(latent)
    assert planes.shape == (count, 2, *size)
    planes.sum().backward()
    assert torch.isfinite(latent.grad).all()


def test_shuffle_is_pixel_shuffle_also_for_oblong_factors():
    pixels = torch.randn(2, 24, 3, 4)
    assert torch.equal(Shuffle(2, 2)(pixels), F.pixel_shuffle(pixels, 2))
    assert Shuffle(2, 3)(pixels).shape == (2, 4, 6, 12)
    square = pixels[:, :8].view(2, 2, 2, 2, 3, 4).permute(0, 1, 4, 2, 5, 3).reshape(2, 2, 6, 8)
    assert torch.equal(F.pixel_shuffle(pixels[:, :8], 2), square)


@pytest.mark.parametrize("size", [(128, 128), (16, 16), (48, 80), (256, 128), (20, 36), (8, 4), (3, 5)])
def test_a_picture_decoder_reaches_every_size(size):
    decoder = PictureDecoder(3, (4, 4, 4, 4, 4, 4), (2, 2, 2, 2, 2, 2), 2, size)
    assert decoder(torch.randn(2, 3)).shape == (2, 2, *size)


def test_the_paper_s_size_gets_the_paper_s_factors():
    assert enlargements((128, 128)) == [(4, 4), (2, 2), (4, 4), (4, 4)]


def test_group_norm_is_the_same_in_either_layout():
    norm = GroupNorm(2, 4).eval()
    pixels = torch.randn(2, 4, 5, 6)
    torch.testing.assert_close(norm(pixels.contiguous(memory_format=torch.channels_last)), norm(pixels))


def test_forgetting_changes_no_value_and_no_gradient():
    stack = nn.Sequential(*celu_block(2, 4, 3, 2), nn.Conv2d(4, 1, 1)).double()
    pixels = torch.randn(2, 2, 6, 6, dtype=DOUBLE, requires_grad=True)
    forgotten = forgetting(stack, pixels)
    gradient = torch.autograd.grad(forgotten.square().sum(), pixels)[0]
    kept = stack(pixels)
    assert torch.equal(forgotten, kept)
    assert torch.equal(gradient, torch.autograd.grad(kept.square().sum(), pixels)[0])


def test_halving_encoder_has_the_published_layers():
    encoder = halving_encoder(3, (8, 8), positions=12, outputs=5)
    assert encoder(torch.randn(2, 3, 12, 16)).shape == (2, 5)
