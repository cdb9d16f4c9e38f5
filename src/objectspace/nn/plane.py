"""Pictures that are planes of colour: one colour, lighter or darker towards one side.

Convention: x (right) and y (down) go from -1 to 1 at the first and last pixel centre. Shapes: M latents, D latent.
"""

import torch
from torch import Tensor, nn

from objectspace.nn.broadcast import coordinate_map


class PlaneDecoder(nn.Module):
    """Latents (M, D) -> planes (M, C, H, W), before any squashing: for every channel a level and a slope each way."""

    def __init__(self, dim: int, channels: int, size: tuple[int, int]) -> None:
        super().__init__()
        self.channels, self.size = channels, size
        self.linear = nn.Linear(dim, 3 * channels)

    def forward(self, latents: Tensor) -> Tensor:
        slopes = self.linear(latents).unflatten(-1, (self.channels, 3))  # (M, C, 3): level, x, y
        x, y = coordinate_map(*self.size, slopes)[0]
        return torch.einsum("mck,khw->mchw", slopes, torch.stack([torch.ones_like(x), x, y]))
