"""A random room as numbers: solids on a floor within four walls, colours, and a camera.

Convention: metres, so to speak; x and y along the floor, z up, the origin in the middle of the floor.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from objectspace.data.rooms.view import SHAPES, Camera, Solid

Rgb = tuple[float, float, float]

# Strong colours for the solids and muted ones for the room, so that no solid can vanish before a wall or the floor.
SOLID_COLORS: Mapping[str, Rgb] = {
    "red": (0.86, 0.08, 0.08),
    "green": (0.08, 0.62, 0.12),
    "blue": (0.10, 0.18, 0.90),
    "yellow": (0.96, 0.86, 0.06),
    "orange": (0.98, 0.46, 0.02),
    "purple": (0.48, 0.08, 0.66),
    "cyan": (0.04, 0.78, 0.86),
    "pink": (1.00, 0.42, 0.72),
}
ROOM_COLORS: Mapping[str, Rgb] = {
    "sand": (0.84, 0.75, 0.56),
    "stone": (0.74, 0.74, 0.74),
    "slate": (0.38, 0.44, 0.53),
    "sage": (0.54, 0.66, 0.52),
    "mauve": (0.70, 0.55, 0.62),
}

HALF_ROOM = 2.8  # from the middle of the floor to each wall
WALL_HEIGHT = 0.7
HALF_FIELD = 1.7  # solids stand on the square |x|, |y| < HALF_FIELD
MARGIN = 0.11  # a solid's centre keeps this share of the image away from the border
GAP = 0.04  # between the circles that solids occupy on the floor
TRIES = 60  # places tried for a solid before the room counts as full


@dataclass(frozen=True)
class Variant:
    """How many solids (both ends included), and how large: a sphere's radius."""

    count: tuple[int, int]
    radius: tuple[float, float]


VARIANTS: Mapping[str, Variant] = {
    "small": Variant(count=(4, 8), radius=(0.19, 0.30)),
    "large": Variant(count=(18, 24), radius=(0.13, 0.19)),
}
# Edge for edge a cube looks larger than a sphere, so that half its edge is a smaller share of the drawn radius.
SHARE = {"sphere": 1.0, "cube": 0.8, "cylinder": 0.87}


@dataclass(frozen=True)
class Layout:
    """A room; `colors` are the solids', in their order."""

    camera: Camera
    solids: tuple[Solid, ...]
    colors: tuple[str, ...]
    wall: str
    ground: str
    sky: str


def draw_layout(variant: Variant, count: int, rng: np.random.Generator) -> Layout | None:
    """A room at random with `count` solids, or None where the last ones found no place."""
    camera = _draw_camera(rng)
    wall, ground, sky = rng.permutation(list(ROOM_COLORS))[:3]
    solids = _draw_solids(variant.radius, count, camera, rng)
    if solids is None:
        return None
    colors = rng.choice(list(SOLID_COLORS), len(solids))
    return Layout(camera, solids, tuple(map(str, colors)), str(wall), str(ground), str(sky))


def draw_count(variant: Variant, rng: np.random.Generator) -> int:
    """How many solids a room has; drawn before and apart from it, or rejected rooms would make large counts rare."""
    return int(rng.integers(*variant.count, endpoint=True))


def _draw_camera(rng: np.random.Generator) -> Camera:
    """A camera above the walls, aimed over the middle of the floor, so that sky shows at the top.

    It may stand a little outside the enclosure, but sees the wall under it never: that lies below the image.
    """
    azimuth = rng.uniform(0, 2 * math.pi)
    elevation = math.radians(rng.uniform(24, 33))  # at which the middle of the floor sees the camera
    distance = rng.uniform(3.7, 4.0)
    along = distance * math.cos(elevation)
    position = (-along * math.cos(azimuth), -along * math.sin(azimuth), distance * math.sin(elevation))
    return Camera(position, azimuth, pitch=elevation - math.radians(6))


def _draw_solids(
    radius: tuple[float, float], count: int, camera: Camera, rng: np.random.Generator
) -> tuple[Solid, ...] | None:
    """Solids that stand free, with their centres in the image; None where one found no place."""
    solids: list[Solid] = []
    taken = np.empty((count, 3))  # x, y and radius of the circles that solids occupy on the floor
    for index in range(count):
        shape = SHAPES[rng.integers(len(SHAPES))]
        half = SHARE[shape] * rng.uniform(*radius)
        yaw = rng.uniform(0, 2 * math.pi)
        places = rng.uniform(-HALF_FIELD, HALF_FIELD, (TRIES, 2))
        centres = np.column_stack([places, np.full(TRIES, half)])  # (TRIES, 3)
        in_image = (np.abs(camera.project(centres) - 0.5) < 0.5 - MARGIN).all(axis=1)
        apart = np.hypot(*(places[:, None] - taken[:index, :2]).transpose(2, 0, 1))  # (TRIES, index)
        free = (apart > footprint(shape, half) + taken[:index, 2] + GAP).all(axis=1)
        chosen = np.flatnonzero(in_image & free)
        if not chosen.size:
            return None
        x, y = places[chosen[0]].tolist()
        taken[index] = x, y, footprint(shape, half)
        solids.append(Solid(shape, x, y, half, yaw))
    return tuple(solids)


def footprint(shape: str, half: float) -> float:
    """Radius of the circle around all that a solid covers of the floor, seen from above."""
    return half * math.sqrt(2) if shape == "cube" else half
