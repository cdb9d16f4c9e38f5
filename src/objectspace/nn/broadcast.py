"""The spatial broadcast decoder, without the broadcast.

The paper repeats a vector over the whole image, adds two coordinate channels and convolves. The first convolution is
linear: its vector part is the same at every pixel, its coordinate part the same for every vector. So it is
a (n, C) + b (C, H, W), never a convolution over n wide maps; and as a depends on the vector only and b on the pixel
only, batch norm's mean and variance over both are sums of those of a and of b. Exact, in training and evaluation.

Convention: coordinate channels are x (right) and y (down), from -1 to 1 at the first and last pixel centre of a map
that is larger than the picture by one pixel a layer on each side. Shapes: n vectors, D latent, C channels, H W picture.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from objectspace.nn.recompute import add_activate_convolve, norm_activate_convolve
from objectspace.nn.stacks import elu_block


class BroadcastDecoder(nn.Module):
    """Vectors (n, D) -> pictures (n, C, H, W), no activation at the end."""

    def __init__(self, inputs: int, channels: Sequence[int], outputs: int, size: tuple[int, int]) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after in zip((inputs + 2, *channels[:-1]), channels, strict=True):
            layers += elu_block(before, after, kernel=3)
        self.decoder = nn.Sequential(*layers, nn.Conv2d(channels[-1], outputs, 1))
        margin = len(channels)  # every valid 3x3 convolution takes one pixel off each side
        self.size = size[0] + 2 * margin, size[1] + 2 * margin

    def forward(self, latent: Tensor) -> Tensor:
        convolutions = [layer for layer in self.decoder if isinstance(layer, nn.Conv2d)]
        norms = [layer for layer in self.decoder if isinstance(layer, nn.BatchNorm2d)]
        by_vector, by_pixel = self._first_layer(latent, convolutions[0], norms[0])
        maps = add_activate_convolve(by_vector, by_pixel, convolutions[1])
        for norm, convolution in zip(norms[1:], convolutions[2:], strict=True):
            maps = norm_activate_convolve(maps, norm, convolution)
        return maps

    def _first_layer(self, latent: Tensor, convolution: nn.Conv2d, norm: nn.BatchNorm2d) -> tuple[Tensor, Tensor]:
        """The first convolution and its norm in two parts whose sum they are: (n, C) and (C, H, W)."""
        dimensions = latent.shape[1]
        by_vector = F.linear(latent, convolution.weight[:, :dimensions].sum((2, 3)), convolution.bias)
        by_pixel = F.conv2d(coordinate_map(*self.size, latent), convolution.weight[:, dimensions:].contiguous())[0]
        scale, shift = _batch_norm_affine(norm, by_vector, by_pixel.flatten(1))
        return by_vector * scale + shift, by_pixel * scale[:, None, None]


def coordinate_map(height: int, width: int, like: Tensor) -> Tensor:
    """Coordinates x, y from -1 to 1: (1, 2, H, W)."""
    rows = torch.linspace(-1, 1, height, dtype=like.dtype, device=like.device)
    columns = torch.linspace(-1, 1, width, dtype=like.dtype, device=like.device)
    y, x = torch.meshgrid(rows, columns, indexing="ij")
    return torch.stack([x, y])[None]


def _batch_norm_affine(norm: nn.BatchNorm2d, by_vector: Tensor, by_pixel: Tensor) -> tuple[Tensor, Tensor]:
    """Batch norm of by_vector (n, C) + by_pixel (C, HW) as factor and summand (C,) each; keeps its running averages."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    if norm.training:
        mean = by_vector.mean(0) + by_pixel.mean(1)
        variance = by_vector.var(0, unbiased=False) + by_pixel.var(1, unbiased=False)
        _update_running_averages(norm, mean, variance, by_vector.shape[0] * by_pixel.shape[1])
    else:
        mean, variance = norm.running_mean, norm.running_var
    scale = norm.weight * torch.rsqrt(variance + norm.eps)
    return scale, norm.bias - mean * scale


@torch.no_grad()
def _update_running_averages(norm: nn.BatchNorm2d, mean: Tensor, variance: Tensor, count: int) -> None:
    assert norm.running_mean is not None
    assert norm.running_var is not None
    assert norm.num_batches_tracked is not None
    assert norm.momentum is not None
    norm.num_batches_tracked += 1
    norm.running_mean.lerp_(mean, norm.momentum)
    norm.running_var.lerp_(variance * (count / (count - 1)), norm.momentum)
