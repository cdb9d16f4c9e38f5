"""What numbers a run is computed with.

Mixed precision is narrower here than Fabric's: only the products of convolutions and linear layers are in bfloat16.
Boxes, compositing, likelihoods and divergences stay in float32: bfloat16 has 8 bits, a position in an image of 128
pixels would be off by a quarter of a pixel.
"""

from typing import Any, Literal

import torch
from torch import Tensor, nn

Fabrics = Literal["32-true", "64-true"]
FABRICS: dict[str, Fabrics] = {"32-true": "32-true", "bf16-mixed": "32-true", "64-true": "64-true"}


def multiply_in_bfloat16(model: nn.Module) -> None:
    """Let the layers of a model multiply in bfloat16 while it trains; weights, sums and evaluation are as before."""
    for layer in model.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            _wrap(layer)


def _wrap(layer: nn.Module) -> None:
    exact = layer.forward

    def forward(inputs: Tensor) -> Any:
        if not layer.training:
            return exact(inputs)
        with torch.autocast(inputs.device.type, torch.bfloat16):
            return exact(inputs).float()

    layer.forward = forward
