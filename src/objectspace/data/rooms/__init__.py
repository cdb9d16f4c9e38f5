"""The paper's 3D-Room: a walled enclosure with solids on its floor, drawn by MuJoCo with the truth about each solid.

layout.py   a random room: which solids stand where, which colours, where the camera is   (numpy)
view.py     the camera; a solid's outline and what hides it, exactly, by geometry alone    (numpy)
render.py   the room's colours and labels as MuJoCo draws them                             (mujoco, OpenGL)
truth.py    layout, outlines and labels as boxes, masks and attributes
source.py   `RoomsSource`, which draws rooms until one shows all its solids
"""

from objectspace.data.rooms.source import RoomsSource

__all__ = ["RoomsSource"]
