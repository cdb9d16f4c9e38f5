"""The camera, and what it sees of a solid: its outline and what hides it, by geometry alone.

Convention: the camera's axes are right, down and forward. A point's place in the image is a share of the image's
side, (0, 0) the top left and (1, 1) the bottom right corner, so nothing here depends on the number of pixels until
pixels are counted. Depth is the distance along the forward axis.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from objectspace.geometry.boxes import Box

Floats = NDArray[np.float64]

SHAPES = ("sphere", "cube", "cylinder")

# Every solid is the convex hull of ellipsoids, some of them flat: one ball, the two rims of a cylinder, the eight
# corners of a cube. Here eight centres each (repeated where fewer would do) and the half axes they share, in the axes
# of a solid of half-width 1.
_CORNERS = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
_CENTRES = {"sphere": 0 * _CORNERS, "cube": _CORNERS, "cylinder": _CORNERS * [0, 0, 1]}
_HALF_AXES = {"sphere": np.eye(3), "cube": np.zeros((3, 3)), "cylinder": np.diag([1.0, 1.0, 0.0])}


@dataclass(frozen=True)
class Camera:
    """A square pinhole camera; angles in radians, `pitch` downwards from the horizon."""

    position: tuple[float, float, float]
    azimuth: float
    pitch: float
    field: float = math.radians(38)  # of view, edge to edge

    @cached_property
    def axes(self) -> Floats:
        """Right, down and forward as the rows of (3, 3)."""
        along = np.array([math.cos(self.azimuth), math.sin(self.azimuth), 0.0])
        up = np.array([0.0, 0.0, 1.0])
        forward = math.cos(self.pitch) * along - math.sin(self.pitch) * up
        down = -math.sin(self.pitch) * along - math.cos(self.pitch) * up
        return np.stack([np.cross(down, forward), down, forward])

    @property
    def focal(self) -> float:
        """Distance of the image plane, in sides of the image."""
        return 0.5 / math.tan(self.field / 2)

    def to_camera(self, points: Floats) -> Floats:
        """Points (..., 3) in the camera's axes."""
        seen: Floats = (points - np.asarray(self.position)) @ self.axes.T
        return seen

    def project(self, points: Floats) -> Floats:
        """Points (..., 3), all before the camera, in the image (..., 2)."""
        seen = self.to_camera(points)
        return 0.5 + self.focal * seen[..., :2] / seen[..., 2:]


@dataclass(frozen=True)
class Solid:
    """A solid standing at (x, y) on the floor, as high as it is wide: `half` its height."""

    shape: str
    x: float
    y: float
    half: float
    yaw: float

    @cached_property
    def centre(self) -> Floats:
        return np.array([self.x, self.y, self.half])

    @cached_property
    def turn(self) -> Floats:
        """Rotation (3, 3) from the solid's own axes to the room's."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def outline_boxes(solids: Sequence[Solid], camera: Camera) -> Floats:
    """The exact boxes (N, 4) around the whole solids' projections, in shares of the image, also beyond its border.

    The plane through the camera and the image column k = x / z touches an ellipsoid with centre c and half axes u_i
    where (c_x - k c_z)^2 = sum_i (u_ix - k u_iz)^2. The two roots k of this quadratic are its left and right end.
    """
    turns = np.stack([solid.half * solid.turn.T for solid in solids]) @ camera.axes.T  # (N, 3, 3)
    c = camera.to_camera(np.stack([solid.centre for solid in solids]))[:, None]
    c = c + np.stack([_CENTRES[solid.shape] for solid in solids]) @ turns  # (N, 8, 3), in the camera's axes
    u = np.stack([_HALF_AXES[solid.shape] for solid in solids]) @ turns  # (N, 3, 3)
    products = (u * u[..., 2:]).sum(axis=1, keepdims=True)  # (N, 1, 3), the sums of u_ix u_iz, u_iy u_iz, u_iz u_iz
    square = c[..., 2:] ** 2 - products[..., 2:]  # (N, 8, 1), positive for what lies before the camera
    middle = (c[..., :2] * c[..., 2:] - products[..., :2]) / square  # (N, 8, 2), of the roots, for columns and rows
    rest = (c[..., :2] ** 2 - (u[..., :2] ** 2).sum(axis=1, keepdims=True)) / square
    reach = np.sqrt(np.maximum(middle**2 - rest, 0))  # the maximum mends rounding: a corner has no width
    ends: Floats = np.concatenate([(middle - reach).min(axis=1), (middle + reach).max(axis=1)], axis=1)
    return 0.5 + camera.focal * ends


def cast(solid: Solid, camera: Camera, x: Floats, y: Floats) -> Floats:
    """Depth (h, w) where the rays through image columns x (w,) and rows y (h,) enter the solid; inf: they miss it."""
    toward = camera.axes @ solid.turn  # (3, 3), the camera's axes in the solid's, in which the solid has half-width 1
    start = (np.asarray(camera.position) - solid.centre) @ solid.turn / solid.half
    across = ((x - 0.5) / (camera.focal * solid.half))[None, :, None] * toward[0]
    rays = across + ((y - 0.5) / (camera.focal * solid.half))[:, None, None] * toward[1] + toward[2] / solid.half
    if solid.shape == "sphere":
        enter, leave = _through_round(start, rays)
    elif solid.shape == "cube":
        enter, leave = _through_slabs(start, rays)
    else:
        side_in, side_out = _through_round(start[:2], rays[..., :2])
        end_in, end_out = _through_slabs(start[2:], rays[..., 2:])
        enter, leave = np.maximum(side_in, end_in), np.minimum(side_out, end_out)
    return np.where(enter <= leave, enter, np.inf)


def _through_round(start: Floats, rays: Floats) -> tuple[Floats, Floats]:
    """Where rays (h, w, d) enter and leave |p| <= 1; nan where they pass by."""
    a = (rays * rays).sum(axis=-1)
    b = (rays @ start) / a
    with np.errstate(invalid="ignore"):
        root = np.sqrt(b * b - (start @ start - 1) / a)
    return -b - root, -b + root


def _through_slabs(start: Floats, rays: Floats) -> tuple[Floats, Floats]:
    """Where rays (h, w, d) enter and leave max |p| <= 1."""
    with np.errstate(divide="ignore"):  # a ray along a slab is in it from -inf to inf, or from inf to -inf
        low, high = (-1 - start) / rays, (1 - start) / rays
    return np.minimum(low, high).max(axis=-1), np.maximum(low, high).min(axis=-1)


@dataclass(frozen=True)
class Outline:
    """A solid in an image of some size: `box` in pixels, not clipped, and counts of pixel centres.

    `whole` counts all that the solid would cover if nothing hid it and the image had no border; `visible` what it
    does cover.
    """

    box: Box
    whole: int
    visible: int

    @property
    def visible_fraction(self) -> float:
        return self.visible / max(self.whole, 1)


def outlines(solids: Sequence[Solid], camera: Camera, size: int) -> list[Outline]:
    """What the camera sees of each solid in an image of size x size pixels, by casting a ray through every pixel."""
    nearest = np.full((size, size), np.inf)
    owner = np.full((size, size), -1)
    boxes = size * outline_boxes(solids, camera)
    starts, ends = np.floor(boxes[:, :2]).astype(int), np.ceil(boxes[:, 2:]).astype(int)
    whole = []
    for index, (solid, (left, top), (right, bottom)) in enumerate(
        zip(solids, starts.tolist(), ends.tolist(), strict=True)
    ):
        depth = cast(solid, camera, (np.arange(left, right) + 0.5) / size, (np.arange(top, bottom) + 0.5) / size)
        whole.append(int(np.isfinite(depth).sum()))
        depth = depth[max(-top, 0) : max(size - top, 0), max(-left, 0) : max(size - left, 0)]
        window = slice(max(top, 0), max(bottom, 0)), slice(max(left, 0), max(right, 0))
        closer = depth < nearest[window]
        nearest[window][closer] = depth[closer]
        owner[window][closer] = index
    visible = np.bincount(owner[owner >= 0], minlength=len(solids)).tolist()
    return [
        Outline((b[0], b[1], b[2], b[3]), *counts) for b, *counts in zip(boxes.tolist(), whole, visible, strict=True)
    ]
