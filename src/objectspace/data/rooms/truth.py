"""What is written down about a room: from its layout, the solids' outlines and the picture's labels.

`box` is exact, from the solid's geometry; `visible_box` and `mask` are the pixels that MuJoCo drew.
`visible_fraction` is the share of the solid's outline that neither another solid nor the border hides, counted with
rays through the pixels' centres, so it is exactly 1 where nothing hides the solid. `depth` is that of its centre.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from objectspace.data.rooms.layout import Layout
from objectspace.data.rooms.render import FIRST_SOLID, FLOOR, SKY, WALL
from objectspace.data.rooms.view import Outline
from objectspace.data.sample import Attribute, Sample, TrueObject
from objectspace.geometry import rle
from objectspace.geometry.boxes import clip_box, tight_box

LEAST_FRACTION = 0.25  # of a solid that must be visible
LEAST_PIXELS = 40  # of a solid that must be visible in an image of 128 x 128
SLACK = 1.1  # facets make a drawn solid smaller than the true one, so a little more is asked of the true one


def least_pixels(size: int) -> float:
    """Visible pixels that a solid needs: in proportion to the image, so a seed means the same rooms at any size."""
    return LEAST_PIXELS * (size / 128) ** 2


def all_visible(outlines: Sequence[Outline], size: int) -> bool:
    """Whether enough of every solid can be seen, by geometry alone, before anything is drawn."""
    return all(
        outline.visible >= SLACK * least_pixels(size) and outline.visible >= SLACK * LEAST_FRACTION * outline.whole
        for outline in outlines
    )


def all_drawn(outlines: Sequence[Outline], labels: NDArray[np.uint8]) -> bool:
    """The same by what was drawn; thanks to the slack it hardly ever fails, so a seed means the same rooms anywhere."""
    drawn = np.bincount(labels.ravel(), minlength=FIRST_SOLID + len(outlines))[FIRST_SOLID:]
    return all(
        count >= least_pixels(len(labels)) and count >= LEAST_FRACTION * outline.whole
        for count, outline in zip(drawn, outlines, strict=True)
    )


def to_sample(
    layout: Layout, outlines: Sequence[Outline], labels: NDArray[np.uint8], image: NDArray[np.uint8]
) -> Sample:
    """Everything about one room; labels (S, S), image (S, S, 3)."""
    objects = []
    for index, (solid, color, outline) in enumerate(zip(layout.solids, layout.colors, outlines, strict=True)):
        mask = labels == FIRST_SOLID + index
        box = clip_box(outline.box, *labels.shape)
        assert box is not None, "a solid's centre lies in the image"
        attributes: dict[str, Attribute] = {
            "shape": solid.shape,
            "color": color,
            "visible_fraction": round(outline.visible_fraction, 4),
            "depth": round(float(layout.camera.to_camera(solid.centre)[2]), 4),
        }
        objects.append(TrueObject(solid.shape, box, tight_box(mask), rle.encode(mask), attributes))
    ground = {name: rle.encode(labels == label) for name, label in (("floor", FLOOR), ("wall", WALL), ("sky", SKY))}
    room: dict[str, Attribute] = {
        "wall_color": layout.wall,
        "floor_color": layout.ground,
        "sky_color": layout.sky,
        "azimuth": round(math.degrees(layout.camera.azimuth), 3),
        "pitch": round(math.degrees(layout.camera.pitch), 3),
    }
    return Sample(image, tuple(objects), room, ground)
