"""Coloured shapes on a plain, gradient or textured ground, with exact masks and occlusion: numpy only.

Gives the samples that tests and the tutorial use. Every shape is drawn from its implicit function on a grid of
sub-pixels, so edges are smooth and a mask is exactly the pixels that the shape covers by half or more.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from objectspace.data.sample import Sample, TrueObject
from objectspace.errors import UserError
from objectspace.geometry import rle
from objectspace.geometry.boxes import tight_box
from objectspace.io.files import Json

SHAPES = ("disc", "square", "triangle", "star")
COLORS = {
    "red": (214, 48, 49),
    "green": (46, 174, 79),
    "blue": (36, 99, 235),
    "yellow": (247, 203, 21),
    "magenta": (214, 40, 170),
    "cyan": (23, 190, 207),
    "orange": (245, 130, 32),
    "white": (245, 245, 245),
}
GROUNDS = ("plain", "gradient", "textured")
UNIT = 64  # scenes made at a time
SUBPIXELS = 3  # a side; nine tests a pixel give edges smooth enough at 64 x 64
PLACE_TRIES, SCENE_TRIES = 100, 20

Coordinates = NDArray[np.float32]


@dataclass(frozen=True)
class SpritesSource:
    """Scenes of `least` to `most` sprites whose diameter is `smallest` to `largest` of the image's shorter side.

    Sprites may overlap, later ones lying in front, but at least a third of each stays visible.
    """

    height: int = 64
    width: int = 64
    least: int = 2
    most: int = 5
    smallest: float = 0.14
    largest: float = 0.28
    ground: str = "any"  # one of GROUNDS, or any of them
    seed: int = 0

    generator = "sprites"
    version = 1
    licence = "CC0-1.0"
    distinct = False

    def __post_init__(self) -> None:
        if min(self.height, self.width) < 8:
            raise UserError(f"sprites of {self.height} x {self.width}: an image needs at least 8 x 8 pixels")
        if not 0 <= self.least <= self.most:
            raise UserError(f"from {self.least} to {self.most} sprites: give 0 <= least <= most")
        if not 0 < self.smallest <= self.largest <= 1:
            raise UserError(f"sprite sizes {self.smallest} to {self.largest}: give 0 < smallest <= largest <= 1")
        if self.ground not in (*GROUNDS, "any"):
            raise UserError(f"there is no ground {self.ground!r}: choose from {', '.join(GROUNDS)} or any")

    def settings(self) -> Json:
        """All that the pixels depend on."""
        return asdict(self)

    def make(self, split: str, group: str, unit: int) -> list[Sample]:
        """`UNIT` scenes; each depends on the seed, the split and its number alone."""
        del group
        first = unit * UNIT
        return [self.scene(np.random.default_rng([self.seed, crc32(split.encode()), first + i])) for i in range(UNIT)]

    def summary(self, records: Iterable[Json]) -> Json:
        """How often each shape occurs."""
        shapes = Counter(item["category"] for record in records for item in record["objects"])
        return {"objects": dict(sorted(shapes.items()))}

    def scene(self, rng: np.random.Generator) -> Sample:
        """Draw one scene."""
        for _ in range(SCENE_TRIES):
            sample = self._try_scene(rng, count=int(rng.integers(self.least, self.most + 1)))
            if sample is not None:
                return sample
        raise UserError(
            f"{self.least} to {self.most} sprites of {self.smallest:.0%} to {self.largest:.0%} of the image do not fit "
            "so that each can be seen: ask for fewer or smaller ones"
        )

    def _try_scene(self, rng: np.random.Generator, count: int) -> Sample | None:
        """A scene of `count` sprites, or None where one of them found no place."""
        image, tint = self._ground(rng)
        names = [name for name, color in COLORS.items() if np.abs(np.subtract(color, tint)).max() > 60]
        sprites: list[_Sprite] = []
        for _ in range(count):
            shape, color = SHAPES[rng.integers(len(SHAPES))], names[rng.integers(len(names))]
            front = self._place(rng, shape, color, sprites)
            if front is None:
                return None
            window = image[front.rows, front.columns]
            window += front.cover[..., None] * (np.asarray(COLORS[color], np.float32) - window)
            sprites = [*(sprite.behind(front) for sprite in sprites), front]
        return Sample(np.rint(image).astype(np.uint8), tuple(sprite.truth() for sprite in sprites))

    def _place(self, rng: np.random.Generator, shape: str, color: str, below: Sequence["_Sprite"]) -> "_Sprite | None":
        """A new front sprite that hides none of those below too much."""
        for _ in range(PLACE_TRIES):
            front = self._draw(rng, shape, color)
            if front.whole.any() and all(front.leaves_visible(sprite) for sprite in below):
                return front
        return None

    def _draw(self, rng: np.random.Generator, shape: str, color: str) -> "_Sprite":
        side = min(self.height, self.width)
        radius = 0.5 * side * rng.uniform(self.smallest, self.largest)
        center_x = rng.uniform(radius, self.width - radius)
        center_y = rng.uniform(radius, self.height - radius)
        angle = rng.uniform(0, 2 * np.pi)
        # Only the pixels that the sprite can reach are tested.
        x0, x1 = max(int(center_x - radius), 0), min(int(center_x + radius) + 1, self.width)
        y0, y1 = max(int(center_y - radius), 0), min(int(center_y + radius) + 1, self.height)
        fine = (np.arange(SUBPIXELS, dtype=np.float32) + 0.5) / SUBPIXELS
        x = ((np.arange(x0, x1, dtype=np.float32)[:, None] + fine).ravel() - np.float32(center_x)) / np.float32(radius)
        y = ((np.arange(y0, y1, dtype=np.float32)[:, None] + fine).ravel() - np.float32(center_y)) / np.float32(radius)
        inside = _inside(shape, x[None, :], y[:, None], np.float32(angle))
        rows = inside.reshape(y1 - y0, SUBPIXELS, -1).sum(axis=1, dtype=np.float32)
        cover = rows.reshape(y1 - y0, x1 - x0, SUBPIXELS).sum(axis=2) / np.float32(SUBPIXELS**2)
        whole = np.zeros((self.height, self.width), np.bool_)
        whole[y0:y1, x0:x1] = cover >= 0.5
        return _Sprite(shape, color, slice(y0, y1), slice(x0, x1), cover, whole, whole)

    def _ground(self, rng: np.random.Generator) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The ground (H, W, 3) in 0..255 and its mean colour (3,)."""
        kind = GROUNDS[rng.integers(len(GROUNDS))] if self.ground == "any" else self.ground
        tint = rng.uniform(20, 130, 3).astype(np.float32)
        ground = np.broadcast_to(tint, (self.height, self.width, 3)).astype(np.float32)
        x = np.linspace(-1, 1, self.width, dtype=np.float32)[None, :, None]
        y = np.linspace(-1, 1, self.height, dtype=np.float32)[:, None, None]
        if kind == "gradient":
            across, down = rng.uniform(-35, 35, (2, 3)).astype(np.float32)
            ground = ground + across * x + down * y
        elif kind == "textured":
            for _ in range(3):  # three plane waves make a texture that repeats nowhere in the picture
                frequency, phase = rng.uniform(4, 16, 2), rng.uniform(0, 2 * np.pi)
                ground = ground + rng.uniform(3, 9) * np.sin(frequency[0] * x + frequency[1] * y + phase)
        return np.clip(ground, 0, 255, dtype=np.float32), tint


@dataclass(frozen=True)
class _Sprite:
    """A drawn sprite: its `cover` in [0, 1] of the window (rows, columns), and its full-size masks (H, W)."""

    shape: str
    color: str
    rows: slice
    columns: slice
    cover: NDArray[np.float32]
    whole: NDArray[np.bool_]
    seen: NDArray[np.bool_]

    @property
    def visible_fraction(self) -> float:
        return float(np.count_nonzero(self.seen) / np.count_nonzero(self.whole))

    def behind(self, front: "_Sprite") -> "_Sprite":
        """This sprite, with another laid in front of it."""
        return replace(self, seen=self.seen & ~front.whole)

    def leaves_visible(self, below: "_Sprite") -> bool:
        """Whether another sprite can still be seen, and told apart, with this one in front of it."""
        apart = (
            self.rows.start >= below.rows.stop
            or below.rows.start >= self.rows.stop
            or self.columns.start >= below.columns.stop
            or below.columns.start >= self.columns.stop
        )
        return apart or (self.color != below.color and below.behind(self).visible_fraction >= 1 / 3)

    def truth(self) -> TrueObject:
        box, visible_box = tight_box(self.whole), tight_box(self.seen)
        assert box is not None  # a sprite is placed only where it can be seen
        return TrueObject(
            category=self.shape,
            box=box,
            visible_box=visible_box,
            mask=rle.encode(self.seen),
            attributes={"color": self.color, "visible_fraction": round(self.visible_fraction, 4)},
        )


def _inside(shape: str, x: Coordinates, y: Coordinates, angle: np.float32) -> NDArray[np.bool_]:
    """Whether points, in units of the sprite's radius, lie in the shape turned by `angle`."""
    if shape == "disc":
        return np.asarray(x * x + y * y <= 1)
    turned_x, turned_y = np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y
    if shape == "square":
        return np.asarray(np.maximum(np.abs(turned_x), np.abs(turned_y)) <= np.sqrt(0.5))
    corners = 3 if shape == "triangle" else 5
    sector = np.float32(2 * np.pi / corners)
    radius, direction = np.hypot(turned_x, turned_y), np.arctan2(turned_y, turned_x) % sector - sector / 2
    if shape == "triangle":
        return np.asarray(radius * np.cos(direction) <= np.cos(np.pi / corners))
    # A star: straight from an outer corner (radius 1, at the sector's edge) to an inner one (radius 0.45, its middle).
    toward_edge = np.abs(direction)
    inner, outer = 0.45, 1.0
    limit = (
        inner * outer * np.sin(sector / 2) / (inner * np.sin(toward_edge) + outer * np.sin(sector / 2 - toward_edge))
    )
    return np.asarray(radius <= limit)
