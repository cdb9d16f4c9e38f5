"""From ground-truth masks to objects, for the data sets that come with one mask for each thing in the scene.

Reads masks (K, H, W), the background first, or a map of labels (H, W); gives `TrueObject`s. Only what can be seen is
known there, so both boxes are the tight box of the mask, and what shows no pixel is no object.

Objects Room is the exception in how much is background. Its masks are meant to begin with sky, floor and the two halves
of the wall, but where only one half is in view, the fourth may be an object already. So the fourth is judged by its
shape: a half of the wall reaches the left or right border of the image and has the sky above it; an object has the wall
above it. No data set says so; a tall object at the border that covers the wall's top would be mistaken for wall.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from objectspace.data.sample import Attribute, Sample, TrueObject
from objectspace.geometry import rle
from objectspace.geometry.boxes import tight_box

OBJECTS_ROOM = "objects_room"
VARIANTS = ("tetrominoes", "multi_dsprites", OBJECTS_ROOM, "clevr_with_masks")  # of the data sets by DeepMind
MAX_ENTITIES = 256  # masks a scene; the known data sets have at most 11
_GROUND = ("sky", "floor", "wall_1", "wall_2")

Masks = NDArray[np.bool_]


def masks_to_sample(
    image: NDArray[np.uint8],
    masks: Masks,
    source: str,
    is_room: bool,
    factors: Sequence[Mapping[str, Attribute]] = (),
) -> Sample:
    """An image (H, W, 3) with its masks (K, H, W); `factors` has what is known of each of the K."""
    background = _room_background(masks) if is_room else 1
    objects = []
    for index in range(background, len(masks)):
        box = tight_box(masks[index])
        if box is not None:
            known = factors[index] if factors else {}
            objects.append(TrueObject("object", box, box, rle.encode(masks[index]), known))
    ground = dict(zip(_GROUND, masks[:background], strict=False)) if is_room else {}
    seen = {name: rle.encode(mask) for name, mask in ground.items() if mask.any()}
    return Sample(image, tuple(objects), {"source": source}, seen)


def labels_to_masks(labels: NDArray[np.integer[Any]]) -> Masks:
    """A map of labels (H, W) as masks (K, H, W), K one more than the highest label; raises ValueError."""
    low, high = int(labels.min()), int(labels.max())
    if low < 0 or high >= MAX_ENTITIES:  # also keeps a hostile label from being allocated
        raise ValueError(f"its labels reach from {low} to {high}, expected 0 to at most {MAX_ENTITIES - 1}")
    return np.asarray(np.arange(high + 1)[:, None, None] == labels)


def _room_background(masks: Masks) -> int:
    """How many of the masks (K, H, W) of a scene of Objects Room are background."""
    if len(masks) <= 4:  # the empty room
        return len(masks)
    sky, fourth = masks[0], masks[3]
    columns = np.flatnonzero(fourth.any(axis=0))
    if not columns.size:
        return 4
    at_border = columns[0] == 0 or columns[-1] == fourth.shape[1] - 1
    top = fourth.argmax(axis=0)[columns]
    under_sky = (top == 0) | sky[np.maximum(top - 1, 0), columns]
    return 4 if at_border and under_sky.mean() >= 0.5 else 3
