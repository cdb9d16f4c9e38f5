"""Drawn discs on a plain ground, as arrays and as folders."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

Picture = NDArray[np.uint8]
Draw = Callable[..., list[Picture]]


def discs(count: int, side: int = 96, radii: tuple[int, ...] = (8,), number: int = 5, seed: int = 0) -> list[Picture]:
    """Pictures (side, side, 3) of bright discs that do not touch, on grey with a little noise."""
    generator = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side]
    pictures = []
    for _ in range(count):
        picture = np.full((side, side, 3), 60.0)
        placed: list[tuple[int, int, int]] = []
        for radius in generator.choice(radii, 40):
            column, row = generator.integers(radius + 1, side - radius - 1, 2)
            if all(np.hypot(column - c, row - r) > radius + other + 3 for c, r, other in placed):
                placed.append((column, row, radius))
                picture[np.hypot(x - column, y - row) <= radius] = generator.choice([(220, 60, 50), (60, 200, 90)])
            if len(placed) == number:
                break
        pictures.append((picture + generator.normal(0, 2, picture.shape)).clip(0, 255).astype(np.uint8))
    return pictures


@pytest.fixture
def draw() -> Draw:
    return discs


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[list[Picture]], Path]:
    """Writes pictures into a folder."""

    def write(pictures: list[Picture]) -> Path:
        root = tmp_path / "pictures"
        root.mkdir()
        for number, picture in enumerate(pictures):
            Image.fromarray(picture).save(root / f"{number:03d}.png")
        return root

    return write
