"""The images of a directory of results as a moving picture, with a frame around each object.

Reads records and their images; gives pictures, one at a time. Colours stay with things: with labels, each kind has one
and its name is written beside it; without, each object is followed from frame to frame and keeps its own.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from objectspace.errors import UserError
from objectspace.io.images import MAX_PIXELS
from objectspace.reports.pictures import color_of, factor_to_see, with_boxes
from objectspace.results.record import Record
from objectspace.scene import Object, Picture, Scene
from objectspace.video.tracking import Tracker


def pictures(
    records: Iterable[Record],
    read: Callable[[Record], Picture | None],
    kinds: Sequence[str] = (),
    scale: float | None = None,
) -> Iterator[Picture]:
    """One picture a record; `read` gives its image, or None where that is gone. `kinds` are the labels that occur.

    Without a `scale`, images are enlarged by a whole factor if they are small.
    """
    tracker, episode = Tracker(), None
    for record in records:
        if _episode(record) != episode:
            tracker.reset()
            episode = _episode(record)
        sides = np.array([record.width, record.height] * 2)
        boxes = np.array([item.box for item in record.objects]).reshape(-1, 4) / sides
        numbers = tracker.update(boxes, record.what)
        image = read(record)
        if image is None:
            continue
        scale = scale or factor_to_see(image)
        if image.shape[0] * image.shape[1] * scale**2 > MAX_PIXELS:
            raise UserError(
                f"{image.shape[1]} x {image.shape[0]} pixels, {scale:g} times as large, is too much for a GIF"
            )
        scene = Scene(
            record.height,
            record.width,
            tuple(Object(item.box, item.where_box, label=item.label) for item in record.objects),
        )
        if kinds:
            numbers = np.array([kinds.index(item.label) if item.label in kinds else len(kinds) for item in scene.found])
        colors = [color_of(int(number)) for number in numbers]
        yield with_boxes(image, scene, scale, colors=colors, named=bool(kinds))


def _episode(record: Record) -> str:
    """What belongs together: the frames of one file, or the images of one folder."""
    return record.key if record.frame is not None else os.path.dirname(record.key)
