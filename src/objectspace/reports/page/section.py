"""One image's part of the page: the input with boxes, the pictures the scene holds, its objects and components.

Reads an image (H, W, 3) and its `Scene`; gives HTML. What the scene does not hold is left out.
"""

from collections.abc import Iterator

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from objectspace.reports.page.markup import (
    LARGE,
    SIDE,
    embedded,
    number,
    plural,
    shrink,
    shrink_flat,
    shrink_mask,
)
from objectspace.reports.page.overlay import colors, inside, overlay
from objectspace.reports.page.shell import render
from objectspace.reports.pictures import segments
from objectspace.scene import Component, Object, Picture, Scene

CROP = 128  # longest side of an object's picture
LOUDER = 4  # errors of a good reconstruction are too small to be seen as they are
GREY, PALE = 128, 0.12  # the pixels a component does not own, and how much of it still shows there


def section(index: int, name: str, image: Picture, scene: Scene, truth: NDArray[np.float64] | None) -> Markup:
    """The part of the page for image number `index`, from 1."""
    image_id = f"image-{index}"
    about = [plural(len(scene.found), "object"), f"{scene.width} × {scene.height} pixels"]
    if truth is not None:
        about.insert(1, f"{len(truth)} in truth")
    if scene.unexplained_share is not None:
        about.append(f"{100 * scene.unexplained_share:.1f}% unexplained")
    hues = colors(len(scene.found))
    return render(
        "section.html",
        id=image_id,
        unexplained=scene.unexplained_share,
        name=name,
        about=about,
        input=embedded(shrink(image, LARGE)),
        overlay=overlay(scene, truth, image_id),
        has_truth=truth is not None,
        pictures={part: embedded(picture) for part, picture in _pictures(image, scene)},
        objects=[_card(image, scene, item, hue) for item, hue in zip(scene.found, hues, strict=True)],
        components=[
            {"picture": embedded(_component(image, part)), "share": f"{100 * part.mask.mean():.0f}%"}
            for part in scene.components
        ],
    )


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
    if scene.components or any(item.window is not None for item in scene.found):
        yield "segmentation", shrink_flat(segments(scene), SIDE)
    if scene.reconstruction is not None:
        error = np.abs(shrink(image, SIDE).astype(np.int16) - shrink(scene.reconstruction, SIDE)) * LOUDER
        yield f"difference × {LOUDER}", error.clip(0, 255).astype(np.uint8)


def _card(image: Picture, scene: Scene, item: Object, color: str) -> dict[str, object]:
    """What is known about an object."""
    crop = _crop(image, scene, item)
    drawn = None if item.crop is None or not item.crop.size else shrink(item.crop, CROP)
    size = " × ".join(_pixels(item.box[axis + 2] - item.box[axis]) for axis in (0, 1))
    facts = {"score": f"{item.score:.2f}", "depth": f"{item.depth:.2f}", "size": size}
    if item.evidence is not None:
        facts["evidence"] = f"{item.evidence:.0f} nats"
    if not item.understood:
        facts["understood"] = "no"
    return {
        "color": color,
        "crop": None if crop is None else embedded(crop),
        "drawn": None if drawn is None else embedded(drawn),
        "label": item.label,
        "is_inside": inside(item.box, scene) is not None,
        "facts": facts,
    }


def _pixels(length: float) -> str:
    return number(length, 1 if length < 10 else 0)


def _crop(image: Picture, scene: Scene, item: Object) -> Picture | None:
    """The object cut from the image; None when there is nothing to be seen."""
    box = inside(item.box, scene)
    if box is None:
        return None
    x0, y0, x1, y1 = int(box[0]), int(box[1]), int(np.ceil(box[2])), int(np.ceil(box[3]))
    part = image[y0:y1, x0:x1]
    return shrink(np.ascontiguousarray(part), CROP) if part.size else None


def _component(image: Picture, part: Component) -> Picture:
    """What a component paints, clear where it owns the pixels and pale elsewhere."""
    picture = shrink(image if part.image is None else part.image, SIDE)
    pale = picture * PALE + GREY * (1 - PALE)
    return np.where(shrink_mask(part.mask, SIDE)[..., None], picture, pale).astype(np.uint8)
