"""Two sets of drawn pictures that our data generators do not make, with boxes as COCO, to try `train auto` on.

python -m benchmarks.drawn cells|discs OUT [--count 400] [--seed 0]

cells    grey and blurred, 22 pixels wide, up to 30 of them on 200 x 200, under uneven light, with noise
discs    six colours, two sizes, on wood grain, which has a stripe and a tint of its own in every picture
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

SIDE = 200
CELL = 22.0  # pixels wide, on average
RADII = (8.0, 14.0)
COLOURS = {
    "red": (200, 40, 40),
    "green": (50, 150, 60),
    "blue": (40, 70, 190),
    "yellow": (235, 205, 50),
    "white": (235, 235, 230),
    "black": (30, 28, 30),
}
Drawn = tuple[NDArray[np.uint8], list[tuple[str, list[float]]]]  # a picture, and the names and COCO boxes in it


def cells(generator: np.random.Generator) -> Drawn:
    """Blurred grey cells, some touching, under light that falls off to one side."""
    y, x = np.mgrid[:SIDE, :SIDE].astype(np.float64)
    angle = generator.uniform(0, 2 * np.pi)
    light = 0.22 + 0.12 * ((x * np.cos(angle) + y * np.sin(angle)) / SIDE)
    picture, found = light, []
    for column, row, width, height in _places(generator, int(generator.integers(4, 30)), CELL, 0.12, touch=0.9):
        inside = ((x - column) / width) ** 2 + ((y - row) / height) ** 2 <= 1
        picture = np.where(inside, picture + generator.uniform(0.25, 0.45), picture)
        found.append(("cell", [column - width, row - height, 2 * width, 2 * height]))
    picture = ndimage.gaussian_filter(picture, 1.5) + generator.normal(0, 0.03, (SIDE, SIDE))
    grey = (picture.clip(0, 1) * 255).round().astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2), found


def discs(generator: np.random.Generator) -> Drawn:
    """Discs of one colour each, shaded a little, on wood grain."""
    y, x = np.mgrid[:SIDE, :SIDE].astype(np.float64)
    bent = x + 6 * np.sin(y / generator.uniform(25, 45) + generator.uniform(0, 6))
    grain = np.sin(bent * generator.uniform(0.25, 0.45)) + 0.6 * np.sin(bent * generator.uniform(0.7, 1.1))
    wood = np.array([165.0, 115.0, 70.0]) * generator.uniform(0.9, 1.1)
    picture = wood + 9 * grain[:, :, None] + generator.normal(0, 4, (SIDE, SIDE, 1))
    found = []
    for column, row, radius in _rounds(generator, int(generator.integers(3, 12))):
        name = str(generator.choice(list(COLOURS)))
        distance = np.hypot(x - column, y - row)
        cover = np.clip(radius + 0.5 - distance, 0, 1)[:, :, None]
        shade = 1 - 0.15 * ((x - column) + (y - row))[:, :, None] / (2 * radius)
        picture = (1 - cover) * picture + cover * np.array(COLOURS[name]) * shade
        found.append((name, [column - radius, row - radius, 2 * radius, 2 * radius]))
    return picture.clip(0, 255).round().astype(np.uint8), found


def _places(
    generator: np.random.Generator, count: int, width: float, spread: float, touch: float
) -> list[tuple[float, float, float, float]]:
    """Ellipses (x, y and two radii) that lie within the picture and hardly overlap."""
    placed: list[tuple[float, float, float, float]] = []
    for _ in range(20 * count):
        a, b = width / 2 * np.exp(generator.normal(0, spread, 2))
        column, row = generator.uniform(a, SIDE - a), generator.uniform(b, SIDE - b)
        if all(np.hypot(column - c, row - r) > touch * (max(a, b) + max(d, e)) for c, r, d, e in placed):
            placed.append((float(column), float(row), float(a), float(b)))
        if len(placed) == count:
            break
    return placed


def _rounds(generator: np.random.Generator, count: int) -> list[tuple[float, float, float]]:
    placed: list[tuple[float, float, float]] = []
    for _ in range(20 * count):
        radius = float(generator.choice(RADII))
        column, row = generator.uniform(radius, SIDE - radius, 2)
        if all(np.hypot(column - c, row - r) > radius + other for c, r, other in placed):
            placed.append((float(column), float(row), radius))
        if len(placed) == count:
            break
    return placed


SETS: dict[str, Callable[[np.random.Generator], Drawn]] = {"cells": cells, "discs": discs}


def draw(name: str, out: Path, count: int, seed: int) -> None:
    """Write OUT/images/*.png and OUT/annotations.json."""
    (out / "images").mkdir(parents=True, exist_ok=True)
    images = list[dict[str, object]]()
    annotations = list[dict[str, object]]()
    names = ["cell"] if name == "cells" else list(COLOURS)
    for number in range(count):
        picture, found = SETS[name](np.random.default_rng((seed, number)))
        file = f"{number:05d}.png"
        Image.fromarray(picture).save(out / "images" / file)
        images.append({"id": number, "file_name": file, "width": SIDE, "height": SIDE})
        for label, box in found:
            entry = {"id": len(annotations) + 1, "image_id": number, "category_id": names.index(label) + 1}
            annotations.append(entry | {"bbox": [round(value, 2) for value in box], "area": box[2] * box[3]})
    categories = [{"id": number, "name": label} for number, label in enumerate(names, start=1)]
    content = {"images": images, "annotations": annotations, "categories": categories}
    (out / "annotations.json").write_text(json.dumps(content))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=sorted(SETS))
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    draw(arguments.name, arguments.out, arguments.count, arguments.seed)
    print(f"{arguments.out}: {arguments.count} pictures")


if __name__ == "__main__":
    main()
