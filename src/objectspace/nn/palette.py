"""Pictures of one colour each: the one that a component's mask sees in the image.

Shapes: M latents, D latent, B images, K components, C H W image.
"""

import torch
from torch import Tensor, nn

ROUNDS = 3  # in which pixels of another colour lose their say
NEAR = 0.25  # how far off a colour still has some: the stdev of each channel
EDGE = 0.02  # colours nearer to black or white are taken to be as far off: logits are finite
_TINY = 1e-6


class ColourDecoder(nn.Module):
    """Latents (M, D) -> colours (M, C, 1, 1), before any squashing; at first a latent's own first numbers."""

    def __init__(self, dim: int, channels: int) -> None:
        super().__init__()
        self.linear = nn.Linear(dim, channels)
        with torch.no_grad():
            self.linear.weight.copy_(torch.eye(channels, dim))
            self.linear.bias.zero_()

    def forward(self, latents: Tensor) -> Tensor:
        return self.linear(latents)[..., None, None]  # type: ignore[no-any-return]


@torch.no_grad()
def seen_colours(images: Tensor, masks: Tensor) -> Tensor:
    """The colour that each mask (B, K, 1, H, W) sees most of in its image (B, C, H, W): (B, K, C).

    A mean, from which pixels of quite another colour, such as an object before a wall, are left out round by round.

    >>> image = torch.tensor([[0.2, 0.2, 0.2, 0.9]]).expand(1, 3, 1, 4)  # one pixel in four is an object's
    >>> seen_colours(image, torch.ones(1, 1, 1, 1, 4))
    tensor([[[0.2000, 0.2000, 0.2000]]])
    """
    pixels, own = images.flatten(2), masks.flatten(3)[:, :, 0] + _TINY  # (B, C, HW), (B, K, HW)
    weights = own
    for number in range(ROUNDS + 1):
        colours = torch.einsum("bkp,bcp->bkc", weights, pixels) / weights.sum(-1, keepdim=True)
        if number < ROUNDS:
            distance = (pixels.square().sum(1)[:, None] - 2 * colours @ pixels) + colours.square().sum(-1)[..., None]
            weights = own * torch.exp(distance * (-0.5 / NEAR**2))
    return colours
