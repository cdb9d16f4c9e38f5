"""From latents to `Scene`s and back: decompose, render, sample.

Only what is asked for is computed: boxes and masks need no background and no pictures, and only the cells that hold an
object are looked at. Images of one size are worked on together. Shapes: B images, K components, C H W image, D latent.
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
from objectspace.models.base import Input
from objectspace.models.inputs import Prepared, as_list, prepare, resize
from objectspace.models.parts.drawing import Drawables, Visible, draw, look
from objectspace.models.parts.pictures import Backdrops, evaluating, swap, to_bytes, to_picture
from objectspace.ops import geometry
from objectspace.ops.compositing import Composite
from objectspace.scene import Component, Object, Picture, Scene

if TYPE_CHECKING:
    from objectspace.models.parts.grid import GridModel

_ANYWHERE = 1e6  # pixels; boxes are cut off there, so that they stay finite
_CANVAS = 2**22  # pixels that are drawn together, so that memory does not grow with the batch


@dataclass(frozen=True)
class Wanted:
    """What is asked of `decompose`; see `GridModel.decompose`."""

    threshold: float = 0.5
    least_pixels: float = 10
    least_visible: float = 0.3
    background: bool = True
    pictures: bool = True
    published: bool = False


def decompose(model: GridModel, images: Input | Sequence[Input], wanted: Wanted, batch: int) -> list[Scene]:
    """See `GridModel.decompose`."""
    if not 0 <= wanted.threshold <= 1:
        raise UserError(f"threshold is a probability between 0 and 1, not {wanted.threshold}")
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
            objects, backdrops = _infer(model, prepared, wanted)
            made: dict[int, Scene] = {}
            for numbers, size in _of_one_size(prepared):
                index = torch.tensor(numbers, device=objects.image.device)
                chosen = objects[torch.isin(objects.image, index).nonzero().flatten()]
                behind = None if backdrops is None else backdrops[index]
                made |= zip(numbers, _scenes(model, chosen, numbers, behind, size, wanted), strict=True)
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
        )
        background = torch.from_numpy(scene.background.copy()).to(like).permute(2, 0, 1) / 255
        layers = draw(objects, _cells(model), (1, *size))
        return to_picture(model.config, _over(layers, 0, swap(model.config, background)))


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
    everything = Wanted(least_pixels=0, least_visible=0)
    with evaluating(model):
        for _ in range(count):
            present = torch.rand(cells, generator=generator, device=like.device) < probability
            scale = stage.scale_prior_mean + scale_std * normal(cells, 2)
            where = geometry.to_where(scale, normal(cells, 2), rows, columns)[present]
            depth, what = normal(cells)[present], normal(cells, model.config.foreground.what_dim)[present]
            image = torch.zeros(len(what), dtype=torch.long, device=like.device)
            frame, presence = model.foreground.frame(where), torch.ones_like(depth)
            drawn = Drawables(image, where, frame, depth, presence, what, *model.foreground.decode(what))
            scenes += _scenes(
                model, drawn, [0], model.generate_background(generator), model.config.image_size, everything
            )
    return scenes


def _infer(model: GridModel, prepared: Sequence[Prepared], wanted: Wanted) -> tuple[Drawables, Backdrops | None]:
    like = next(model.parameters())
    images = swap(model.config, torch.stack([item.image for item in prepared]).to(like))
    images = images.contiguous(memory_format=torch.channels_last)
    objects = model.foreground.find(images, model.final.temperature, wanted.threshold)
    return objects, model.infer_background(images, wanted.pictures) if wanted.background else None


def _of_one_size(prepared: Sequence[Prepared]) -> Iterator[tuple[list[int], tuple[int, int]]]:
    """The images of a batch in groups that are drawn together."""
    by_size: dict[tuple[int, int], list[int]] = {}
    for number, item in enumerate(prepared):
        by_size.setdefault((item.height, item.width), []).append(number)
    for size, numbers in by_size.items():
        together = max(1, _CANVAS // (size[0] * size[1]))
        for start in range(0, len(numbers), together):
            yield numbers[start : start + together], size


def _scenes(
    model: GridModel,
    objects: Drawables,
    numbers: Sequence[int],
    backdrops: Backdrops | None,
    size: tuple[int, int],
    wanted: Wanted,
) -> Iterator[Scene]:
    """The scenes of the images `numbers`, rising and all of one size, from all their objects."""
    cells, shape = _cells(model), (len(numbers), *size)
    objects = replace(objects, image=torch.searchsorted(objects.image.new_tensor(numbers), objects.image))
    seen = look(objects, cells, shape)
    scale = size[0] * size[1] / (model.config.image_size[0] * model.config.image_size[1])
    large = seen.area >= max(1, wanted.least_pixels * scale)
    kept = np.flatnonzero(wanted.published | large & (seen.area >= wanted.least_visible * seen.whole))
    objects = objects[torch.from_numpy(kept)]
    layers = draw(objects, cells, shape) if wanted.pictures else None
    records = _objects(model, objects, seen, kept, size, wanted)
    first = np.searchsorted(objects.image.cpu().numpy(), range(len(numbers) + 1))
    for number in range(len(numbers)):
        mine = records[first[number] : first[number + 1]]
        backdrop = None if backdrops is None else backdrops[torch.tensor(number)]
        yield _scene(model, mine, backdrop, layers, number, size)


def _scene(
    model: GridModel,
    objects: tuple[Object, ...],
    backdrop: Backdrops | None,
    layers: Composite | None,
    number: int,
    size: tuple[int, int],
) -> Scene:
    """One scene: `layers` holds its drawn objects at `number`, `backdrop` its own background (K, ...)."""
    components: tuple[Component, ...] = ()
    background = None
    if backdrop is not None:
        owners = resize(backdrop.masks, size).argmax(0).cpu().numpy()
        free = np.ones(size, np.bool_)
        for item in objects:
            free[item.mask] = False
        pictures: list[Picture | None] = [None] * len(backdrop.masks)
        if backdrop.means is not None:
            pictures = [to_picture(model.config, resize(mean, size)) for mean in backdrop.means]
            background = resize((backdrop.masks[:, None] * backdrop.means).sum(0), size)
        components = tuple(Component((owners == k) & free, picture) for k, picture in enumerate(pictures))
    return Scene(
        height=size[0],
        width=size[1],
        objects=objects,
        components=components,
        reconstruction=None
        if layers is None or background is None
        else to_picture(model.config, _over(layers, number, background)),
        background=None if background is None else to_picture(model.config, background),
        foreground=None if layers is None else to_picture(model.config, layers.image[number]),
        alpha=None if layers is None else to_bytes(layers.alpha[number, 0]),
    )


def _objects(
    model: GridModel, objects: Drawables, seen: Visible, kept: NDArray[np.int64], size: tuple[int, int], wanted: Wanted
) -> tuple[Object, ...]:
    """The kept objects of all images; `kept` are their numbers in `seen`."""
    where_boxes = geometry.to_boxes(objects.where, *size).clamp(-_ANYWHERE, _ANYWHERE).cpu().numpy()
    share = np.ones(len(kept)) if wanted.published else (seen.area / seen.whole.clip(1))[kept]
    scores = (objects.presence.cpu().numpy() * share).tolist()
    boxes = np.where(seen.area[kept, None] > 0, seen.boxes[kept], where_boxes).tolist()
    depths = objects.depth.tolist()
    what, masks = objects.what.float().cpu().numpy(), seen.masks(kept, size)
    crops: list[Picture | None] = [None] * len(kept)
    if wanted.pictures:
        crops = [to_picture(model.config, crop) for crop in objects.picture * objects.alpha]
    rows = zip(boxes, where_boxes.tolist(), scores, depths, what, masks, crops, strict=True)
    return tuple(Object(*row) for row in rows)


def _over(layers: Composite, number: int, background: Tensor) -> Tensor:
    """The objects of one image over its background (C, H, W), mixed as the model mixes them: (C, H, W)."""
    alpha = layers.alpha[number]
    return alpha * layers.image[number] + (1 - alpha) * background


def _cells(model: GridModel) -> int:
    return model.config.foreground.grid[0] * model.config.foreground.grid[1]
