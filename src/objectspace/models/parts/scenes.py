"""From latents to `Scene`s and back: decompose, render, sample.

Only what is asked for is made, and only the cells that hold an object are looked at. Which objects there are is decided
at the model's size, which pixels are theirs at the image's own. Images of one size are worked on together. Shapes:
B images, M objects, K components, C H W image, D latent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from objectspace.errors import UserError
from objectspace.geometry.rle import Mask
from objectspace.models.base import Input
from objectspace.models.inputs import Prepared, as_list, prepare
from objectspace.models.parts import worth
from objectspace.models.parts.drawing import Drawables, draw
from objectspace.models.parts.pictures import Backdrop, Backdrops, evaluating, swap, to_bytes, to_picture, to_size
from objectspace.models.parts.second_look import look_again, look_closer
from objectspace.models.parts.visible import SHARPEST, Visible, Weighing, share_out
from objectspace.ops import geometry
from objectspace.ops.compositing import Composite
from objectspace.scene import Component, Object, Picture, Scene

if TYPE_CHECKING:
    from objectspace.models.parts.grid import GridModel

PRICE = 0.3  # nats a pixel; chosen on validation images, where 0.15 to 0.75 do nearly as well
_AMPLE = 10.0  # prices that leave little doubt ...
_LEAST_AMPLE = 40.0  # ... and nats that do so for the smallest
_ANYWHERE = 1e6  # pixels; boxes are cut off there, so that they stay finite
_CANVAS = 2**22  # pixels that are drawn together, so that memory does not grow with the batch


@dataclass(frozen=True)
class Wanted:
    """What is asked of `decompose`; see `GridModel.decompose`."""

    threshold: float = 0.5
    price: float | None = None  # nats a pixel; None: nothing is removed
    background: bool = True
    pictures: bool = True
    published: bool = False
    second_look: bool = True  # at what is left unexplained, where there is a price


@dataclass(frozen=True)
class Found:
    """What is in some images."""

    objects: Drawables
    backdrops: Backdrops
    evidence: Tensor | None = None  # (M,) nats; None where no image was looked at
    prices: Tensor | None = None  # (M,) nats for all pixels that each draws; None: nothing was asked for

    def among(self, numbers: Sequence[int]) -> Found:
        """What is in the images `numbers`, rising, which are counted from 0 again."""
        index = torch.tensor(numbers, device=self.objects.image.device)
        mine = torch.isin(self.objects.image, index).nonzero().flatten()
        objects = self.objects[mine]
        objects = replace(objects, image=torch.searchsorted(index, objects.image))
        evidence, prices = (None if values is None else values[mine] for values in (self.evidence, self.prices))
        return Found(objects, self.backdrops[index], evidence, prices)

    @property
    def surety(self) -> Tensor:
        """How likely each is there (M,): its presence, and less if it is hardly worth its price."""
        if self.evidence is None or self.prices is None:
            return self.objects.presence
        ample = (_AMPLE * self.prices).clamp(min=_LEAST_AMPLE)
        return self.objects.presence * -torch.expm1(-self.evidence / ample)


def decompose(model: GridModel, images: Input | Sequence[Input], wanted: Wanted, batch: int) -> list[Scene]:
    """See `GridModel.decompose`."""
    if not 0 <= wanted.threshold <= 1:
        raise UserError(f"threshold is a probability between 0 and 1, not {wanted.threshold}")
    if wanted.price is not None and not wanted.price >= 0:
        raise UserError(f"price is how many nats a pixel of an object must be worth, at least 0, not {wanted.price}")
    if batch < 1:
        raise UserError(f"batch is how many images are worked on at a time, at least 1, not {batch}")
    inputs = as_list(images)
    scenes: list[Scene] = []
    with evaluating(model):
        for start in range(0, len(inputs), batch):
            prepared = [
                prepare(image, model.config.image_size, start + number)
                for number, image in enumerate(inputs[start : start + batch])
            ]
            found = _infer(model, prepared, wanted)
            made: dict[int, Scene] = {}
            for numbers in _of_one_size(prepared):
                photos = torch.stack([prepared[number].pixels for number in numbers])
                photos = swap(model.config, photos.to(found.backdrops.masks))
                made |= zip(numbers, _scenes(model, found.among(numbers), photos, wanted), strict=True)
            scenes += [made[number] for number in range(len(prepared))]
    return scenes


def render(model: GridModel, scene: Scene) -> Picture:
    """See `GridModel.render`."""
    if scene.background is None:
        raise UserError("this scene has no background picture, so it cannot be drawn: decompose gives one")
    if any(item.what is None for item in scene.objects):
        raise UserError("an object of this scene has no `what`, so it cannot be drawn: decompose gives one")
    like, dim = next(model.parameters()), model.config.foreground.what_dim
    size = scene.height, scene.width
    vectors = [item.what for item in scene.objects if item.what is not None]
    for vector in vectors:
        if len(vector) != dim:
            raise UserError(f"an object's `what` has {len(vector)} numbers, but this model's have {dim}")
    what = like.new_tensor(np.array(vectors, np.float32).reshape(len(vectors), dim))
    with evaluating(model):
        picture, alpha = model.foreground.decode(what)
        where = geometry.from_boxes(like.new_tensor(scene.where_boxes), *size)
        objects = Drawables(
            image=torch.zeros(len(what), dtype=torch.long, device=like.device),
            where=where,
            frame=model.foreground.frame(where),
            depth=like.new_tensor([item.depth for item in scene.objects]),
            presence=like.new_tensor(scene.scores),
            what=what,
            picture=picture,
            alpha=alpha,
            cost=like.new_zeros(len(what)),
            held=torch.ones(len(what), dtype=torch.bool, device=like.device),
        )
        background = torch.from_numpy(scene.background.copy()).to(like).permute(2, 0, 1) / 255
        layers = draw(objects, _cells(model), (1, *size))
        return to_picture(model.config, _over(model, layers, swap(model.config, background[None]))[0])


def sample(model: GridModel, count: int, generator: torch.Generator | None, objects: float | None) -> list[Scene]:
    """See `GridModel.sample`: the foreground's latents from their priors, the background by the paper's algorithm."""
    rows, columns = model.config.foreground.grid
    cells, stage = rows * columns, model.final
    probability = stage.presence_prior if objects is None else objects / cells
    if count < 0 or not 0 <= probability <= 1:
        raise UserError(f"cannot draw {count} scenes of {objects} objects: this model has {cells} cells")
    like = next(model.parameters())
    scale_std = model.config.foreground.scale_std_at(stage)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=like.dtype, device=like.device)

    scenes: list[Scene] = []
    with evaluating(model):
        for _ in range(count):
            present = torch.rand(cells, generator=generator, device=like.device) < probability
            scale = stage.scale_prior_mean + scale_std * normal(cells, 2)
            where = geometry.to_where(scale, normal(cells, 2), rows, columns)[present]
            depth, what = normal(cells)[present], normal(cells, model.config.foreground.what_dim)[present]
            image = torch.zeros(len(what), dtype=torch.long, device=like.device)
            frame, presence = model.foreground.frame(where), torch.ones_like(depth)
            decoded, cost = model.foreground.decode(what), torch.zeros_like(depth)
            drawn = Drawables(image, where, frame, depth, presence, what, *decoded, cost, present[present])
            backdrops = model.generate_background(generator)
            layers = draw(drawn, _cells(model), (1, *model.config.image_size))
            photo = _over(model, layers, backdrops.image)
            scenes += _scenes(model, Found(drawn, backdrops), photo, Wanted())
    return scenes


def _infer(model: GridModel, prepared: Sequence[Prepared], wanted: Wanted) -> Found:
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
    return Found(objects, backdrops, evidence, prices)


def _of_one_size(prepared: Sequence[Prepared]) -> Iterator[list[int]]:
    """The images of a batch in groups that are drawn together."""
    by_size: dict[tuple[int, int], list[int]] = {}
    for number, item in enumerate(prepared):
        by_size.setdefault((item.height, item.width), []).append(number)
    for size, numbers in by_size.items():
        together = max(1, _CANVAS // (size[0] * size[1]))
        for start in range(0, len(numbers), together):
            yield numbers[start : start + together]


def _scenes(model: GridModel, found: Found, photos: Tensor, wanted: Wanted) -> Iterator[Scene]:
    """The scenes of photos (B, C, H, W), all of one size, from what was found in them."""
    size = photos.shape[2], photos.shape[3]
    config, final = model.config, model.final
    how = Weighing(
        cells=_cells(model),
        objects=min(SHARPEST, config.foreground.sigma_at(final)),
        background=min(SHARPEST, config.background.sigma_at(final)),
        unknown=final.unknown,
        shadow=config.background.shadow,
    )
    seen = share_out(found.objects, photos, found.backdrops, how)
    kept = np.flatnonzero((seen.area > 0) | (found.prices is None))
    records = _objects(model, found, seen, kept, size, wanted)
    objects = found.objects[torch.from_numpy(kept).to(found.objects.image.device)]
    layers = draw(objects, how.cells, (len(photos), *size)) if wanted.pictures else None
    first = np.searchsorted(objects.image.cpu().numpy(), range(len(photos) + 1))
    for number in range(len(photos)):
        mine = records[first[number] : first[number + 1]]
        backdrop = found.backdrops.of(number) if wanted.background else None
        if backdrop is not None and not wanted.pictures:
            backdrop = Backdrop(backdrop.masks, None)
        unexplained = (seen.unexplained[number] > 0.5).cpu().numpy() if final.unknown else None
        yield _scene(model, mine, backdrop, layers, number, size, unexplained)


def _scene(
    model: GridModel,
    objects: tuple[Object, ...],
    backdrop: Backdrop | None,
    layers: Composite | None,
    number: int,
    size: tuple[int, int],
    unexplained: Mask | None,
) -> Scene:
    """One scene: `layers` holds its drawn objects at `number`, `backdrop` its own background (K, ...)."""
    components: tuple[Component, ...] = ()
    layer = None if layers is None else layers[number]
    background = None
    if backdrop is not None:
        owners = to_size(backdrop.masks, size).argmax(0).cpu().numpy()
        free = np.ones(size, np.bool_)
        for item in objects:
            free[item.mask] = False
        pictures: list[Picture | None] = [None] * len(backdrop.masks)
        if backdrop.means is not None:
            pictures = [to_picture(model.config, to_size(mean, size)) for mean in backdrop.means]
            background = to_size(backdrop.image, size)
        components = tuple(Component((owners == k) & free, picture) for k, picture in enumerate(pictures))
    return Scene(
        height=size[0],
        width=size[1],
        objects=objects,
        components=components,
        reconstruction=None
        if layer is None or background is None
        else to_picture(model.config, _over(model, layer, background)),
        background=None if background is None else to_picture(model.config, background),
        foreground=None if layer is None else to_picture(model.config, layer.image),
        alpha=None if layer is None else to_bytes(layer.alpha[0]),
        unexplained=unexplained,
    )


def _objects(
    model: GridModel, found: Found, seen: Visible, kept: NDArray[np.int64], size: tuple[int, int], wanted: Wanted
) -> tuple[Object, ...]:
    """The kept objects of all images; `kept` are their numbers in `found` and `seen`."""
    objects = found.objects[torch.from_numpy(kept).to(found.objects.image.device)]
    latent = geometry.to_boxes(objects.where, *size).clamp(-_ANYWHERE, _ANYWHERE).double().cpu().numpy()
    boxes = np.where((seen.area[kept] > 0)[:, None] & (not wanted.published), seen.boxes[kept], latent)
    whole = np.where(np.isnan(seen.whole[kept]), latent, seen.whole[kept])
    scores = found.surety.double().cpu().numpy()[kept] * (1 if found.prices is None else seen.share[kept])
    evidence = [None] * len(kept) if found.evidence is None else found.evidence.cpu().numpy()[kept].tolist()
    crops = [to_picture(model.config, crop) if wanted.pictures else None for crop in objects.picture * objects.alpha]
    what, masks = objects.what.float().cpu().numpy(), seen.masks(kept, size)
    return tuple(
        Object(
            box=boxes[number],
            where_box=latent[number],
            score=scores[number],
            depth=float(objects.depth[number]),
            what=what[number],
            mask=masks[number],
            crop=crops[number],
            whole_box=whole[number],
            evidence=evidence[number],
        )
        for number in range(len(kept))
    )


def _over(model: GridModel, layers: Composite, background: Tensor) -> Tensor:
    """Objects over backgrounds (..., C, H, W), mixed as the model mixes them: (..., C, H, W)."""
    mean = layers.alpha * layers.image if model.config.foreground.premultiplied else layers.image
    return mean + (1 - layers.alpha) * background


def _cells(model: GridModel) -> int:
    return model.config.foreground.grid[0] * model.config.foreground.grid[1]
