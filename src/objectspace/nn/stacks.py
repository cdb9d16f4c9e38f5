"""Stacks of convolutions, in the two flavours of the paper.

Order of the layers in a block is that of the published weights: convolution, CELU, group norm in the foreground and
the decoders; convolution, batch norm, ELU in the background. Activations work in place: neither the convolution nor
the batch norm before them needs its own output again, and that halves the memory of a training step.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class GroupNorm(nn.GroupNorm):
    """Group norm that is precise in evaluation.

    torch's kernel for channels-last tensors adds up in one long chain and loses two bits more than the other one, which
    compositing (a softmax of logits up to 100) shows as 1e-4 in the picture. Training does not mind.
    """

    def forward(self, pixels: Tensor) -> Tensor:
        if self.training or not pixels.is_contiguous(memory_format=torch.channels_last):
            return super().forward(pixels)
        normed = F.group_norm(pixels.contiguous(), self.num_groups, self.weight, self.bias, self.eps)
        return normed.contiguous(memory_format=torch.channels_last)


def celu_block(
    inputs: int, outputs: int, kernel: int, groups: int, stride: int = 1, padding: int = 0
) -> list[nn.Module]:
    """Convolution, CELU, group norm."""
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding)
    return [convolution, nn.CELU(inplace=True), GroupNorm(groups, outputs)]


def elu_block(inputs: int, outputs: int, kernel: int, stride: int = 1, padding: int = 0) -> list[nn.Module]:
    """Convolution, batch norm, ELU."""
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding)
    return [convolution, nn.BatchNorm2d(outputs), nn.ELU(inplace=True)]


def halving_encoder(inputs: int, channels: Sequence[int], positions: int, outputs: int) -> nn.Sequential:
    """3x3 convolutions of stride 2 with batch norm and ELU, then a linear layer on what is left of the image.

    `positions` is the number of pixels that are left: H W / 4^len(channels).
    """
    layers: list[nn.Module] = []
    for before, after in zip((inputs, *channels[:-1]), channels, strict=True):
        layers += elu_block(before, after, kernel=3, stride=2, padding=1)
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels[-1] * positions, outputs))
