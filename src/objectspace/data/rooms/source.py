"""The source of rooms for `data.generate`."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib import metadata
from zlib import crc32

import numpy as np

from objectspace.data.rooms.layout import VARIANTS, draw_count, draw_layout
from objectspace.data.rooms.render import renderer
from objectspace.data.rooms.truth import all_drawn, all_visible, to_sample
from objectspace.data.rooms.view import outlines
from objectspace.data.sample import Problem, Sample
from objectspace.errors import UserError
from objectspace.io.files import Json

UNIT = 16  # rooms made at a time: about half a second's work
ATTEMPTS = 500  # about half of the attempts succeed


@dataclass(frozen=True)
class RoomsSource:
    """3D-Room, `small` (4-8 solids) or `large` (18-24), in images of size x size pixels."""

    variant: str = "small"
    size: int = 128
    seed: int = 0

    generator = "rooms"
    version = 1
    licence = "CC0-1.0"
    distinct = False

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise UserError(f"there is no variant {self.variant!r} of rooms: choose one of {', '.join(VARIANTS)}")
        if not 32 <= self.size <= 2048:
            raise UserError(f"rooms of size {self.size} cannot be drawn: choose a size from 32 to 2048 pixels")
        if self.seed < 0:
            raise UserError(f"the seed {self.seed} is negative: choose 0 or more")

    def settings(self) -> Json:
        return asdict(self)

    def make(self, split: str, group: str, unit: int) -> list[Sample | Problem] | None:
        return [self.room(split, unit * UNIT + index) for index in range(UNIT)]

    def room(self, split: str, index: int) -> Sample:
        """Room number `index` of a split: drawn again and again until every solid in it can be seen."""
        rng = np.random.default_rng([self.seed, crc32(split.encode()), index])
        variant, canvas = VARIANTS[self.variant], renderer(self.size)
        count = draw_count(variant, rng)
        for _ in range(ATTEMPTS):
            layout = draw_layout(variant, count, rng)
            if layout is None:
                continue
            seen = outlines(layout.solids, layout.camera, self.size)
            if not all_visible(seen, self.size):
                continue
            labels, image = canvas.draw(layout)
            if all_drawn(seen, labels):
                return to_sample(layout, seen, labels, image)
        raise UserError(f"OpenGL does not draw here what it should: no usable room in {ATTEMPTS} attempts")

    def summary(self, records: Iterable[Json]) -> Json:
        counts: dict[str, Counter[str]] = {"shapes": Counter(), "colors": Counter(), "objects_per_image": Counter()}
        for record in records:
            counts["objects_per_image"][str(len(record["objects"]))] += 1
            for item in record["objects"]:
                counts["shapes"][item["shape"]] += 1
                counts["colors"][item["color"]] += 1
        ordered = {name: dict(sorted(counter.items())) for name, counter in counts.items()}
        return {"mujoco": metadata.version("mujoco")} | ordered
