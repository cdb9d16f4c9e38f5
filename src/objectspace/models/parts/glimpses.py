"""What an object looks like: glimpse to `what`, and `what` to picture and alpha.

Shapes: M objects, C channels, g the glimpse's side, D latent.
"""

import torch
from torch import Tensor, nn

from objectspace.models.parts.settings import ForegroundConfig
from objectspace.nn.stacks import celu_block
from objectspace.nn.subpixel import run_subpixel, subpixel_stack

_STRIDED_FIRST = (1, 3, 4, 0, 2)  # published: a glimpse of 32 pixels has stride 2 in the first three of these


def glimpse_nets(config: ForegroundConfig) -> tuple["GlimpseEncoder | DenseEncoder", "GlimpseDecoder | DenseDecoder"]:
    """The nets that a config asks for: the paper's convolutions, or dense ones."""
    if config.dense:
        return DenseEncoder(config), DenseDecoder(config)
    return GlimpseEncoder(config), GlimpseDecoder(config)


class GlimpseEncoder(nn.Module):
    """Glimpses (M, C, g, g) -> mean and raw stdev of what (M, 2 D)."""

    def __init__(self, config: ForegroundConfig, inputs: int = 3) -> None:
        super().__init__()
        halvings = config.glimpse.bit_length() - 3  # the last convolution takes 4 x 4 pixels at once
        channels, groups = config.glimpse_encoder.channels, config.glimpse_encoder.groups
        layers: list[nn.Module] = []
        before = inputs
        for number in range(5):
            strided = number in _STRIDED_FIRST[:halvings]
            kernel, stride = (4, 2) if strided else (3, 1)
            layers += celu_block(before, channels[number], kernel, groups[number], stride, padding=1)
            before = channels[number]
        layers += celu_block(before, channels[5], 4, groups[5])
        self.enc_cnn = nn.Sequential(*layers)
        self.enc_what = nn.Linear(channels[5], 2 * config.what_dim)

    def forward(self, glimpses: Tensor) -> Tensor:
        parameters: Tensor = self.enc_what(self.enc_cnn(glimpses).flatten(1))
        return parameters


class GlimpseDecoder(nn.Module):
    """What (M, D) -> pictures (M, C, g, g) and alphas (M, 1, g, g), both in (0, 1)."""

    def __init__(self, config: ForegroundConfig, outputs: int = 3) -> None:
        super().__init__()
        doublings = config.glimpse.bit_length() - 1
        stack = list(zip(config.glimpse_decoder.channels, config.glimpse_decoder.groups, strict=True))
        first, enlarging = stack[0], stack[1:]
        enlarging = [*enlarging[:1] * (doublings - len(enlarging)), *enlarging[-doublings:]]  # repeat or skip the first
        channels, groups = zip(first, *enlarging, strict=True)
        self.dec = subpixel_stack(config.what_dim, channels, groups, [(2, 2)] * doublings)
        self.dec_o = nn.Conv2d(channels[-1], outputs, 3, padding=1)
        self.dec_alpha = nn.Conv2d(channels[-1], 1, 3, padding=1)

    def forward(self, what: Tensor) -> tuple[Tensor, Tensor]:
        features = run_subpixel(self.dec, what)
        # One convolution for both outputs: they read the same wide map.
        weight = torch.cat([self.dec_o.weight, self.dec_alpha.weight])
        bias = torch.cat([self.dec_o.bias, self.dec_alpha.bias])  # type: ignore[list-item]
        both = nn.functional.conv2d(features, weight, bias, padding=1).sigmoid()
        return both[:, :-1], both[:, -1:]


class DenseEncoder(nn.Module):
    """Glimpses (M, C, g, g) -> mean and raw stdev of what (M, 2 D), through dense layers.

    Beyond the paper. Glimpses are small and cut to fit, so there is little to gain by convolving them: dense nets learn
    outlines in a fraction of the steps, and a step of theirs costs a third.
    """

    def __init__(self, config: ForegroundConfig, inputs: int = 3) -> None:
        super().__init__()
        self.enc_cnn = nn.Sequential(nn.Flatten(), *_dense(inputs * config.glimpse**2, config.dense))
        self.enc_what = nn.Linear(config.dense[-1], 2 * config.what_dim)

    def forward(self, glimpses: Tensor) -> Tensor:
        parameters: Tensor = self.enc_what(self.enc_cnn(glimpses.contiguous()))
        return parameters


class DenseDecoder(nn.Module):
    """What (M, D) -> pictures (M, C, g, g) and alphas (M, 1, g, g), both in (0, 1), through dense layers."""

    def __init__(self, config: ForegroundConfig, outputs: int = 3) -> None:
        super().__init__()
        self.side = config.glimpse
        widths = config.dense[::-1]
        self.dec = nn.Sequential(*_dense(config.what_dim, widths))
        self.dec_o = nn.Linear(widths[-1], outputs * self.side**2)
        self.dec_alpha = nn.Linear(widths[-1], self.side**2)

    def forward(self, what: Tensor) -> tuple[Tensor, Tensor]:
        features, shape = self.dec(what), (-1, self.side, self.side)
        picture, alpha = (head(features).unflatten(1, shape).sigmoid() for head in (self.dec_o, self.dec_alpha))
        return picture, alpha


def _dense(inputs: int, widths: tuple[int, ...]) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for before, width in zip((inputs, *widths), widths, strict=False):
        layers += [nn.Linear(before, width), nn.CELU(), nn.LayerNorm(width)]
    return layers
