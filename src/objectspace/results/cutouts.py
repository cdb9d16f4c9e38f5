"""Objects as pictures: each one cut out of its image, and all masks of an image in one file."""

from collections.abc import Iterator

import numpy as np
from PIL import Image

from objectspace.scene import Picture, Scene

MOST_IN_A_PALETTE = 255


def crops(image: Picture, scene: Scene) -> Iterator[Image.Image]:
    """The pixels of the image (H, W, 3) under each object's box; what is not the object's is transparent."""
    for item in scene.found:
        x0, y0, x1, y1 = (round(value) for value in item.box)
        rows = slice(max(y0, 0), max(min(y1, scene.height), y0 + 1))
        columns = slice(max(x0, 0), max(min(x1, scene.width), x0 + 1))
        pixels = image[rows, columns]
        if item.window is None:
            yield Image.fromarray(pixels)
        else:
            own = item.window.within(
                (columns.start, rows.start, columns.start + pixels.shape[1], rows.start + pixels.shape[0])
            )
            alpha = own[..., None].astype(np.uint8) * 255
            yield Image.fromarray(np.concatenate([pixels, alpha], axis=2))


def label_map(scene: Scene, colors: list[tuple[int, int, int]]) -> Image.Image:
    """Which object owns each pixel: 0 none, i the i-th. Shown in colours; with very many objects as 16-bit grey."""
    labels = np.zeros((scene.height, scene.width), np.uint16)
    for number, item in enumerate(scene.found, start=1):
        if item.window is not None:
            labels[item.window.place][item.window.part] = number
    if len(scene.found) > MOST_IN_A_PALETTE:
        return Image.fromarray(labels)
    picture = Image.fromarray(labels.astype(np.uint8))
    picture.putpalette([0, 0, 0, *(channel for color in colors for channel in color)])
    return picture
