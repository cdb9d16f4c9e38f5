"""Sub-pixel decoders: from a vector to a picture by 1x1 convolutions and pixel shuffles.

Shapes: n vectors, D latent, C channels, H W picture.
"""

import math
from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional as F

from objectspace.nn.recompute import forgetting
from objectspace.nn.stacks import GroupNorm, celu_block


class Shuffle(nn.Module):
    """`PixelShuffle` that may enlarge rows and columns by different factors: (n, C r q, H, W) -> (n, C, H r, W q)."""

    def __init__(self, rows: int, columns: int) -> None:
        super().__init__()
        self.rows, self.columns = rows, columns

    def forward(self, pixels: Tensor) -> Tensor:
        if self.rows == self.columns:
            return F.pixel_shuffle(pixels, self.rows)
        count, _, height, width = pixels.shape
        pixels = pixels.view(count, -1, self.rows, self.columns, height, width).permute(0, 1, 4, 2, 5, 3)
        return pixels.reshape(count, -1, height * self.rows, width * self.columns)


def subpixel_stack(
    inputs: int, channels: Sequence[int], groups: Sequence[int], factors: Sequence[tuple[int, int]]
) -> nn.Sequential:
    """A 1x1 convolution, one enlargement with a 3x3 convolution after it for every factor, then plain 3x3 convolutions.

    `channels[0]` belongs to the first layer, the next ones to the enlargements, the rest to the plain ones.
    """
    layers = celu_block(inputs, channels[0], 1, groups[0])
    before = channels[0]
    for after, group, (rows, columns) in zip(channels[1:], groups[1:], factors, strict=False):
        layers += [nn.Conv2d(before, after * rows * columns, 1), Shuffle(rows, columns)]
        layers += [nn.CELU(inplace=True), GroupNorm(group, after)]
        layers += celu_block(after, after, 3, group, padding=1)
        before = after
    for after, group in list(zip(channels, groups, strict=True))[1 + len(factors) :]:
        layers += celu_block(before, after, 3, group, padding=1)
        before = after
    return nn.Sequential(*layers)


def run_subpixel(stack: nn.Sequential, latent: Tensor) -> Tensor:
    """A sub-pixel stack on vectors (n, D); what follows the last enlargement is computed twice instead of kept.

    Those few layers have nearly all of the stack's pixels and little of its arithmetic.
    """
    last = max(number for number, layer in enumerate(stack) if isinstance(layer, Shuffle)) - 1
    return forgetting(stack[last:], stack[:last](latent[:, :, None, None]))


class PictureDecoder(nn.Module):
    """The paper's mask decoder, for pictures of any size: vectors (n, D) -> (n, C, H, W), no activation at the end.

    The paper enlarges 1x1 by 4, and then by `later`. Here the first factor brings what the others leave over; a size
    that is no multiple of them is decoded a little larger and cropped.
    """

    def __init__(
        self,
        inputs: int,
        channels: Sequence[int],
        groups: Sequence[int],
        outputs: int,
        size: tuple[int, int],
        later: Sequence[int] = (2, 4, 4),
    ) -> None:
        super().__init__()
        self.size = size
        self.dec = subpixel_stack(inputs, channels, groups, enlargements(size, later))
        self.dec.append(nn.Conv2d(channels[-1], outputs, 3, padding=1))

    def forward(self, latent: Tensor) -> Tensor:
        picture = run_subpixel(self.dec, latent)
        return picture[:, :, : self.size[0], : self.size[1]]


def enlargements(size: tuple[int, int], later: Sequence[int] = (2, 4, 4)) -> list[tuple[int, int]]:
    """Factors for rows and columns whose products reach `size`; 128 x 128 gives the paper's 4, 2, 4, 4.

    A size that leaves the first factor less than 4 has smaller ones later, the largest being halved first.
    """
    factors = list(later)
    while min(size) < 4 * math.prod(factors) > 4:
        factors[factors.index(max(factors))] //= 2
    product = math.prod(factors)
    first = (-(-size[0] // product), -(-size[1] // product))
    return [first, *((factor, factor) for factor in factors)]
