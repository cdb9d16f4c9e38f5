"""Which pixels of a photo belong to which object, and which of the rest to which component, at the photo's own size.

A pixel x belongs to object i with a probability proportional to w_i alpha_i N(x; colour_i, s), w_i being its weight
among all cells; against it stand the other objects, the background's components with the weight 1 - sum w alpha, and
nobody, with a small weight, if the model knows the unknown. What the ground in shadow explains as well as an object is
shadow, though the object may have learned to draw it. Where an object is hardly drawn, its colour is not the one that
was drawn, which nothing has taught, but the one that it has in the photo, where it is surely seen. A mask holds the
pixels where the probability exceeds one half, so masks are disjoint. What no object has is the component's that
explains it best. All channels are weighed at once. Objects are looked at in their windows only. Shapes: B photos of one
size, M objects, m of them in a window group, K components, C H W photo, R Q a window.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from objectspace.geometry.boxes import tight_boxes
from objectspace.geometry.rle import Mask
from objectspace.geometry.window import Window
from objectspace.models.parts.drawing import Drawables
from objectspace.models.parts.pictures import Backdrops, to_size
from objectspace.ops.compositing import EMPTY, SHARPNESS, colour_of, shifted_weight
from objectspace.ops.mixtures import LEVELS, shades
from objectspace.ops.resample import Windows, paste

SHARPEST = 0.1  # stdev of a colour when pixels are shared out: the wider ones of training would blur the rims
FEWEST = 4.0  # pixels that an object must own before they say what colour it has
_FARTHEST = 60.0  # nats by which a colour can be wrong; beyond it float32 has no numbers left
_NOBODY = 1e-12  # how much nobody weighs when masks are made: at a rim two colours meet, and neither explains it well


@dataclass(frozen=True)
class Weighing:
    """How pixels are weighed."""

    cells: int
    objects: float  # stdev of an object's colour
    background: float  # stdev of the background's
    unknown: float  # the share of pixels that are explained by nobody
    shadow: float = 0.0  # the share of the background that lies in shadow


@dataclass(frozen=True)
class Visible:
    """What can be seen of each object; masks stay in their windows until they are asked for."""

    area: NDArray[np.int64]  # (M,) pixels of the mask
    share: NDArray[np.float64]  # (M,) how much of the drawn object nothing hides
    boxes: NDArray[np.float64]  # (M, 4) tight around the mask; meaningless where it has no pixel
    whole: NDArray[np.float64]  # (M, 4) tight around the drawn object, hidden parts included; NaN where it is too faint
    corners: NDArray[np.int64]  # (M, 2) first row and column of each window
    windows: list[Mask]  # M masks (R, Q)
    unexplained: Tensor  # (B, H, W) the probability that nobody explains a pixel

    def window(self, number: int, size: tuple[int, int]) -> Window:
        """An object's mask on a photo of `size`."""
        row, column = self.corners[number].tolist()
        return Window.of(self.windows[number], row, column, size)


@dataclass(frozen=True)
class _Layer:
    """The objects of a window group."""

    group: Windows
    index: Tensor  # (m, R, Q) where their windows lie
    pixels: Tensor  # (m, C, R, Q) of the photo
    colour: Tensor  # (m, C, R, Q)
    alpha: Tensor  # (m, R, Q)
    share: Tensor  # (m, R, Q) weight times alpha
    sigma: float

    @cached_property
    def density(self) -> Tensor:
        """The share times N(x; colour): (m, R, Q)."""
        return self.share * _density(self.pixels, self.colour, self.sigma)

    def as_seen(self, rivals: Tensor) -> "_Layer":
        """The same objects, each of the mean colour of its own pixels in the photo where it is hardly drawn.

        `rivals` is all that explains pixels, (B H W,).
        """
        own = self.alpha * (self.density > 0.5 * rivals[self.index])
        sum_, total = (own[:, None] * self.pixels).sum((2, 3)), own.sum((1, 2))[:, None]
        seen, alpha = (sum_ / total.clamp(min=FEWEST))[..., None, None], self.alpha[:, None]
        colour = torch.where((total < FEWEST)[..., None, None], self.colour, torch.lerp(seen, self.colour, alpha))
        return replace(self, colour=colour)


def share_out(objects: Drawables, photos: Tensor, backdrops: Backdrops, how: Weighing) -> Visible:
    """Share out the pixels of photos (B, C, H, W) among their objects and backgrounds."""
    count, _, *size = photos.shape
    layers = _layers(objects, photos, how)
    lit, dark = (each.flatten() for each in _ground(photos, backdrops, how.background, how.shadow))
    free = (1 - _sum(layers, "share", lit)).clamp(min=0)  # of objects
    ground = free * (1 - how.shadow) * lit
    nobody = how.unknown / (1 - how.unknown)
    drawn = _sum(layers, "density", lit)
    everyone = drawn + ground + free * (how.shadow / LEVELS) * dark
    shares = nobody / (everyone + nobody) if how.unknown else torch.zeros_like(everyone)
    others = ground + dark + min(nobody, _NOBODY)  # objects that draw their shadow do not own it
    layers = [layer.as_seen(drawn + others) for layer in layers]
    return _visible(len(objects), layers, _sum(layers, "density", lit) + others, shares.view(count, *size))


def _sum(layers: list[_Layer], name: Literal["share", "density"], like: Tensor) -> Tensor:
    """What all objects have together of every pixel: (B H W,)."""
    total = torch.zeros_like(like)
    for layer in layers:
        total.scatter_add_(0, layer.index.flatten(), getattr(layer, name).flatten())
    return total


def _ground(photos: Tensor, backdrops: Backdrops, sigma: float, shadow: float) -> tuple[Tensor, Tensor]:
    """The density of pixels of photos (B, C, H, W) under their backgrounds, in light and in shadow: (B, H, W) each."""
    lit, ground = torch.zeros_like(photos[:, 0]), torch.zeros_like(photos)
    for weight, means in _components(photos, backdrops):
        lit += weight * _density(photos, means, sigma)
        if shadow:
            ground += weight[:, None] * means
    dark = _density(photos, shades(photos, ground) * ground, sigma) if shadow else torch.zeros_like(lit)
    return lit, dark


def segment(photos: Tensor, backdrops: Backdrops, sigma: float, shadow: float = 0.0) -> Tensor:
    """Which component explains each pixel of photos (B, C, H, W) best, lit or in shadow: their numbers (B, H, W)."""
    best, owner = torch.full_like(photos[:, 0], -1), torch.zeros_like(photos[:, 0], dtype=torch.long)
    for number, (weight, means) in enumerate(_components(photos, backdrops)):
        density = _density(photos, means, sigma)
        if shadow:
            dark = _density(photos, shades(photos, means) * means, sigma)
            density = torch.maximum((1 - shadow) * density, shadow / LEVELS * dark)
        density = density * weight
        owner[density > best] = number
        best = torch.maximum(best, density)
    return owner


def _components(photos: Tensor, backdrops: Backdrops) -> Iterator[tuple[Tensor, Tensor]]:
    """Masks (B, H, W) and pictures (B, C, H, W) at the size of photos, one component after another: little memory."""
    if backdrops.means is None:
        raise ValueError("pixels can be weighed against a background only if it has its pictures")
    size = photos.shape[2], photos.shape[3]
    for masks, means in zip(backdrops.masks.unbind(1), backdrops.means.unbind(1), strict=True):
        means = means if means.shape[2:] == size else torch.stack([to_size(mean, size) for mean in means])
        yield to_size(masks, size), means


def _layers(objects: Drawables, photos: Tensor, how: Weighing) -> list[_Layer]:
    height, width = photos.shape[2:]
    nearness = SHARPNESS * torch.sigmoid(-objects.depth)
    total = photos.new_full((photos[:, 0].numel(),), how.cells * EMPTY)  # sum of all cells' weights
    planes = photos.transpose(0, 1).flatten(1)  # (C, B H W)
    glimpses = torch.cat([objects.alpha, objects.picture * objects.alpha], dim=1)
    pasted = []
    for group in objects.windows((height, width)):
        drawn = paste(glimpses, objects.frame, group)  # (m, 1 + C, R, Q)
        alpha, colour = drawn[:, 0], colour_of(drawn[:, 1:], drawn[:, :1])
        weight = shifted_weight(alpha, nearness[group.members])
        index = group.index()
        total.scatter_add_(0, index.flatten(), (weight - EMPTY).flatten())
        pasted.append((group, index, alpha, colour, weight))
    layers = []
    for group, index, alpha, colour, weight in pasted:
        share = weight / total[index] * alpha
        pixels = planes.index_select(1, index.flatten()).view(-1, *index.shape).transpose(0, 1)
        layers.append(_Layer(group, index, pixels, colour, alpha, share, how.objects))
    return layers


def _visible(count: int, layers: list[_Layer], everything: Tensor, unexplained: Tensor) -> Visible:
    area, share = np.zeros(count, np.int64), np.zeros(count)
    boxes, whole, corners = np.zeros((count, 4)), np.zeros((count, 4)), np.zeros((count, 2), np.int64)
    windows: list[Mask] = [np.zeros((0, 0), np.bool_)] * count
    for layer in layers:
        members, rows, columns = (
            values.cpu().numpy() for values in (layer.group.members, layer.group.rows, layer.group.columns)
        )
        masks = (layer.density > 0.5 * everything[layer.index]).cpu().numpy()
        drawn, seen = ((values > 0.5).cpu().numpy() for values in (layer.alpha, layer.share))
        corners[members] = np.stack([rows[:, 0], columns[:, 0]], axis=1)
        offset = np.tile(corners[members][:, ::-1], 2)
        area[members] = masks.sum((1, 2))
        share[members] = seen.sum((1, 2)) / drawn.sum((1, 2)).clip(1)
        boxes[members] = tight_boxes(masks) + offset
        whole[members] = np.where(drawn.any((1, 2))[:, None], tight_boxes(drawn) + offset, np.nan)
        for number, mask in zip(members.tolist(), masks, strict=True):
            windows[number] = mask
    return Visible(area, share, boxes, whole, corners, windows, unexplained)


def _density(values: Tensor, mean: Tensor, sigma: float) -> Tensor:
    """N(values; mean, sigma) of all channels at once, not below e^-60 of its peak: (m, C, R, Q) -> (m, R, Q)."""
    distance = (values - mean).square().sum(1) / (2 * sigma**2)
    return torch.exp(-distance.clamp(max=_FARTHEST) - values.shape[1] * math.log(sigma * (2 * math.pi) ** 0.5))
