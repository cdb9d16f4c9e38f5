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

    Images (B, C, H, W) over what is `behind`, its log density (B, C or 1, H, W). Pictures (M, C, g, g), not
    premultiplied, and alphas (M, 1, g, g) of objects at `frame` (M, 4) and depth (M,); the others count with their
    presence (M,), an object itself with 1 and 0. The rest as in `mixtures.mix_pixels` -> (M,).
    """
    channels, canvas = images.shape[1], images.shape[0] * images.shape[2] * images.shape[3]
    glimpses = torch.cat([alphas, pictures * alphas], dim=1)
    nearness = SHARPNESS * torch.sigmoid(-depth)
    pieces = [_Piece.of(group, glimpses, frame, nearness) for group in _split(windows)]
    shares = [piece.share(presence) for piece in pieces]  # (2 + C, m, R, Q) each

    heaviest = images.new_zeros(canvas)
    for piece, share in zip(pieces, shares, strict=True):
        heaviest.scatter_reduce_(0, piece.index.flatten(), share[0].flatten(), "amax")
    places, sums = [], images.new_zeros(channels + 2, 2 * canvas)  # of the heaviest, then of the rest
    for piece, share in zip(pieces, shares, strict=True):
        places.append(piece.index + canvas * (share[0] < _at(heaviest[None], piece.index)[0]))
        sums.scatter_add_(1, places[-1].flatten().expand(channels + 2, -1), share.flatten(1))

    seen = torch.cat([images, behind], dim=1).transpose(0, 1).reshape(-1, canvas)
    everyone, result = torch.ones_like(presence), images.new_zeros(len(frame))
    for piece, share, place in zip(pieces, shares, places, strict=True):
        elsewhere = 2 * piece.index + canvas - place  # the half that it is not summed in
        without = _at(sums, place) - share + _at(sums, elsewhere)
        image, back = _at(seen, piece.index).transpose(0, 1).tensor_split((channels,), dim=1)  # (m, C, R, Q), ...
        likelihood = []
        for total, alpha, *colours in (without, without + piece.share(everyone)):
            total = total + cells * EMPTY
            weight = (alpha / total).clamp(0, 1).unsqueeze(1)
            colour = torch.stack(colours, dim=1) / total.unsqueeze(1)
            mean = colour if premultiplied else colour_of(colour, weight)
            likelihood.append(mix_pixels(image, mean, weight, back, sigma, unknown, epsilon))
        result[piece.members] = (likelihood[1] - likelihood[0]).flatten(1).sum(1)
    return result


@dataclass(frozen=True)
class _Piece:
    """Some objects, pasted into their windows."""

    members: Tensor  # (m,)
    index: Tensor  # (m, R, Q) where their windows lie
    pasted: Tensor  # (1 + C, m, R, Q) alpha and premultiplied picture
    nearness: Tensor  # (m,)

    @classmethod
    def of(cls, group: Windows, glimpses: Tensor, frame: Tensor, nearness: Tensor) -> "_Piece":
        pasted = paste(glimpses, frame, group).transpose(0, 1)
        return cls(group.members, group.index(), pasted, nearness[group.members])

    def share(self, presence: Tensor) -> Tensor:
        """What each adds to the sums of weight, weighted alpha and weighted picture: (2 + C, m, R, Q)."""
        presence = presence[self.members][:, None, None]
        weight = shifted_weight(self.pasted[0] * presence, self.nearness)
        return torch.cat([(weight - EMPTY).unsqueeze(0), weight * presence * self.pasted])


def _at(planes: Tensor, index: Tensor) -> Tensor:
    """Planes (C, n) at index (m, R, Q): (C, m, R, Q)."""
    return planes.index_select(1, index.flatten()).view(-1, *index.shape)


def _split(windows: Sequence[Windows]) -> Iterator[Windows]:
    for group in windows:
        many = max(1, _TOGETHER // (group.rows.shape[1] * group.columns.shape[1]))
        for start in range(0, len(group.members), many):
            some = slice(start, start + many)
            yield Windows(group.members[some], group.image[some], group.rows[some], group.columns[some], group.canvas)
