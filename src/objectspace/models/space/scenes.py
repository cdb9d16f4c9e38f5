"""From latents to `Scene`s and back: decompose, render, sample.

An object is drawn as present (presence 1), straight at the size of the image it came from, so masks and boxes need no
resizing. Its visible mask holds the pixels where its own weight times its alpha exceeds one half. Shapes: B images,
M objects of one image, N cells, C H W image, g the glimpse's side, D latent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from objectspace.errors import UserError
from objectspace.models.base import Input
from objectspace.models.inputs import Prepared, as_list, prepare, resize
from objectspace.models.space.cells import Chosen
from objectspace.ops import geometry
from objectspace.ops.compositing import SHARPNESS, Composite, composite, shifted_weight
from objectspace.ops.resample import Windows, paste, plan_windows
from objectspace.scene import Box, Component, Object, Picture, Scene

if TYPE_CHECKING:
    from objectspace.models.space.space import Space

_ANYWHERE = 1e6  # pixels; boxes are cut off there, so that they stay finite


@dataclass(frozen=True)
class Drawables:
    """The objects of one image, ready to be drawn at any size."""

    where: Tensor  # (M, 4)
    depth: Tensor  # (M,)
    score: Tensor  # (M,)
    what: Tensor  # (M, D)
    picture: Tensor  # (M, C, g, g)
    alpha: Tensor  # (M, 1, g, g)

    def __getitem__(self, index: Tensor) -> Drawables:
        parts = (self.where, self.depth, self.score, self.what, self.picture, self.alpha)
        return Drawables(*(part[index] for part in parts))


@dataclass(frozen=True)
class Backdrop:
    """The background of one image at the model's size."""

    image: Tensor  # (C, H, W)
    masks: Tensor  # (K, H, W)
    means: Tensor  # (K, C, H, W)


def decompose(
    model: Space,
    images: Input | Sequence[Input],
    threshold: float,
    least_pixels: float,
    least_visible: float,
    batch: int,
) -> list[Scene]:
    """See `Space.decompose`."""
    if not 0 <= threshold <= 1:
        raise UserError(f"threshold is a probability between 0 and 1, not {threshold}")
    inputs = as_list(images)
    scenes: list[Scene] = []
    with _evaluating(model):
        for start in range(0, len(inputs), batch):
            prepared = [
                prepare(image, model.config.image_size, start + number)
                for number, image in enumerate(inputs[start : start + batch])
            ]
            for item, drawables, backdrop in _infer(model, prepared, threshold):
                least = least_pixels * item.height * item.width / (item.image.shape[1] * item.image.shape[2])
                scenes.append(_scene(model, drawables, backdrop, (item.height, item.width), least, least_visible))
    return scenes


def render(model: Space, scene: Scene) -> Picture:
    """See `Space.render`."""
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
    with _evaluating(model):
        picture, alpha = model.foreground.decode(what)
        drawables = Drawables(
            where=geometry.from_boxes(like.new_tensor(scene.where_boxes), *size),
            depth=like.new_tensor([item.depth for item in scene.objects]),
            score=like.new_tensor(scene.scores),
            what=what,
            picture=picture,
            alpha=alpha,
        )
        background = torch.from_numpy(scene.background.copy()).to(like).permute(2, 0, 1) / 255
        return _to_picture(model, _over(_draw(model, drawables, size), _swap(model, background)))


def sample(model: Space, count: int, generator: torch.Generator | None, objects: float | None) -> list[Scene]:
    """See `Space.sample`: the foreground's latents from their priors, the background by the paper's algorithm."""
    rows, columns = model.config.foreground.grid
    cells, stage = rows * columns, model.final
    probability = stage.presence_prior if objects is None else objects / cells
    if count < 0 or not 0 <= probability <= 1:
        raise UserError(f"cannot draw {count} scenes of {objects} objects: this model has {cells} cells")
    like = next(model.parameters())

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=like.dtype, device=like.device)

    scenes: list[Scene] = []
    with _evaluating(model):
        for _ in range(count):
            present = torch.rand(cells, generator=generator, device=like.device) < probability
            scale = stage.scale_prior_mean + model.config.foreground.scale_prior_std * normal(cells, 2)
            where = geometry.to_where(scale, normal(cells, 2), rows, columns)[present]
            depth, what = normal(cells)[present], normal(cells, model.config.foreground.what_dim)[present]
            picture, alpha = model.foreground.decode(what)
            drawables = Drawables(where, depth, torch.ones_like(depth), what, picture, alpha)
            means, log_masks = model.background.generate(1, generator)
            masks = log_masks[0].exp()
            backdrop = Backdrop((masks * means[0]).sum(0), masks[:, 0], means[0])
            scenes.append(_scene(model, drawables, backdrop, model.config.image_size, 0, 0))
    return scenes


class _evaluating:  # noqa: N801
    """Evaluation mode without gradients, and back to whatever mode it was."""

    def __init__(self, model: Space) -> None:
        self.model, self.was_training, self.quiet = model, model.training, torch.inference_mode()

    def __enter__(self) -> None:
        self.model.eval()
        self.quiet.__enter__()

    def __exit__(self, *error: object) -> None:
        self.quiet.__exit__(None, None, None)
        self.model.train(self.was_training)


def _infer(
    model: Space, prepared: Sequence[Prepared], threshold: float
) -> Iterator[tuple[Prepared, Drawables, Backdrop]]:
    like = next(model.parameters())
    images = _swap(model, torch.stack([item.image for item in prepared]).to(like))
    images = images.contiguous(memory_format=torch.channels_last)
    front, back = model.foreground, model.background(images, False, None)
    cells = front.heads(front.encoder(images), model.final.temperature, False, None)
    mask = cells.probability > threshold
    flat = mask.flatten().nonzero().flatten()
    objects = front.attend(images, cells, Chosen(flat, flat // mask.shape[1], mask), False, None)
    score = cells.probability.flatten()[flat]
    everything = Drawables(objects.where, objects.depth, score, objects.what.value, objects.picture, objects.alpha)
    for number, item in enumerate(prepared):
        backdrop = Backdrop(back.image[number], back.masks[number, :, 0], back.means[number])
        yield item, everything[(objects.chosen.image == number).nonzero().flatten()], backdrop


def _scene(
    model: Space,
    drawables: Drawables,
    backdrop: Backdrop,
    size: tuple[int, int],
    least_pixels: float,
    least_visible: float,
) -> Scene:
    masks, own = _masks(model, drawables, size)
    visible = np.array([mask.sum() for mask in masks], np.int64)
    keep = (visible >= max(1, least_pixels)) & (visible >= least_visible * own)
    kept = np.flatnonzero(keep)
    drawables, masks = drawables[torch.from_numpy(kept)], [masks[number] for number in kept]
    owners = resize(backdrop.masks, size).argmax(0).cpu().numpy()
    free = ~np.any(masks, axis=0) if masks else np.ones(size, np.bool_)
    means = [resize(mean, size) for mean in backdrop.means]
    background, layers = resize(backdrop.image, size), _draw(model, drawables, size)
    return Scene(
        height=size[0],
        width=size[1],
        objects=_objects(model, drawables, masks, size),
        components=tuple(Component((owners == k) & free, _to_picture(model, mean)) for k, mean in enumerate(means)),
        reconstruction=_to_picture(model, _over(layers, background)),
        background=_to_picture(model, background),
        foreground=_to_picture(model, layers.image[0]),
        alpha=_to_bytes(layers.alpha[0, 0]),
    )


def _objects(
    model: Space, drawables: Drawables, masks: Sequence[NDArray[np.bool_]], size: tuple[int, int]
) -> tuple[Object, ...]:
    boxes = geometry.to_boxes(drawables.where, *size).clamp(-_ANYWHERE, _ANYWHERE).tolist()
    scores, depths = drawables.score.tolist(), drawables.depth.tolist()
    what = drawables.what.float().cpu().numpy()
    crops = drawables.picture * drawables.alpha
    return tuple(
        Object(
            box=_tight(mask),
            where_box=(box[0], box[1], box[2], box[3]),
            score=scores[number],
            depth=depths[number],
            what=what[number],
            mask=mask,
            crop=_to_picture(model, crops[number]),
        )
        for number, (mask, box) in enumerate(zip(masks, boxes, strict=True))
    )


def _masks(
    model: Space, drawables: Drawables, size: tuple[int, int]
) -> tuple[list[NDArray[np.bool_]], NDArray[np.int64]]:
    """Each object's visible mask (H, W), and how many pixels its whole mask has, hidden ones included: (M,)."""
    count = len(drawables.where)
    masks: list[NDArray[np.bool_]] = [np.zeros(size, np.bool_) for _ in range(count)]
    own = np.zeros(count, np.int64)
    windows = _plan(model, drawables, size)
    layers = _draw(model, drawables, size)
    for group in windows:
        alpha = paste(drawables.alpha, drawables.where, group)[:, 0]  # (m, R, Q)
        weight = shifted_weight(alpha, SHARPNESS * torch.sigmoid(-drawables.depth[group.members]))
        weight = weight / layers.total.flatten()[group.index()]
        visible = (weight * alpha > 0.5).cpu().numpy()
        own[group.members.cpu().numpy()] = (alpha > 0.5).sum((1, 2)).cpu().numpy()
        for place, number in enumerate(group.members.tolist()):
            rows, columns = group.rows[place].cpu().numpy(), group.columns[place].cpu().numpy()
            masks[number][rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] = visible[place]
    return masks, own


def _draw(model: Space, drawables: Drawables, size: tuple[int, int]) -> Composite:
    """The objects laid over one another on one canvas of any size."""
    return composite(
        drawables.picture * drawables.alpha,
        drawables.alpha,
        drawables.where,
        drawables.depth,
        _plan(model, drawables, size),
        _cells(model),
        (1, *size),
    )


def _over(layers: Composite, background: Tensor) -> Tensor:
    """Objects over a background (C, H, W), mixed as the model mixes them: (C, H, W)."""
    return (layers.alpha * layers.image + (1 - layers.alpha) * background)[0]


def _plan(model: Space, drawables: Drawables, size: tuple[int, int]) -> tuple[Windows, ...]:
    image = torch.zeros(len(drawables.where), dtype=torch.long, device=drawables.where.device)
    return plan_windows(drawables.where, image, size, model.config.foreground.glimpse)


def _cells(model: Space) -> int:
    return model.config.foreground.grid[0] * model.config.foreground.grid[1]


def _swap(model: Space, images: Tensor) -> Tensor:
    """RGB to the model's channel order, and back: (..., C, H, W)."""
    return images.flip(-3) if model.config.channels == "bgr" else images


def _to_picture(model: Space, image: Tensor) -> Picture:
    return _to_bytes(_swap(model, image).permute(1, 2, 0))


def _to_bytes(values: Tensor) -> NDArray[np.uint8]:
    return (values.clamp(0, 1) * 255).round().to(torch.uint8).contiguous().cpu().numpy()


def _tight(mask: NDArray[np.bool_]) -> Box:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)
