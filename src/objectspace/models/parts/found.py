"""Which objects there are in images, what each is worth and how sure it is; everything at the model's size.

Cells propose, the price decides, and what is left unexplained is looked at again. Shapes: B images, M objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from objectspace.models.inputs import Prepared
from objectspace.models.parts import worth
from objectspace.models.parts.drawing import Drawables
from objectspace.models.parts.leftovers import Leftovers, find_leftovers
from objectspace.models.parts.pictures import Backdrops, swap
from objectspace.models.parts.second_look import look_again, look_closer

if TYPE_CHECKING:
    from objectspace.models.parts.grid import GridModel

PRICE = 0.3  # nats a pixel; chosen on validation images, where 0.15 to 0.75 do nearly as well
_AMPLE = 10.0  # prices that leave little doubt ...
_LEAST_AMPLE = 40.0  # ... and nats that do so for the smallest


@dataclass(frozen=True)
class Wanted:
    """What is asked of `decompose`; see `GridModel.decompose`."""

    threshold: float = 0.5
    price: float | None = None  # nats a pixel; None: nothing is removed
    background: bool = True
    pictures: bool = True
    published: bool = False
    second_look: bool = True  # at what is left unexplained, where there is a price
    leftovers: bool = True  # whether what that leaves is found all the same


@dataclass(frozen=True)
class Found:
    """What is in some images."""

    objects: Drawables
    backdrops: Backdrops
    evidence: Tensor | None = None  # (M,) nats; None where no image was looked at
    prices: Tensor | None = None  # (M,) nats for all pixels that each draws; None: nothing was asked for
    leftovers: Leftovers | None = None  # None: nobody looked for any

    def among(self, numbers: Sequence[int]) -> Found:
        """What is in the images `numbers`, rising, which are counted from 0 again."""
        index = torch.tensor(numbers, device=self.objects.image.device)
        mine = _among(self.objects, index)
        objects, leftovers = _counted(self.objects[mine], index), self.leftovers
        if leftovers is not None:
            leftovers = leftovers[_among(leftovers.objects, index)]
            leftovers = replace(leftovers, objects=_counted(leftovers.objects, index))
        evidence, prices = (None if values is None else values[mine] for values in (self.evidence, self.prices))
        return Found(objects, self.backdrops[index], evidence, prices, leftovers)

    def scores(self, seen: Tensor) -> Tensor:
        """How likely each is there and can be seen (M,); its presence alone where there was no price."""
        if self.evidence is None or self.prices is None:
            return self.objects.presence.double()
        return score(self.objects, self.evidence, self.prices, seen)


def score(objects: Drawables, evidence: Tensor, prices: Tensor, seen: Tensor) -> Tensor:
    """How likely objects are there and can be seen (M,).

    Their presence, less if they are hardly worth their price, times the share of each that is `seen` (M,).
    """
    ample = (_AMPLE * prices).clamp(min=_LEAST_AMPLE)
    return (objects.presence * -torch.expm1(-evidence / ample)).double() * seen


def find(model: GridModel, prepared: Sequence[Prepared], wanted: Wanted) -> Found:
    """The objects of some images that are worth their price, and what is behind them."""
    like = next(model.parameters())
    images = swap(model.config, torch.stack([item.image for item in prepared]).to(like))
    images = images.contiguous(memory_format=torch.channels_last)
    objects = model.foreground.find(images, model.final, wanted.threshold)
    backdrops = model.infer_background(images, True)
    behind = worth.behind(model, images, backdrops)
    if wanted.price is None or wanted.published:
        return Found(objects, backdrops, worth.worth(model, objects, images, behind))
    objects, evidence, prices = worth.prune(model, objects, images, behind, wanted.price)
    if wanted.second_look and model.final.unknown:
        objects, evidence = look_closer(model, objects, evidence, images, behind)
        objects, evidence = look_again(model, objects, evidence, images, behind)
        objects, evidence, prices = worth.prune(model, objects, images, behind, wanted.price, evidence)
        if wanted.leftovers:
            leftovers = find_leftovers(model, objects, images, behind, wanted.price)
            return Found(objects, backdrops, evidence, prices, leftovers)
    return Found(objects, backdrops, evidence, prices)


def _among(objects: Drawables, images: Tensor) -> Tensor:
    """Which objects are in some images."""
    return torch.isin(objects.image, images).nonzero().flatten()


def _counted(objects: Drawables, images: Tensor) -> Drawables:
    """Objects of `images`, rising, which are counted from 0 again."""
    return replace(objects, image=torch.searchsorted(images, objects.image))
