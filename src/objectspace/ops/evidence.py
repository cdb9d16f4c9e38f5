"""What each object is worth: the likelihood of its image with it and without it, in closed form.

The renderer's sums (weights, weighted alphas, weighted colours) are taken once for all objects; inside its window an
object's own share is then taken out of them, and put back as if it were fully present. Weights span a hundred orders of
magnitude, so what remains after taking the heaviest away would be lost to rounding: the heaviest of every pixel is
summed apart from the rest. Shapes: B images, M objects, m of them in a window group, C H W image, g the glimpse's side,
R Q a window.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from objectspace.ops.compositing import EMPTY, SHARPNESS, colour_of, shifted_weight
from objectspace.ops.mixtures import mix_pixels
from objectspace.ops.resample import Windows, paste

_TOGETHER = 2**18  # window pixels that are worked on at a time, so that memory stays small


@torch.no_grad()
def gains(
    images: Tensor,
    behind: Tensor,
    pictures: Tensor,
    alphas: Tensor,
    presence: Tensor,
    frame: Tensor,
    depth: Tensor,
    windows: Sequence[Windows],
    cells: int,
    sigma: float,
    unknown: float,
    premultiplied: bool,
    epsilon: float = 0.0,
) -> Tensor:
    """How many nats each object's image gains if the object is there rather than not, the others being as they are.

    Images (B, C, H, W) over what is `behind`, the log density of every channel (B, C, H, W). Pictures (M, C, g, g), not
    premultiplied, and alphas (M, 1, g, g) of objects at `frame` (M, 4) and depth (M,); the others count with their
    presence (M,), an object itself with 1 and 0. The rest as in `mixtures.mix_pixels` -> (M,).
    """
    channels, canvas = images.shape[1], images.shape[0] * images.shape[2] * images.shape[3]
    glimpses = torch.cat([alphas, pictures * alphas], dim=1)
    nearness = SHARPNESS * torch.sigmoid(-depth)
    pieces = [_Piece(group, paste(glimpses, frame, group).transpose(0, 1)) for group in _split(windows)]

    heaviest = images.new_zeros(canvas)
    for piece in pieces:
        weight = piece.weight(nearness, presence)
        heaviest.scatter_reduce_(0, piece.windows.index().flatten(), weight.flatten(), "amax")
    sums = images.new_zeros(channels + 2, 2 * canvas)  # of the heaviest, then of the rest
    for piece in pieces:
        values, place = piece.share(nearness, presence), piece.place(nearness, presence, heaviest)
        sums.scatter_add_(1, place.flatten().expand(channels + 2, -1), values.flatten(1))

    seen = torch.stack([images, behind]).transpose(1, 2).reshape(2, channels, canvas)
    result = images.new_zeros(len(frame))
    for piece in pieces:
        index, place = piece.windows.index(), piece.place(nearness, presence, heaviest)
        other = 2 * index + canvas - place  # an object lies among the heaviest or among the rest: the half it is not in
        without = sums[:, place] - piece.share(nearness, presence) + sums[:, other]
        present = without + piece.share(nearness, torch.ones_like(presence))
        pixels = seen[:, :, index].transpose(1, 2)  # (2, m, C, R, Q)
        likelihood = []
        for total, alpha, *colours in (without, present):
            total = total + cells * EMPTY
            weight = (alpha / total).clamp(0, 1).unsqueeze(1)
            colour = torch.stack(colours, dim=1) / total.unsqueeze(1)
            mean = colour if premultiplied else colour_of(colour, weight)
            likelihood.append(mix_pixels(pixels[0], mean, weight, pixels[1], sigma, unknown, epsilon))
        result[piece.windows.members] = (likelihood[1] - likelihood[0]).flatten(1).sum(1)
    return result


@dataclass(frozen=True)
class _Piece:
    """Some objects, pasted into their windows."""

    windows: Windows
    pasted: Tensor  # (1 + C, m, R, Q) alpha and premultiplied picture

    def weight(self, nearness: Tensor, presence: Tensor) -> Tensor:
        """What each weighs if it is present so much: (m, R, Q)."""
        return shifted_weight(self.pasted[0] * self._of(presence), nearness[self.windows.members])

    def share(self, nearness: Tensor, presence: Tensor) -> Tensor:
        """What each adds to the sums of weight, weighted alpha and weighted picture: (2 + C, m, R, Q)."""
        weight = self.weight(nearness, presence)
        return torch.cat([(weight - EMPTY).unsqueeze(0), weight * self._of(presence) * self.pasted])

    def place(self, nearness: Tensor, presence: Tensor, heaviest: Tensor) -> Tensor:
        """Where each is summed: at its pixel if it is the heaviest there, else a canvas further on: (m, R, Q)."""
        index = self.windows.index()
        return index + len(heaviest) * (self.weight(nearness, presence) < heaviest[index])

    def _of(self, values: Tensor) -> Tensor:
        return values[self.windows.members][:, None, None]


def _split(windows: Sequence[Windows]) -> Iterator[Windows]:
    for group in windows:
        many = max(1, _TOGETHER // (group.rows.shape[1] * group.columns.shape[1]))
        for start in range(0, len(group.members), many):
            some = slice(start, start + many)
            yield Windows(group.members[some], group.image[some], group.rows[some], group.columns[some], group.canvas)
