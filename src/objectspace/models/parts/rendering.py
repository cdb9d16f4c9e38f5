"""From a `Scene` or the prior back to pictures: an edited scene is drawn again, new ones are sampled.

Shapes: B images, M objects, C H W image, D latent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from objectspace.errors import UserError
from objectspace.models.parts.drawing import Drawables, draw, over
from objectspace.models.parts.found import Found, Wanted
from objectspace.models.parts.pictures import evaluating, swap, to_picture
from objectspace.models.parts.scenes import to_scenes
from objectspace.ops import geometry
from objectspace.scene import Picture, Scene

if TYPE_CHECKING:
    from objectspace.models.parts.grid import GridModel


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
        layers = draw(objects, model.config.cells, (1, *size))
        return to_picture(model.config, over(model.config, layers, swap(model.config, background[None]))[0])


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
            layers = draw(drawn, model.config.cells, (1, *model.config.image_size))
            photo = over(model.config, layers, backdrops.image)
            scenes += to_scenes(model, Found(drawn, backdrops), photo, Wanted())
    return scenes
