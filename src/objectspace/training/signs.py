"""What held-out images show of a run that goes wrong: no objects, all cells on, regions that nobody explains, a colour
that is never found. Each is a warning with its cure at the first validation that can know, and ends no run.

Reads images and the scenes that the model made of them. Shapes: H W image.
"""

import colorsys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from objectspace.geometry.rle import Mask
from objectspace.scene import Picture, Scene
from objectspace.training.ground import compact_regions

FEW, MANY = 0.05, 0.9  # objects an image, and share of the cells
LEFT = 0.05  # share of the pixels in regions that nobody explains
LOST = 0.1  # a colour is lost if so few of its things are objects, ...
SOME, RARE = 3, 0.02  # ... and so many are not: at least, and as a share of all things
GLARING = 48  # of 255: where a model knows no unknown, pixels that differ so much from what it draws are unexplained
LEAST = 8  # pixels of a region that is no speck
STEPS = 100  # training steps in a row that tell as much as a validation

BEGUN = 400  # steps after which a run without phases should show something

CURES = {
    "no-objects": "give phases.warm more steps, make the background weaker (fewer components, or stills), check that "
    "phases.size fits and that objects are large enough for the model (model.view.scale); a lower phases.price",
    "all-cells": "nearly every cell holds an object: a higher phases.price, a lower final anneal.presence_prior, a "
    "coarser model.foreground.grid, or a background that explains more (more components or stills)",
    "left-unexplained": "give phases.background more steps, or the background more components or stills; if what is "
    "left are objects: phases.size, a finer model.foreground.grid, a larger budget, a smaller sigma",
    "colour-lost": "such things are seen and not drawn: a smaller model.background.sigma, fewer components, "
    "model.background.palette = false where a part of the ground has their colour, more steps of phases.warm",
}
_HUES = ("red", "yellow", "green", "cyan", "blue", "magenta")


@dataclass(frozen=True)
class Signs:
    """What some scenes show."""

    objects: float  # an image
    left: float  # share of the pixels in regions that nobody explains
    lost: tuple[str, ...] = ()  # colours of things that are left unexplained and never found


def signs(images: Sequence[Picture], scenes: Sequence[Scene]) -> Signs:
    """Measure images (H, W, 3) and the scenes that a model made of them."""
    areas = [item.window.area for scene in scenes for item in scene.objects if item.window is not None]
    least = max(LEAST, 0.25 * float(np.median(areas))) if areas else LEAST
    shares, missed, found = list[float](), Counter[str](), Counter[str]()
    for image, scene in zip(images, scenes, strict=True):
        left = _unexplained(image, scene)
        shares.append(float(_regions(left, least).mean()))
        labels, count = ndimage.label(_regions(compact_regions(left), least))
        missed.update(colour_of(image[labels == number]) for number in range(1, count + 1))
        for item in scene.objects:
            if item.window is not None and item.window.part.any():
                found[colour_of(image[item.window.place][item.window.part])] += 1
    enough = max(SOME, RARE * (missed.total() + found.total()))
    lost = [name for name, times in missed.items() if times >= enough and found[name] < LOST * (times + found[name])]
    return Signs(float(np.mean([len(scene.found) for scene in scenes])), float(np.mean(shares)), tuple(sorted(lost)))


def warnings(seen: Signs, cells: int) -> dict[str, str]:
    """What is wrong, by name: in words, with its cure.

    `cells` is how many objects the model can find at most; 0: it has no cells, or all of them may still be on.
    """
    found: dict[str, str] = {}
    if seen.objects < FEW:
        found["no-objects"] = "no objects are found in held-out images"
    if cells and seen.objects > MANY * cells:
        found["all-cells"] = f"{seen.objects:.0f} objects an image are found, of {cells} cells"
    if seen.left > LEFT:
        found["left-unexplained"] = f"nobody explains whole regions, {seen.left:.0%} of the held-out pixels"
    if seen.lost:
        found["colour-lost"] = f"things that are {' and things that are '.join(seen.lost)} are never found"
    return {name: f"{what}: {CURES[name]}" for name, what in found.items()}


def first_step(objects_from: int) -> int:
    """From when on objects should be there: after the warm start, or once a run without one has begun."""
    return objects_from or BEGUN


@dataclass
class Steps:
    """Reads the training log: the same number of objects for long tells as much as a validation."""

    cells: int
    first: int  # the step from which on there should be objects, ...
    settled: int  # ... and the one from which on not all cells should be on
    without: int = 0  # steps in a row
    full: int = 0

    def warnings(self, step: int, terms: Mapping[str, float]) -> dict[str, str]:
        """What has been wrong for long enough at this step."""
        if step <= self.first or not self.cells:
            return {}
        objects = terms.get("objects", 1.0)
        self.without = self.without + 1 if objects < FEW else 0
        self.full = self.full + 1 if step > self.settled and objects > MANY * self.cells else 0
        found: dict[str, str] = {}
        if self.without == STEPS:
            found["no-objects"] = f"no objects in {STEPS} training steps: {CURES['no-objects']}"
        if self.full == STEPS:
            found["all-cells"] = f"all cells on in {STEPS} training steps: {CURES['all-cells']}"
        return found


def colour_of(pixels: NDArray[np.uint8]) -> str:
    """What people would call the colour of pixels (n, 3).

    >>> colour_of(np.array([[200, 30, 20], [220, 40, 30]], np.uint8))
    'red'
    """
    red, green, blue = (float(value) / 255 for value in np.median(pixels, axis=0))
    hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
    if value < 0.2:
        return "black"
    if saturation < 0.25:
        return "white" if value > 0.75 else "grey"
    return _HUES[round(hue * 6) % 6]


def _unexplained(image: Picture, scene: Scene) -> Mask:
    """The pixels that nobody explains (H, W)."""
    if scene.unexplained is not None:
        return scene.unexplained
    if scene.reconstruction is None:
        return np.zeros(image.shape[:2], np.bool_)
    difference = np.abs(image.astype(np.int16) - scene.reconstruction).max(axis=2)
    return np.asarray(difference > GLARING)


def _regions(left: Mask, least: float) -> Mask:
    """Connected pixels of at least so many, without thin lines, which are rims (H, W)."""
    labels, count = ndimage.label(ndimage.binary_opening(left, np.ones((2, 2))))
    large = np.bincount(labels.ravel(), minlength=count + 1) >= least
    large[0] = False
    return np.asarray(large[labels], np.bool_)
