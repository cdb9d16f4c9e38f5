"""Scenes for the tests of the page: with everything, with nothing, and of odd sizes."""

import numpy as np

from objectspace.scene import Box, Component, Object, Picture, Scene

BOXES: list[Box] = [(4, 6, 20, 30), (10, 10, 16, 18), (30.5, 20.25, 44, 40)]
NAME = 'a <b>bold</b> & "quoted" <script>document.title = "broken"</script>.png'


def picture(height: int, width: int, seed: int = 0) -> Picture:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def mask_of(box: Box, height: int, width: int) -> np.ndarray:
    x0, y0, x1, y1 = (round(value) for value in box)
    mask = np.zeros((height, width), np.bool_)
    mask[y0:y1, x0:x1] = True
    return mask


def full(height: int = 48, width: int = 64) -> tuple[Picture, Scene]:
    """A scene that has all that a scene can have; the second object lies within the first one's box."""
    image = picture(height, width)
    objects = [
        Object(
            box, box, score=0.9 - 0.1 * index, depth=float(index), mask=mask_of(box, height, width), crop=picture(8, 8)
        )
        for index, box in enumerate(BOXES)
    ]
    left = mask_of((0, 0, width // 2, height), height, width)
    components = [Component(left, picture(height, width, 1)), Component(~left, None)]
    return image, Scene(
        height, width, tuple(objects), tuple(components), reconstruction=image, background=picture(height, width, 2),
        foreground=picture(height, width, 3), alpha=image[..., 0],
    )  # fmt: skip


def bare(height: int, width: int, *boxes: Box) -> tuple[Picture, Scene]:
    """An image with boxes and nothing else."""
    return picture(height, width), Scene(height, width, tuple(Object(box, box) for box in boxes))
