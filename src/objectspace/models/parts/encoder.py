"""The foreground's image encoder: an image to one feature vector a cell.

Departs from the paper: cells other than 8, 16 or 32 pixels wide change which layers have stride 2.
Shapes: B images, C H W image, F features, rows x columns cells.
"""

import torch
from torch import Tensor, nn

from objectspace.config import Layers
from objectspace.models.parts.settings import ForegroundConfig
from objectspace.nn.stacks import celu_block

_STRIDED_FIRST = (
    0,
    1,
    2,
    4,
    3,
    5,
)  # the order in which layers get stride 2; published: 8-pixel cells have the first three


class ImageEncoder(nn.Module):
    """Images (B, C, H, W) -> features (B, F, rows, columns), with the paper's residual connection and encoder."""

    def __init__(self, config: ForegroundConfig, cell: int, inputs: int = 3) -> None:
        super().__init__()
        strided = _STRIDED_FIRST[: cell.bit_length() - 1]  # a cell is 2^n pixels wide
        layers: list[nn.Module] = []
        before = inputs
        for number, (after, groups) in enumerate(zip(config.encoder.channels, config.encoder.groups, strict=True)):
            kernel, stride, padding = _convolution(number, number in strided)
            layers += celu_block(before, after, kernel, groups, stride, padding)
            before = after
        self.enc = nn.Sequential(*layers)
        self.enc_lat = _same_size(before, config.residual)
        self.enc_cat = _same_size(before + config.residual.channels[-1], config.residual_encoder)
        self.outputs = config.residual_encoder.channels[-1]

    def forward(self, images: Tensor) -> Tensor:
        features = self.enc(images)
        encoded: Tensor = self.enc_cat(torch.cat([features, self.enc_lat(features)], dim=1))
        return encoded


def _convolution(number: int, strided: bool) -> tuple[int, int, int]:
    """Kernel, stride and padding of the paper's layer `number`."""
    if number <= 2:
        return (4, 2, 1) if strided else (3, 1, 1)
    if number <= 4:
        return (3, 2, 1) if strided else (3, 1, 1)
    return (2, 2, 0) if strided else (1, 1, 0)


def _same_size(inputs: int, config: Layers) -> nn.Sequential:
    layers: list[nn.Module] = []
    for after, groups in zip(config.channels, config.groups, strict=True):
        layers += celu_block(inputs, after, 3, groups, padding=1)
        inputs = after
    return nn.Sequential(*layers)
