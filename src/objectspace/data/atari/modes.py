"""OCAtari's two ways to find objects: from the console's memory (RAM) and from the picture (vision).

Reads one memory (128,) after every step of the game and, where asked, a screen (H, 160, 3); gives sightings in screen
pixels, not yet checked: `truth` does that. OCAtari's own environment is not used, because its mode "both" fails on
some games, and because its vision mode carries objects over from earlier pictures that this picture does not show.
"""

import importlib
import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from math import isfinite
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from objectspace.errors import UserError, missing_extra
from objectspace.geometry.boxes import Box

NOWHERE = (-10000, -10000, 0, 0)  # x, y, width, height of a thing that vision has not found yet


@dataclass(frozen=True)
class Sighting:
    """One object as one mode sees it."""

    category: str
    box: Box


class Modes:
    """Both modes for one game. `restart` at the beginning of an episode, then `follow` every step."""

    def __init__(self, game: str) -> None:
        self._api = _import_ocatari()
        self._game = game
        self._objects: list[Any] | None = None
        hud, all_but_hud = (_table(self._module("ram"), name) for name in ("MAX_NB_OBJECTS_HUD", "MAX_NB_OBJECTS"))
        self.hud = hud - all_but_hud  # the categories that are parts of the display

    def restart(self) -> None:
        """Forget everything: OCAtari keeps state in its objects and in global variables of its modules."""
        for mode in ("ram", "vision"):
            importlib.reload(self._module(mode))
        self._objects = self._api.init_objects(self._game, False)

    def follow(self, memory: NDArray[np.uint8]) -> None:
        """Let RAM mode read the memory (128,): it must see every step, since it goes by changes too."""
        if self._objects is None:
            return
        try:
            with np.errstate(all="ignore"):  # it computes with bytes, which overflow
                self._api.detect_objects_ram(self._objects, memory, self._game, False)
        except Exception:  # hand-written rules for each game: whatever goes wrong in them, RAM mode is no witness here
            self._objects = None

    def ram(self) -> list[Sighting] | None:
        """What the memory says is there now, or None where RAM mode has failed in this episode."""
        return None if self._objects is None else self._sightings(self._objects)

    def vision(self, screen: NDArray[np.uint8]) -> list[Sighting] | None:
        """What the picture (H, 160, 3) shows, whatever was before, or None where vision mode fails."""
        objects = self._places()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # it calls parts of scikit-image that are deprecated
                self._api.detect_objects_vision(objects, screen.copy(), self._game, False)
        except Exception:  # as above
            return None
        found = [item for item in objects if item is not None and tuple(item.xywh) != NOWHERE]
        for item in found:
            item.visible = type(item).__name__ != "NoObject"
        return self._sightings(found)

    def knows(self, mode: str) -> frozenset[str]:
        """The categories for which a mode ("ram" or "vision") has a rule, as far as its source tells."""
        return frozenset(name for name, value in vars(self._module(mode)).items() if isinstance(value, type))

    def _places(self) -> list[Any]:
        """The list that vision fills: an invisible thing in every place, so that only what is found now has a box."""
        try:
            places = list(self._api.init_objects(self._game, False, vision=True))
        except Exception:  # some games' vision classes cannot be built from RAM's; their rules start from nothing
            places = [self._api.NoObject() for _ in self._api.init_objects(self._game, False)]
        for item in places:
            item.visible = False
            item.xywh = NOWHERE
        return places

    def _sightings(self, objects: Iterable[Any]) -> list[Sighting]:
        sightings = []
        for item in objects:
            if item and not item.hud and item.category not in self.hud:
                x, y, width, height = (float(value) for value in item.xywh)
                if isfinite(x + y + width + height):
                    sightings.append(Sighting(item.category, (x, y, x + width, y + height)))
        return sightings

    def _module(self, mode: str) -> ModuleType:
        return importlib.import_module(f"ocatari.{mode}.{self._game.lower()}")


@dataclass(frozen=True)
class _Api:
    """The few functions of OCAtari that are used here."""

    init_objects: Any
    detect_objects_ram: Any
    detect_objects_vision: Any
    NoObject: Any


@cache
def _import_ocatari() -> _Api:
    """Importing takes seconds and greets on the terminal, hence only when needed, and quietly."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from ocatari.ram.extract_ram_info import detect_objects_ram, init_objects
            from ocatari.vision.extract_vision_info import detect_objects_vision
            from ocatari.vision.game_objects import NoObject
    except ModuleNotFoundError as error:
        raise missing_extra("ocatari", "atari") from error
    except ImportError as error:  # OpenCV without its system libraries
        raise UserError(
            f"ocatari cannot be imported: {error}. On Debian: apt-get install libgl1 libglib2.0-0"
        ) from error
    return _Api(init_objects, detect_objects_ram, detect_objects_vision, NoObject)


def _table(module: ModuleType, name: str) -> frozenset[str]:
    return frozenset(getattr(module, name, {}))
