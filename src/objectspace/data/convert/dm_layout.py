"""What the records of DeepMind's multi-object data sets hold, and how to tell the four apart.

    tetrominoes       image 35 x 35 x 3, mask (4, 35, 35, 1), x and other factors
    multi_dsprites    image 64 x 64 x 3, or x 1 (binarized), mask (64, 64, K, 1) and not K first, x and other factors
    objects_room      image 64 x 64 x 3, mask (K, 64, 64, 1), nothing else
    clevr_with_masks  image 240 x 320 x 3, mask (11, 240, 320, 1), x and other factors

The number of masks K is taken from the first record: 4 to 10 for objects_room, 4 to 6 for multi_dsprites.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from objectspace.data.convert.example import Features
from objectspace.data.convert.masks import MAX_ENTITIES, OBJECTS_ROOM, Masks
from objectspace.data.sample import Attribute

_SIZES = {"tetrominoes": (35, 35), "multi_dsprites": (64, 64), OBJECTS_ROOM: (64, 64), "clevr_with_masks": (240, 320)}
_FACTORS = ("shape", "color", "material", "size", "scale", "orientation", "rotation")


@dataclass(frozen=True)
class RecordLayout:
    """What the records of a file hold: image (height, width, channels), `entities` masks."""

    variant: str
    height: int
    width: int
    channels: int
    entities: int

    def image(self, features: Features) -> NDArray[np.uint8]:
        """(H, W, 3)"""
        image = _take(features, "image", self.height * self.width * self.channels)
        image = image.reshape(self.height, self.width, self.channels)
        return np.repeat(image, 3, axis=2) if self.channels == 1 else np.ascontiguousarray(image)

    def masks(self, features: Features) -> Masks:
        """(K, H, W)"""
        masks: Masks = np.not_equal(_take(features, "mask", self.height * self.width * self.entities), 0)
        if self.variant == "multi_dsprites":
            return np.moveaxis(masks.reshape(self.height, self.width, self.entities), 2, 0)
        return masks.reshape(self.entities, self.height, self.width)

    def factors(self, features: Features) -> list[dict[str, Attribute]]:
        """What is known about each entity; `color` may be several numbers."""
        known: list[dict[str, Attribute]] = [{} for _ in range(self.entities)]
        for name in _FACTORS:
            values = features.get(name)
            if values is None or not values.size or values.size % self.entities:
                continue
            numbers = values.astype(np.float64).round(6) if values.dtype.kind == "f" else values
            if not np.isfinite(numbers.astype(np.float64)).all():  # JSON has no word for them
                continue
            for entry, row in zip(known, numbers.reshape(self.entities, -1).tolist(), strict=True):
                entry[name] = row[0] if len(row) == 1 else row
        return known


def recognise(features: Mapping[str, NDArray[np.generic]], variant: str | None) -> RecordLayout:
    """The layout of a file after its first record; raises ValueError if it is none that we know."""
    found = ", ".join(f"{name} ({values.size})" for name, values in sorted(features.items())) or "none"
    if not {"image", "mask"} <= features.keys():
        raise ValueError(f"its first record has no image and mask, its features are: {found}")
    has_factors = bool({"x", "scale", "orientation"} & features.keys())  # objects_room has none
    for name, (height, width) in _SIZES.items():
        if variant not in (None, name) or (variant is None and name == OBJECTS_ROOM and has_factors):
            continue
        if variant is None and name == "multi_dsprites" and not has_factors:
            continue
        channels, rest = divmod(features["image"].size, height * width)
        entities, mask_rest = divmod(features["mask"].size, height * width)
        if rest or mask_rest or not 1 <= entities <= MAX_ENTITIES:
            continue
        if channels == 3 or (channels == 1 and name == "multi_dsprites"):
            return RecordLayout(name, height, width, channels, entities)
    wanted = f"are not those of {variant}" if variant else f"fit none of {', '.join(_SIZES)}"
    raise ValueError(f"the features of its first record {wanted}; they are, with their lengths: {found}")


def _take(features: Features, name: str, size: int) -> NDArray[np.uint8]:
    values = features.get(name)
    if values is None or values.dtype != np.uint8 or values.size != size:
        found = "is missing" if values is None else f"has {values.size} values of {values.dtype}"
        raise ValueError(f"its {name} {found}, expected {size} bytes as in the first record")
    return values.astype(np.uint8, copy=False)
