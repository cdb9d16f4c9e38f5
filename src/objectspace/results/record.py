"""What the exports keep of a scene: small enough to write down, enough to write every format from.

Convention: boxes x0 y0 x1 y1 in pixels, as in a `Scene`. Shapes: M objects, D latent.
"""

import json
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from objectspace.geometry import rle
from objectspace.geometry.boxes import Box
from objectspace.scene import Object, Scene


@dataclass(frozen=True)
class RecordedObject:
    """An object that was found."""

    box: Box
    where_box: Box
    score: float
    depth: float
    mask: rle.RunLength | None
    label: str | None = None
    whole_box: Box | None = None
    evidence: float | None = None  # nats
    understood: bool = True

    @property
    def area(self) -> float:
        """Visible pixels, or the box's where there is no mask."""
        if self.mask is not None:
            return rle.area(self.mask)
        return (self.box[2] - self.box[0]) * (self.box[3] - self.box[1])


@dataclass(frozen=True, eq=False)
class Record:
    """An image that was taken apart."""

    number: int  # from 1, in the order in which images were met
    key: str  # the file it came from
    file_name: str  # where the image is, as text
    name: str  # what its own files are called, without ending
    frame: int | None  # of an animation or a video
    source: str | None  # and where that is
    height: int
    width: int
    objects: tuple[RecordedObject, ...]
    what: NDArray[np.float32]  # (M, D)
    unexplained: float | None = None  # the share of its pixels that nobody explains, where that is known


def found(scene: Scene) -> tuple[tuple[RecordedObject, ...], NDArray[np.float32]]:
    """A scene's objects, and their latents (M, D)."""
    vectors = [np.zeros(0, np.float32) if item.what is None else item.what for item in scene.found]
    what = np.stack(vectors) if vectors else np.zeros((0, 0), np.float32)
    return tuple(_found(item) for item in scene.found), what


def to_text(objects: tuple[RecordedObject, ...]) -> str:
    """Objects as one line of JSON."""
    return json.dumps([[getattr(item, field.name) for field in fields(RecordedObject)] for item in objects])


def from_text(text: str) -> tuple[RecordedObject, ...]:
    """Objects from what `to_text` wrote."""
    return tuple(_from_row(*row) for row in json.loads(text))


def _found(item: Object) -> RecordedObject:
    mask = None if item.window is None else item.window.encoded()
    return RecordedObject(
        item.box,
        item.where_box,
        item.score,
        item.depth,
        mask,
        item.label,
        item.whole_box,
        item.evidence,
        item.understood,
    )


def _from_row(
    box: Any,
    where_box: Any,
    score: float,
    depth: float,
    mask: Any,
    label: str | None = None,
    whole_box: Any = None,
    evidence: float | None = None,
    understood: bool = True,
) -> RecordedObject:
    whole = None if whole_box is None else tuple(whole_box)
    return RecordedObject(tuple(box), tuple(where_box), score, depth, mask, label, whole, evidence, understood)
