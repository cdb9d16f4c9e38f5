"""RUN/looked.png: some pictures, what the background leaves of them, and the regions that were taken for objects."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from objectspace.geometry.regions import Region
from objectspace.reports.pictures import Tile, sheet, with_boxes
from objectspace.scene import Object, Picture, Scene

SHOWN = 6


def looked(
    pictures: NDArray[np.uint8], unexplained: NDArray[np.bool_], regions: Sequence[Sequence[Region]], factor: int = 2
) -> Picture:
    """Three rows of pictures (n, H, W, 3): themselves, what is unexplained (n, H, W), and the boxes of regions."""
    some = np.unique(np.linspace(0, len(pictures) - 1, min(SHOWN, len(pictures))).astype(int))
    maps = [_white(unexplained[number]) for number in some]
    boxed = [with_boxes(pictures[number], _scene(regions[number], unexplained.shape[1:]), factor) for number in some]
    plain = [_larger(pictures[number], factor) for number in some]
    captions = ["as the model sees it"], ["what the background leaves"], ["taken for objects"]
    rows = (plain, [_larger(each, factor) for each in maps], boxed)
    tiles = [
        Tile(picture, caption[0] if not number else "")
        for row, caption in zip(rows, captions, strict=True)
        for number, picture in enumerate(row)
    ]
    return sheet(tiles, len(some))


def _larger(picture: NDArray[Any], factor: int) -> Picture:
    return np.repeat(np.repeat(picture, factor, axis=0), factor, axis=1)


def _white(mask: NDArray[np.bool_]) -> Picture:
    return np.repeat((mask * np.uint8(255))[:, :, None], 3, axis=2)


def _scene(regions: Sequence[Region], shape: tuple[int, ...]) -> Scene:
    return Scene(shape[0], shape[1], tuple(Object(each.box, each.box) for each in regions))
