"""Boxes and outlines of objects, as SVG that lies over the input picture and stays sharp at every size.

Reads a `Scene`; gives SVG in the image's own pixels. An object's parts carry the class `k<number>`, as its card does:
so style and script find what belongs together. Larger boxes come first, so that a small one within can be pointed at.
"""

from collections.abc import Iterable

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray
from scipy import ndimage

from objectspace.geometry.rle import Mask
from objectspace.reports.page.markup import SIDE, number, shrink_mask
from objectspace.reports.page.shell import render
from objectspace.reports.pictures import palette
from objectspace.scene import Box, Object, Scene

SPECK = 6  # pixels: fewer that nobody explains are not worth an outline


def colors(count: int) -> list[str]:
    """The objects' colours, the same as in the segmentation."""
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in palette(count)]


def overlay(scene: Scene, truth: NDArray[np.float64] | None, image_id: str) -> Markup:
    """What lies over the input: a shade for every object, the true boxes, the found ones."""
    shown = [index for index, item in enumerate(scene.found) if inside(item.box, scene) is not None]
    shown.sort(key=lambda index: -_area(scene.found[index].box))
    hues = colors(len(scene.found))
    known = (inside(box.tolist(), scene) for box in ([] if truth is None else truth))
    return render(
        "overlay.svg",
        id=image_id,
        width=scene.width,
        height=scene.height,
        unexplained=_unexplained(scene),
        shades=[{"index": index, "color": hues[index]} | _shade(scene, scene.found[index]) for index in shown],
        known=[_frame(box) for box in known if box is not None],
        found=[{"index": index, "color": hues[index]} | _found_box(scene, index) for index in shown],
    )


def inside(box: Iterable[float], scene: Scene) -> Box | None:
    """The part of a box that lies in the image, None if there is none."""
    x0, y0, x1, y1 = (float(value) for value in box)
    if x1 < 0 or y1 < 0 or x0 > scene.width or y0 > scene.height:
        return None
    return max(x0, 0.0), max(y0, 0.0), min(x1, float(scene.width)), min(y1, float(scene.height))


def outline(mask: Mask) -> str:
    """The border of a mask (H, W) as an SVG path along the edges of its pixels; holes are loops of their own."""
    follow: dict[tuple[int, int], list[tuple[int, int]]] = {}
    padded = np.pad(mask, 1)
    # Every edge between inside and outside, with the inside on the right: dy, dx of the neighbour, then start and end.
    edges = ((-1, 0, 0, 0, 1, 0), (0, 1, 1, 0, 1, 1), (1, 0, 1, 1, 0, 1), (0, -1, 0, 1, 0, 0))
    for dy, dx, x0, y0, x1, y1 in edges:
        neighbour = padded[1 + dy : 1 + dy + mask.shape[0], 1 + dx : 1 + dx + mask.shape[1]]
        for y, x in np.argwhere(mask & ~neighbour).tolist():
            follow.setdefault((x + x0, y + y0), []).append((x + x1, y + y1))
    path = []
    while follow:
        first = next(iter(follow))  # a corner: upper edges come first, in reading order
        path.append(f"M{first[0]} {first[1]}{_loop(follow, first)}z")
    return "".join(path)


def _loop(follow: dict[tuple[int, int], list[tuple[int, int]]], first: tuple[int, int]) -> str:
    """Walk from a corner until it is reached again, taking the edges out; straight steps become one."""
    steps: list[list[int]] = []
    point = first
    while not steps or point != first:
        x, y = follow[point].pop()
        if not follow[point]:
            del follow[point]
        axis, length = (0, x - point[0]) if y == point[1] else (1, y - point[1])
        if steps and steps[-1][0] == axis:
            steps[-1][1] += length
        else:
            steps.append([axis, length])
        point = x, y
    return "".join(f"{'hv'[axis]}{length}" for axis, length in steps[:-1])  # the last one is what closing does


def _shade(scene: Scene, item: Object) -> dict[str, object]:
    """Darkness around the object, with its outline: one path, far larger than the image, with a hole."""
    mask = None if item.mask is None else shrink_mask(item.mask, SIDE)
    height, width, scale = scene.height, scene.width, ""
    if mask is not None and mask.any():
        hole = outline(mask)
        if mask.shape != (height, width):
            scale = f"scale({width / mask.shape[1]:.6g} {height / mask.shape[0]:.6g})"
            height, width = mask.shape
    else:
        hole = _frame(inside(item.box, scene) or item.box)
    return {"scale": scale, "path": f"M{-width} {-height}h{3 * width}v{3 * height}h{-3 * width}z{hole}"}


def _unexplained(scene: Scene) -> dict[str, str]:
    """The outlines of what nobody explains; specks of a few pixels are left out."""
    if scene.unexplained is None:
        return {"path": "", "scale": ""}
    mask = shrink_mask(scene.unexplained, SIDE)
    labels, count = ndimage.label(mask)
    large = np.bincount(labels.ravel(), minlength=count + 1) >= SPECK
    large[0] = False
    scale = ""
    if mask.shape != (scene.height, scene.width):
        scale = f"scale({scene.width / mask.shape[1]:.6g} {scene.height / mask.shape[0]:.6g})"
    return {"path": outline(large[labels]), "scale": scale}


def _found_box(scene: Scene, index: int) -> dict[str, object]:
    """A frame with the object's number in its corner."""
    item = scene.found[index]
    box = inside(item.box, scene) or item.box
    size = max(scene.height, scene.width) / 22
    worth = "" if item.evidence is None else f", {item.evidence:.0f} nats"
    worth += "" if item.understood else ", not understood"
    return {
        "words": f"object {index + 1}, score {item.score:.2f}{worth}",
        "frame": _frame(box),
        "x": number(box[0] + size * 0.25),
        "y": number(box[1] + size * 0.95),
        "size": number(size),
    }


def _frame(box: Box) -> str:
    """A box as a path: unlike a `rect`, it is drawn even when it has no area."""
    x0, y0, x1, y1 = (number(value) for value in box)
    return f"M{x0} {y0}H{x1}V{y1}H{x0}z"


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
