"""Bring MuJoCo up on a machine that may have neither a display nor a graphics card, or say what is missing."""

import os
import sys
from typing import Any

from objectspace.errors import UserError, missing_extra


def import_mujoco() -> Any:
    """The module, with the environment set up for drawing without a display unless the user did so."""
    if sys.platform == "linux":
        os.environ.setdefault("MUJOCO_GL", "egl")  # needs no display; read when mujoco is imported
    # Mesa's software renderer would start a thread for every core in each worker; 0 draws in the caller's thread.
    os.environ.setdefault("LP_NUM_THREADS", "0")
    try:
        import mujoco
    except ModuleNotFoundError as error:
        raise missing_extra("mujoco", "rooms") if error.name == "mujoco" else no_opengl(error) from error
    except Exception as error:  # without libEGL, the import itself fails, and not with an ImportError
        raise no_opengl(error) from error
    return mujoco


def opengl_context(mj: Any, size: int) -> Any:
    """A context without a window, of MuJoCo's class for the backend that MUJOCO_GL names."""
    if os.environ.get("MUJOCO_GL") == "egl":  # also where mujoco was imported before the variable was set
        from mujoco.egl import GLContext

        return GLContext(size, size)
    return mj.GLContext(size, size)


def no_opengl(error: Exception) -> UserError:
    """The error for a machine where MuJoCo is installed but cannot draw."""
    return UserError(
        f"MuJoCo found no working OpenGL here (MUJOCO_GL={os.environ.get('MUJOCO_GL', '')}): {error}\n"
        "On Debian or Ubuntu:  apt-get install libegl1 libgl1-mesa-dri   (and leave MUJOCO_GL unset)"
    )
