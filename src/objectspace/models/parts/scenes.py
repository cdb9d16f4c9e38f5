"""From images to `Scene`s.

Only what is asked for is made, and only the cells that hold an object are looked at. Which objects there are is decided
at the model's size (`found.py`), which pixels are theirs at the image's own. Images of one size are worked on together.
Shapes: B images, M objects, K components, C H W image, D latent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from objectspace.errors import UserError
from objectspace.geometry.boxes import tight_boxes
from objectspace.geometry.rle import Mask
from objectspace.models.base import Input
from objectspace.models.inputs import Prepared, as_list, prepare
from objectspace.models.parts.drawing import Drawables, draw, over, together
from objectspace.models.parts.found import Found, Wanted, find, score
from objectspace.models.parts.leftovers import OWN, Leftovers, masks_of
from objectspace.models.parts.pictures import Backdrop, evaluating, swap, to_bytes, to_picture, to_size
from objectspace.models.parts.visible import SHARPEST, Visible, Weighing, segment, share_out
from objectspace.ops import geometry
from objectspace.ops.compositing import Composite
from objectspace.scene import Component, Object, Picture, Scene

if TYPE_CHECKING:
    from objectspace.models.parts.grid import GridModel

_ANYWHERE = 1e6  # pixels; boxes are cut off there, so that they stay finite
_CANVAS = 2**22  # pixels that are drawn together, so that memory does not grow with the batch


def decompose(model: GridModel, images: Input | Sequence[Input], wanted: Wanted, batch: int) -> list[Scene]:
    """See `GridModel.decompose`."""
    check(wanted, batch)
    inputs = as_list(images)
    scenes: list[Scene] = []
    with evaluating(model):
        for start in range(0, len(inputs), batch):
            prepared = [
                prepare(image, model.config.image_size, start + number, model.config.view)
                for number, image in enumerate(inputs[start : start + batch])
            ]
            scenes += of_prepared(model, prepared, wanted)
    return scenes


def check(wanted: Wanted, batch: int) -> None:
    """Refuse what cannot be asked for."""
    if not 0 <= wanted.threshold <= 1:
        raise UserError(f"threshold is a probability between 0 and 1, not {wanted.threshold}")
    if wanted.price is not None and not wanted.price >= 0:
        raise UserError(f"price is how many nats a pixel of an object must be worth, at least 0, not {wanted.price}")
    if batch < 1:
        raise UserError(f"batch is how many images are worked on at a time, at least 1, not {batch}")


def of_prepared(model: GridModel, prepared: Sequence[Prepared], wanted: Wanted) -> list[Scene]:
    """The scenes of images that fit into memory together, in evaluation mode."""
    found = find(model, prepared, wanted)
    made: dict[int, Scene] = {}
    for numbers in _of_one_size(prepared):
        photos = torch.stack([prepared[number].pixels for number in numbers])
        photos = swap(model.config, photos.to(found.backdrops.masks))
        made |= zip(numbers, to_scenes(model, found.among(numbers), photos, wanted), strict=True)
    return [made[number] for number in range(len(prepared))]


def _of_one_size(prepared: Sequence[Prepared]) -> Iterator[list[int]]:
    """The images of a batch in groups that are drawn together."""
    by_size: dict[tuple[int, int], list[int]] = {}
    for number, item in enumerate(prepared):
        by_size.setdefault((item.height, item.width), []).append(number)
    for size, numbers in by_size.items():
        together = max(1, _CANVAS // (size[0] * size[1]))
        for start in range(0, len(numbers), together):
            yield numbers[start : start + together]


def to_scenes(model: GridModel, found: Found, photos: Tensor, wanted: Wanted) -> Iterator[Scene]:
    """The scenes of photos (B, C, H, W), all of one size, from what was found in them."""
    size = photos.shape[2], photos.shape[3]
    config, final = model.config, model.final
    how = Weighing(
        cells=model.config.cells,
        objects=min(SHARPEST, config.foreground.sigma_at(final)),
        background=min(SHARPEST, config.background.sigma_at(final)),
        unknown=final.unknown,
        shadow=config.background.shadow,
    )
    seen = share_out(found.objects, photos, found.backdrops, how)
    kept = np.flatnonzero((seen.area > 0) | (found.prices is None))
    device = found.objects.image.device
    objects = found.objects[torch.from_numpy(kept).to(device)]
    mine = _by_image(_objects(model, found, seen, kept, size, wanted), objects, len(photos))
    if found.leftovers is not None:
        more, which = _leftovers(model, found.leftovers, mine, size, wanted)
        mine = [old + new for old, new in zip(mine, more, strict=True)]
        objects = together(objects, found.leftovers.objects[torch.tensor(which, dtype=torch.long, device=device)])
    layers = draw(objects, how.cells, (len(photos), *size)) if wanted.pictures else None
    owners = segment(photos, found.backdrops, how.background, how.shadow) if wanted.background else None
    for number in range(len(photos)):
        backdrop = found.backdrops.of(number) if wanted.background else None
        if backdrop is not None and not wanted.pictures:
            backdrop = Backdrop(backdrop.masks, None)
        unexplained = (seen.unexplained[number] > 0.5).cpu().numpy() if final.unknown else None
        layer = None if layers is None else layers[number]
        owner = None if owners is None else owners[number].cpu().numpy()
        yield _scene(model, mine[number], backdrop, owner, layer, size, unexplained)


def _scene(
    model: GridModel,
    objects: tuple[Object, ...],
    backdrop: Backdrop | None,
    owner: NDArray[np.int64] | None,
    layer: Composite | None,
    size: tuple[int, int],
    unexplained: Mask | None,
) -> Scene:
    """One scene: `layer` is its drawn objects, `backdrop` what is behind, `owner` (H, W) whose pixels those are."""
    components: tuple[Component, ...] = ()
    background = None
    if backdrop is not None and owner is not None:
        free = np.ones(size, np.bool_)
        for item in objects:
            if item.window is not None:
                free[item.window.place][item.window.part] = False
        pictures: list[Picture | None] = [None] * len(backdrop.masks)
        if backdrop.means is not None:
            pictures = [to_picture(model.config, to_size(mean, size)) for mean in backdrop.means]
            background = to_size(backdrop.image, size)
        components = tuple(Component((owner == k) & free, picture) for k, picture in enumerate(pictures))
    return Scene(
        height=size[0],
        width=size[1],
        objects=objects,
        components=components,
        reconstruction=None
        if layer is None or background is None
        else to_picture(model.config, over(model.config, layer, background)),
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
    scores = found.scores(torch.from_numpy(seen.share).to(found.objects.presence.device)).cpu().numpy()[kept]
    evidence = [None] * len(kept) if found.evidence is None else found.evidence.cpu().numpy()[kept].tolist()
    crops = [to_picture(model.config, crop) if wanted.pictures else None for crop in objects.picture * objects.alpha]
    what = objects.what.float().cpu().numpy()
    return tuple(
        Object(
            box=boxes[number],
            where_box=latent[number],
            score=scores[number],
            depth=float(objects.depth[number]),
            what=what[number],
            mask=seen.window(int(kept[number]), size),
            crop=crops[number],
            whole_box=whole[number],
            evidence=evidence[number],
        )
        for number in range(len(kept))
    )


def _leftovers(
    model: GridModel,
    leftovers: Leftovers,
    understood: Sequence[tuple[Object, ...]],
    size: tuple[int, int],
    wanted: Wanted,
) -> tuple[list[tuple[Object, ...]], list[int]]:
    """What is found and not understood in every image, beside what is `understood`; and which leftovers these are.

    Their masks hold what no other object has. One that others have for the most part is none.
    """
    objects = leftovers.objects
    where = geometry.to_boxes(objects.where, *size).double().cpu().numpy()
    masks, shares = list[Mask](), list[float]()
    for image, mask in zip(
        objects.image.tolist(), masks_of(leftovers.regions, model.config.image_size, size), strict=True
    ):
        own = mask.copy()
        for item in understood[image]:
            if item.window is not None:
                own[item.window.place][item.window.part] = False
        masks.append(own)
        shares.append(own.sum() / max(mask.sum(), 1))
    seen = torch.tensor(shares, dtype=torch.float64, device=objects.presence.device)
    scores = score(objects, leftovers.evidence, leftovers.prices, seen).tolist()
    found: list[list[Object]] = [[] for _ in understood]
    which = [number for number, share in enumerate(shares) if share >= OWN and masks[number].any()]
    for number in which:
        found[int(objects.image[number])].append(
            Object(
                box=tight_boxes(masks[number][None])[0],
                where_box=where[number],
                score=scores[number],
                depth=float(objects.depth[number]),
                what=objects.what[number].float().cpu().numpy(),
                mask=masks[number],
                crop=to_picture(model.config, objects.picture[number] * objects.alpha[number])
                if wanted.pictures
                else None,
                whole_box=where[number],
                evidence=float(leftovers.evidence[number]),
                understood=False,
            )
        )
    return [tuple(each) for each in found], which


def _by_image(records: tuple[Object, ...], objects: Drawables, count: int) -> list[tuple[Object, ...]]:
    """The records of objects, which are in the order of their images, for each of so many images."""
    first = np.searchsorted(objects.image.cpu().numpy(), range(count + 1))
    return [records[first[number] : first[number + 1]] for number in range(count)]
