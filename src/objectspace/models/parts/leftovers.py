"""Found, not understood: a thing that the background leaves and that the nets cannot draw is an object all the same.

The nets have not learned what it looks like, so nothing that they draw there is worth its price. Yet it can be seen
that something is there: a compact region that the background does not explain at all and nobody else explains either.
It is weighed as an object that may have any colour: a pixel gains by it what it lacks to a uniform density, at the most
log(1 / unknown), and loses where background or objects explain it. So a region that is half explained, as the rim of an
object that is drawn too small, is worth nothing. It must be worth the price of a whole object.

Everything is at the model's size. Shapes: B images, R regions, C H W image.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor

from objectspace.geometry.regions import Region, find_regions
from objectspace.geometry.rle import Mask
from objectspace.geometry.splitting import EIGHT
from objectspace.models.parts.drawing import Drawables
from objectspace.models.parts.second_look import NEARER, attend, log_density
from objectspace.models.parts.targets import LARGEST, LONGEST
from objectspace.models.parts.worth import LEAST_PRICE, expected_pixels
from objectspace.ops import geometry
from objectspace.ops.mixtures import share_of_unknown, with_unknown

if TYPE_CHECKING:
    from objectspace.models.parts.grid import GridModel

LEAST = 12  # pixels; smaller ones are specks, such as an end of a digit or an eaten pill
STRANGE = 10.0  # nats a pixel by which nobody beats the background, on average: blurred edges and shadows have less
PRESENCE = 0.25  # no cell vouches for it, and nothing draws it: half of what a second look gives
OWN = 0.5  # of its pixels that no other object may have


@dataclass(frozen=True)
class Leftovers:
    """Objects that are found and not understood."""

    objects: Drawables  # what the nets make of them, which is not good enough
    evidence: Tensor  # (R,) nats
    prices: Tensor  # (R,) nats
    regions: tuple[Region, ...]  # R of them

    def __getitem__(self, index: Tensor) -> Leftovers:
        regions = tuple(self.regions[number] for number in index.tolist())
        return Leftovers(self.objects[index], self.evidence[index], self.prices[index], regions)


@dataclass(frozen=True)
class _Maps:
    """What is known of the pixels of images, each (B, H, W)."""

    left: NDArray[np.bool_]  # what the background leaves
    nobodys: NDArray[np.bool_]  # what objects leave of that
    strange: NDArray[np.float32]  # nats by which nobody beats the background
    worth: NDArray[np.float32]  # nats that a pixel gains if it may have any colour


def find_leftovers(model: GridModel, objects: Drawables, images: Tensor, behind: Tensor, price: float) -> Leftovers:
    """What lies in images (B, C, H, W) beside the objects that were understood.

    `behind` is the log density of channels or whole pixels under the background (B, C or 1, H, W), `price` what each
    pixel must be worth.
    """
    height, width = images.shape[2:]
    maps, whole = _maps(model, objects, images, behind), expected_pixels(model, (height, width))
    numbers, regions, evidence, prices = list[int](), list[Region](), list[float](), list[float]()
    for number, region, worth in _candidates(maps, images):
        due = price * max(region.area, whole)
        if worth >= max(due, LEAST_PRICE):
            numbers.append(number)
            regions.append(region)
            evidence.append(worth)
            prices.append(due)
    image = torch.tensor(numbers, dtype=torch.long, device=images.device)
    boxes = np.array([region.box for region in regions], np.float64).reshape(-1, 4)
    where = geometry.from_boxes(images.new_tensor(boxes), height, width)
    nearest = images.new_zeros(len(images)).scatter_reduce(0, objects.image, objects.depth, "amin")
    drawn = attend(model, images, image, where, nearest[image] - NEARER)
    drawn = replace(drawn, presence=torch.full_like(drawn.depth, PRESENCE))
    return Leftovers(drawn, images.new_tensor(evidence), images.new_tensor(prices), tuple(regions))


def _maps(model: GridModel, objects: Drawables, images: Tensor, behind: Tensor) -> _Maps:
    unknown = model.final.unknown
    everyone, alone = log_density(model, objects, images, behind), with_unknown(behind, unknown)
    strange = math.log(unknown) - math.log1p(-unknown) - behind.sum(1)
    return _Maps(
        left=(share_of_unknown(alone, unknown) > 0.5).cpu().numpy(),
        nobodys=(share_of_unknown(everyone, unknown) > 0.5).cpu().numpy(),
        strange=strange.float().cpu().numpy(),
        worth=-everyone.float().cpu().numpy(),
    )


def _candidates(maps: _Maps, images: Tensor) -> Iterator[tuple[int, Region, float]]:
    """Compact regions that the background does not explain at all: which image's, and what each is worth."""
    size = maps.left.shape[1] * maps.left.shape[2]
    for number, picture in enumerate(images.permute(0, 2, 3, 1).float().cpu().numpy()):
        for region in find_regions(_with_nobodys(maps.left[number], maps.nobodys[number]), picture, LEAST):
            x0, y0, x1, y1 = region.box
            strange, worth = (each[number, y0:y1, x0:x1][region.mask] for each in (maps.strange, maps.worth))
            if region.area <= LARGEST * size and region.length <= LONGEST and strange.mean() >= STRANGE:
                yield number, region, float(worth.sum())


def _with_nobodys(left: Mask, nobodys: Mask) -> Mask:
    """Of the connected pixels in `left` (H, W) those with enough that are nobody's; the others need no splitting."""
    labels, count = ndimage.label(left, EIGHT)
    enough = np.bincount(labels[nobodys], minlength=count + 1) >= LEAST
    enough[0] = False
    return np.asarray(enough[labels], np.bool_)


def masks_of(regions: Sequence[Region], model_size: tuple[int, int], size: tuple[int, int]) -> Iterator[Mask]:
    """The mask (H, W) on a photo of each region at the model's size; one at a time, since photos may be large."""
    rows, columns = (
        np.minimum((np.arange(long) + 0.5) * short / long, short - 1).astype(np.int64)
        for long, short in zip(size, model_size, strict=True)
    )
    for region in regions:
        canvas = np.zeros(model_size, np.bool_)
        x0, y0, x1, y1 = region.box
        canvas[y0:y1, x0:x1] = region.mask
        yield canvas[rows[:, None], columns]
