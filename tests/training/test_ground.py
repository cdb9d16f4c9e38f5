"""What a background leaves: a wall that it does not explain is ground, touching objects are not."""

import numpy as np
import pytest

from objectspace.training.ground import ground_share


def scene() -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((1, 64, 64), np.bool_), np.full((1, 64, 64, 3), 0.5, np.float32)


def add_disc(left: np.ndarray, image: np.ndarray, x: int, y: int, radius: int, colour: tuple[float, ...]) -> None:
    rows, columns = np.mgrid[:64, :64]
    inside = (rows - y) ** 2 + (columns - x) ** 2 <= radius**2
    left[0][inside] = True
    image[0][inside] = colour


def test_an_explained_image_leaves_no_ground() -> None:
    assert ground_share(*scene()) == 0


def test_a_band_across_the_image_is_ground() -> None:
    left, image = scene()
    left[0, 20:30] = True
    assert ground_share(left, image) == pytest.approx(10 / 64)


def test_objects_that_touch_side_by_side_are_no_ground() -> None:
    left, image = scene()
    for number, colour in enumerate([(0.9, 0.1, 0.1), (0.1, 0.9, 0.1), (0.1, 0.1, 0.9)] * 2):
        add_disc(left, image, 7 + 10 * number, 32, 5, colour)
    assert left[0, 32].sum() > 0.8 * 64
    assert ground_share(left, image) == 0


def test_a_large_patch_is_ground_and_an_object_beside_it_is_not() -> None:
    left, image = scene()
    left[0, :40, :40] = True
    add_disc(left, image, 54, 54, 5, (0.9, 0.1, 0.1))
    assert ground_share(left, image) == pytest.approx(1600 / 4096)
