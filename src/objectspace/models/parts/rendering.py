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
from objectspace.models.seen import Appearance
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


def sample(
    model: GridModel, count: int, generator: torch.Generator | None, objects: float | None, appearance: Appearance
) -> list[Scene]:
    """See `GridModel.sample`: the foreground's latents from their priors, the background by the paper's algorithm."""
    rows, columns = model.config.foreground.grid
    cells, stage, seen = rows * columns, model.final, model.seen
    if appearance not in ("prior", "seen"):
        raise UserError(f"appearance {appearance!r}: it is 'prior' or 'seen'")
    if appearance == "seen" and seen is None:
        raise UserError(
            "these weights do not say what was seen in their training: it was stopped before its end (go on with "
            "--resume), or they are of an earlier version. Sample with appearance 'prior'"
        )
    if count < 0 or (objects is not None and not 0 <= objects <= cells):
        raise UserError(f"cannot draw {count} scenes of {objects} objects: this model has {cells} cells")
    like = next(model.parameters())
    scale_std = model.config.foreground.scale_std_at(stage)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=like.dtype, device=like.device)

    def present() -> Tensor:
        """Which cells hold an object (cells,): as many as images have, where that is known and not asked for."""
        if objects is None and seen is not None:
            wanted = min(seen.draw_count(_beside(generator)), cells)
            order = torch.rand(cells, generator=generator, device=like.device).argsort()
            return order.argsort() < wanted
        probability = stage.presence_prior if objects is None else objects / cells
        return torch.rand(cells, generator=generator, device=like.device) < probability

    scenes: list[Scene] = []
    with evaluating(model):
        for _ in range(count):
            here = present()
            scale = stage.scale_prior_mean + scale_std * normal(cells, 2)
            where = geometry.to_where(scale, normal(cells, 2), rows, columns)[here]
            depth, what = normal(cells)[here], normal(cells, model.config.foreground.what_dim)[here]
            if appearance == "seen" and seen is not None:
                what = seen.draw_what(len(what), _beside(generator)).to(what)
            image = torch.zeros(len(what), dtype=torch.long, device=like.device)
            frame, presence = model.foreground.frame(where), torch.ones_like(depth)
            decoded, cost = model.foreground.decode(what), torch.zeros_like(depth)
            drawn = Drawables(image, where, frame, depth, presence, what, *decoded, cost, here[here])
            backdrops = model.generate_background(generator)
            layers = draw(drawn, model.config.cells, (1, *model.config.image_size))
            photo = over(model.config, layers, backdrops.image)
            scenes += to_scenes(model, Found(drawn, backdrops), photo, Wanted())
    return scenes


def _beside(generator: torch.Generator | None) -> torch.Generator:
    """A generator on the processor, where what was seen is drawn, that follows from another wherever that is."""
    device = "cpu" if generator is None else generator.device
    seed = torch.randint(2**31, (1,), generator=generator, device=device)
    return torch.Generator().manual_seed(int(seed))
