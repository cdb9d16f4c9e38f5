"""Draw a layout with MuJoCo: colours (S, S, 3) and labels (S, S).

MuJoCo's scene is filled from the layout alone, for every picture anew, so no picture depends on those before it.
Its shadows are hard, and speckled where a solid shadows itself. Hence two devices: the light is a ring of `LIGHTS`
lamps whose shadows add up to a soft one, and a solid's shadow is cast by a slightly smaller copy inside it.
"""

import atexit
import math
from functools import cache
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from objectspace.data.rooms.layout import HALF_FIELD, HALF_ROOM, ROOM_COLORS, SOLID_COLORS, WALL_HEIGHT, Layout, Rgb
from objectspace.data.rooms.opengl import import_mujoco, no_opengl, opengl_context
from objectspace.data.rooms.view import Camera

SKY, FLOOR, WALL, FIRST_SOLID = 0, 1, 2, 3  # labels; solid i has the label FIRST_SOLID + i

LIGHTS = 4
LIGHT_SPREAD = 0.12  # radius of the ring, as a share of its distance: the wider, the softer the shadows
CASTER = 0.94  # size of the copy that casts a solid's shadow
THICKNESS = 0.05  # half of the walls'
MAX_GEOMS = 128


@cache
def renderer(size: int) -> "Renderer":
    """This process's renderer for pictures of size x size, made once: that takes longer than many pictures."""
    return Renderer(size)


class Renderer:
    """An OpenGL context without a window, with a MuJoCo scene in it."""

    def __init__(self, size: int) -> None:
        self._gl: Any = None
        self._context: Any = None
        mj = self._mj = import_mujoco()
        self._size = size
        self._model = mj.MjModel.from_xml_string(_model_xml(size))
        self._data = mj.MjData(self._model)
        mj.mj_forward(self._model, self._data)  # sets the lights' directions
        try:
            self._gl = opengl_context(mj, size)
            self._gl.make_current()
            self._context = mj.MjrContext(self._model, mj.mjtFontScale.mjFONTSCALE_50.value)
        except Exception as error:  # the several backends fail each in its own way
            raise no_opengl(error) from error
        atexit.register(_close, ref(self))  # registered after MuJoCo's end of OpenGL, so it comes before that
        mj.mjr_setBuffer(mj.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        self._scene = mj.MjvScene(self._model, maxgeom=MAX_GEOMS)

    def close(self) -> None:
        """Give the memory back. What belongs to a context must be freed in it, not in another renderer's."""
        if self._context is not None:
            self._gl.make_current()
            self._context.free()
        if self._gl is not None:
            self._gl.free()
        self._gl = self._context = None

    __del__ = close

    def draw(self, layout: Layout) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """The part of the room that each pixel's centre shows (S, S), as a label, and the picture (S, S, 3)."""
        flags = self._mj.mjtRndFlag
        self._gl.make_current()
        self._fill(layout)
        labels = self._render(self._size, flags.mjRND_SEGMENT, flags.mjRND_IDCOLOR)[..., 0].copy()
        # Additive: the hidden casters, being transparent, are then drawn once instead of twice.
        fine = self._render(2 * self._size, flags.mjRND_SHADOW, flags.mjRND_SKYBOX, flags.mjRND_ADDITIVE)
        return labels, _halve(fine)

    def _render(self, size: int, *flags: int) -> NDArray[np.uint8]:
        self._scene.flags[:] = 0
        for flag in (*flags, self._mj.mjtRndFlag.mjRND_CULL_FACE):
            self._scene.flags[flag] = 1
        picture = np.empty((size, size, 3), np.uint8)
        rect = self._mj.MjrRect(0, 0, size, size)
        self._mj.mjr_render(rect, self._scene, self._context)
        self._mj.mjr_readPixels(picture, None, rect, self._context)
        return picture[::-1]  # OpenGL's first row is the lowest

    def _fill(self, layout: Layout) -> None:
        """Make MuJoCo's scene show the layout and nothing else."""
        mj = self._mj
        camera = mj.MjvCamera()
        camera.azimuth, camera.elevation = math.degrees(layout.camera.azimuth), -math.degrees(layout.camera.pitch)
        camera.distance = 1.0
        camera.lookat[:] = np.asarray(layout.camera.position) + layout.camera.axes[2]
        every = mj.mjtCatBit.mjCAT_ALL.value
        mj.mjv_updateScene(self._model, self._data, mj.MjvOption(), None, camera, every, self._scene)
        self._fill_room(ROOM_COLORS[layout.ground], ROOM_COLORS[layout.wall], ROOM_COLORS[layout.sky])
        kinds = mj.mjtGeom
        types = {"sphere": kinds.mjGEOM_SPHERE, "cube": kinds.mjGEOM_BOX, "cylinder": kinds.mjGEOM_CYLINDER}
        for index, (solid, name) in enumerate(zip(layout.solids, layout.colors, strict=True)):
            kind, size, color = types[solid.shape], np.full(3, solid.half), SOLID_COLORS[name]
            self._add(kind, size, solid.centre, solid.turn, color, FIRST_SOLID + index, specular=0.3)
            self._add(kind, CASTER * size, solid.centre * [1, 1, CASTER], solid.turn, color, None)

    def _fill_room(self, ground: Rgb, wall: Rgb, sky: Rgb) -> None:
        self._model.tex_data[:] = np.tile(np.rint(255 * np.array(sky)), self._model.ntexdata // 3)
        self._mj.mjr_uploadTexture(self._model, self._context, 0)
        box, level = self._mj.mjtGeom.mjGEOM_BOX, np.eye(3)
        side = HALF_ROOM + 2 * THICKNESS
        self._add(box, [side, side, THICKNESS], [0, 0, -THICKNESS], level, ground, FLOOR)
        for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            size = [THICKNESS if x else side, THICKNESS if y else side, WALL_HEIGHT / 2]
            place = [x * (HALF_ROOM + THICKNESS), y * (HALF_ROOM + THICKNESS), WALL_HEIGHT / 2]
            self._add(box, size, place, level, wall, WALL)

    def _add(
        self, kind: int, size: Any, place: Any, turn: Any, color: Any, label: int | None, specular: float = 0
    ) -> None:
        """Add a geom; without a label it is not seen but casts a shadow, which those with a label do not."""
        mj, scene = self._mj, self._scene
        geom = scene.geoms[scene.ngeom]
        rgba = np.array([*color, 0.5 if label is None else 1.0], np.float32)  # what is not opaque gets no shading: fast
        mj.mjv_initGeom(geom, kind, np.asarray(size, float), np.asarray(place, float), turn.ravel(), rgba)
        category = mj.mjtCatBit.mjCAT_STATIC if label is None else mj.mjtCatBit.mjCAT_DECOR  # decor casts no shadow
        geom.category = category.value
        geom.segid = -1 if label is None else label - 1
        geom.specular = specular
        scene.ngeom += 1


def _close(dying: "ref[Renderer]") -> None:
    still_there = dying()
    if still_there is not None:
        still_there.close()


def _halve(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The mean of every four pixels: smooth edges and shadows, cheaper than OpenGL's own multisampling in software."""
    pairs = picture[:, ::2].astype(np.uint16) + picture[:, 1::2]
    means: NDArray[np.uint16] = (pairs[::2] + pairs[1::2] + 2) >> 2
    return means.astype(np.uint8)


def _model_xml(size: int) -> str:
    """Lights, lens and quality; the geoms are added to the scene directly."""
    lamps = ""
    for index in range(LIGHTS):
        angle = 2 * math.pi * (index + 0.5) / LIGHTS
        x, y = 0.35 + LIGHT_SPREAD * math.cos(angle), 0.25 + LIGHT_SPREAD * math.sin(angle)
        diffuse, specular = 0.44 / LIGHTS, 0.5 / LIGHTS
        lamps += (
            f'<light directional="true" pos="0 0 3" dir="{x} {y} -1" ambient="0 0 0" '
            f'diffuse="{diffuse} {diffuse} {diffuse}" specular="{specular} {specular} {specular}"/>'
        )
    slices = 4 * round(5 * math.sqrt(size / 128))  # facets of round solids, so that they are a few pixels wide
    return f"""
    <mujoco>
      <statistic extent="1" center="0 0 0"/>
      <visual>
        <global offwidth="{2 * size}" offheight="{2 * size}" fovy="{math.degrees(Camera.field)}"/>
        <quality shadowsize="{min(2 * size, 2048)}" offsamples="0"
                 numslices="{slices}" numstacks="{slices // 2}" numquads="1"/>
        <headlight ambient=".48 .48 .48" diffuse=".2 .2 .2" specular="0 0 0"/>
        <map shadowclip="{HALF_FIELD + 0.7}" znear="0.2" zfar="20"/>
      </visual>
      <asset><texture name="sky" type="skybox" builtin="flat" width="4" height="24"/></asset>
      <worldbody>{lamps}</worldbody>
    </mujoco>"""
