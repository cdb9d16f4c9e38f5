"""One image's part of the page: the input with boxes, the pictures the scene holds, its objects and components.

Reads an image (H, W, 3) and its `Scene`; gives HTML. What the scene does not hold is left out.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from objectspace.reports.page.markup import (
    LARGE,
    SIDE,
    escaped,
    image_tag,
    number,
    plural,
    shrink,
    shrink_flat,
    shrink_mask,
)
from objectspace.reports.page.overlay import colors, inside, overlay
from objectspace.reports.pictures import segments
from objectspace.scene import Component, Object, Picture, Scene

CROP = 128  # longest side of an object's picture
LOUDER = 4  # errors of a good reconstruction are too small to be seen as they are
GREY, PALE = 128, 0.12  # the pixels a component does not own, and how much of it still shows there


def section(index: int, name: str, image: Picture, scene: Scene, truth: NDArray[np.float64] | None) -> str:
    """The part of the page for image number `index`, from 1."""
    image_id = f"image-{index}"
    facts = [plural(len(scene.found), "object"), f"{scene.width} × {scene.height} pixels"]
    if truth is not None:
        facts.insert(1, f"{len(truth)} in truth")
    if scene.unexplained_share is not None:
        facts.append(f"{100 * scene.unexplained_share:.1f}% unexplained")
    figures = "".join(_figures(name, image, scene, truth, image_id))
    return (
        f'<section class="scene" id="{image_id}" data-count="{len(scene.found)}">'
        f'<header><h3><a href="#{image_id}">{escaped(name)}</a></h3><p>{" · ".join(facts)}</p></header>'
        f'<div class="figures">{figures}</div>'
        f"{_objects(image, scene, image_id)}{_components(image, scene)}</section>\n"
    )


def _figures(
    name: str, image: Picture, scene: Scene, truth: NDArray[np.float64] | None, image_id: str
) -> Iterator[str]:
    caption = "input" if truth is None else 'input <span class="note">found solid, truth dashed</span>'
    tag = image_tag(shrink(image, LARGE), f"{name}, the input")
    frame = f'<div class="frame">{tag}{overlay(scene, truth, image_id)}</div>'
    yield f'<figure class="input">{frame}<figcaption>{caption}</figcaption></figure>'
    for part, picture in _pictures(image, scene):
        yield _figure(image_tag(picture, f"{part} of {name}"), part)


def _pictures(image: Picture, scene: Scene) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    """The pictures that the scene holds, by name, small enough for the page."""
    if scene.reconstruction is not None:
        yield "reconstruction", shrink(scene.reconstruction, SIDE)
    if scene.foreground is not None:
        yield "foreground", shrink(scene.foreground, SIDE)
    if scene.alpha is not None:
        yield "alpha", shrink(scene.alpha, SIDE)
    if scene.background is not None:
        yield "background", shrink(scene.background, SIDE)
    if scene.components or any(item.mask is not None for item in scene.found):
        yield "segmentation", shrink_flat(segments(scene), SIDE)
    if scene.reconstruction is not None:
        error = np.abs(shrink(image, SIDE).astype(np.int16) - shrink(scene.reconstruction, SIDE)) * LOUDER
        yield f"difference × {LOUDER}", error.clip(0, 255).astype(np.uint8)


def _figure(tag: str, caption: str) -> str:
    return f'<figure><div class="frame">{tag}</div><figcaption>{caption}</figcaption></figure>'


def _objects(image: Picture, scene: Scene, image_id: str) -> str:
    if not scene.found:
        return '<p class="none">No object was found in this image.</p>'
    hues = colors(len(scene.found))
    cards = "".join(
        f"<li>{_card(image, scene, item, index, hues[index], image_id)}</li>" for index, item in enumerate(scene.found)
    )
    return f'<h4>Objects</h4><ol class="objects">{cards}</ol>'


def _card(image: Picture, scene: Scene, item: Object, index: int, color: str, image_id: str) -> str:
    """An object with what is known about it; pointing at it shows where it is."""
    box = inside(item.box, scene)
    target = image_id if box is None else f"{image_id}-box-{index + 1}"
    crop = _crop(image, scene, item)
    picture = "" if crop is None else image_tag(crop, f"object {index + 1}")
    size = " × ".join(_pixels(item.box[axis + 2] - item.box[axis]) for axis in (0, 1))
    facts = {"score": f"{item.score:.2f}", "depth": f"{item.depth:.2f}", "size": size}
    if item.evidence is not None:
        facts["evidence"] = f"{item.evidence:.0f} nats"
    if not item.understood:
        facts["understood"] = "no"
    rows = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts.items())
    label = "" if item.label is None else f' <span class="note">{escaped(item.label)}</span>'
    beyond = "" if box is not None else ' <span class="note">outside the image</span>'
    return (
        f'<a class="thing card k{index}" id="{image_id}-object-{index + 1}" href="#{target}">'
        f'<span class="frame">{picture}</span>'
        f'<span class="name">{_dot(color)}{index + 1}{label}{beyond}</span><dl>{rows}</dl></a>'
    )


def _dot(color: str) -> str:
    circle = f'<circle cx="5" cy="5" r="4" fill="{color}"/>'
    return f'<svg class="dot" viewBox="0 0 10 10" aria-hidden="true">{circle}</svg>'


def _pixels(length: float) -> str:
    return number(length, 1 if length < 10 else 0)


def _crop(image: Picture, scene: Scene, item: Object) -> Picture | None:
    """The object as the model draws it, else cut from the image; None when there is nothing to be seen."""
    if item.crop is not None:
        return shrink(item.crop, CROP) if item.crop.size else None
    box = inside(item.box, scene)
    if box is None:
        return None
    x0, y0, x1, y1 = int(box[0]), int(box[1]), int(np.ceil(box[2])), int(np.ceil(box[3]))
    part = image[y0:y1, x0:x1]
    return shrink(np.ascontiguousarray(part), CROP) if part.size else None


def _components(image: Picture, scene: Scene) -> str:
    if not scene.components:
        return ""
    figures = "".join(
        _figure(image_tag(_component(image, part), f"background component {index + 1}"), _share(index, part))
        for index, part in enumerate(scene.components)
    )
    return f'<h4>Background components</h4><div class="components">{figures}</div>'


def _share(index: int, part: Component) -> str:
    return f'{index + 1} <span class="note">{100 * part.mask.mean():.0f}% of the pixels</span>'


def _component(image: Picture, part: Component) -> Picture:
    """What a component paints, clear where it owns the pixels and pale elsewhere."""
    picture = shrink(image if part.image is None else part.image, SIDE)
    pale = picture * PALE + GREY * (1 - PALE)
    return np.where(shrink_mask(part.mask, SIDE)[..., None], picture, pale).astype(np.uint8)
