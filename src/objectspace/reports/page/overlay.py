"""Boxes and outlines of objects, as SVG that lies over the input picture and stays sharp at every size.

Reads a `Scene`; gives SVG in the image's own pixels. An object's parts carry the class `k<number>`, as its card does:
so style and script find what belongs together. Larger boxes come first, so that a small one within can be pointed at.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from objectspace.geometry.rle import Mask
from objectspace.reports.page.markup import SIDE, number, shrink_mask
from objectspace.reports.pictures import palette
from objectspace.scene import Box, Object, Scene


def colors(count: int) -> list[str]:
    """The objects' colours, the same as in the segmentation."""
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in palette(count)]


def overlay(scene: Scene, truth: NDArray[np.float64] | None, image_id: str) -> str:
    """What lies over the input: a shade for every object, the true boxes, the found ones."""
    shown = [index for index, item in enumerate(scene.found) if inside(item.box, scene) is not None]
    shown.sort(key=lambda index: -_area(scene.found[index].box))
    hues = colors(len(scene.found))
    shades = "".join(_shade(scene, scene.found[index], index, hues[index]) for index in shown)
    known = "".join(_true_box(box, scene) for box in ([] if truth is None else truth))
    found = "".join(_found_box(scene, scene.found[index], index, hues[index], image_id) for index in shown)
    size = f"{scene.width} {scene.height}"
    # The inner svg cuts off what lies beyond the image, the outer one is letterboxed just as the picture below it.
    return (
        f'<svg class="over" viewBox="0 0 {size}" role="group" aria-label="Boxes of the objects">'
        f'<svg width="{scene.width}" height="{scene.height}">'
        f'<g class="shades">{shades}</g><g class="truth">{known}</g><g class="found">{found}</g></svg></svg>'
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


def _shade(scene: Scene, item: Object, index: int, color: str) -> str:
    """Darkness around the object, with its outline: one path, far larger than the image, with a hole."""
    mask = None if item.mask is None else shrink_mask(item.mask, SIDE)
    height, width, scale = scene.height, scene.width, ""
    if mask is not None and mask.any():
        hole = outline(mask)
        if mask.shape != (height, width):
            scale = f' transform="scale({width / mask.shape[1]:.6g} {height / mask.shape[0]:.6g})"'
            height, width = mask.shape
    else:
        hole = _frame(inside(item.box, scene) or item.box)
    return (
        f'<path class="shade k{index}" stroke="{color}"{scale}'
        f' d="M{-width} {-height}h{3 * width}v{3 * height}h{-3 * width}z{hole}"/>'
    )


def _found_box(scene: Scene, item: Object, index: int, color: str, image_id: str) -> str:
    box = inside(item.box, scene) or item.box
    size = max(scene.height, scene.width) / 22
    x, y = box[0] + size * 0.25, box[1] + size * 0.95
    worth = "" if item.evidence is None else f", {item.evidence:.0f} nats"
    worth += "" if item.understood else ", not understood"
    frame = _frame(box)
    return (
        f'<a class="thing k{index}" id="{image_id}-box-{index + 1}" href="#{image_id}-object-{index + 1}">'
        f"<title>object {index + 1}, score {item.score:.2f}{worth}</title>"
        f'<path class="halo" d="{frame}"/><path class="box" stroke="{color}" d="{frame}"/>'
        f'<text x="{number(x)}" y="{number(y)}" font-size="{number(size)}">{index + 1}</text></a>'
    )


def _true_box(box: NDArray[np.float64], scene: Scene) -> str:
    part = inside(box.tolist(), scene)
    if part is None:
        return ""
    return f'<path class="halo" d="{_frame(part)}"/><path class="dashes" d="{_frame(part)}"/>'


def _frame(box: Box) -> str:
    """A box as a path: unlike a `rect`, it is drawn even when it has no area."""
    x0, y0, x1, y1 = (number(value) for value in box)
    return f"M{x0} {y0}H{x1}V{y1}H{x0}z"


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
