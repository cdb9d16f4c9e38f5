"""The parts of the screen that are no objects: score, lives, clock and whatever else OCAtari calls the HUD.

Reads memories and screens as `modes` does; gives sightings. The rules for the HUD run in copies of OCAtari's modules,
with lists of their own: whatever they do or fail at, what is known about the objects stays as it is without them.
"""

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Iterable, Sequence
from math import isfinite
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from objectspace.data.atari import faults
from objectspace.data.atari.modes import NOWHERE, Modes, Sighting
from objectspace.data.atari.truth import TWICE, ScreenObject, overlaps, visible

COPY = "_hud"  # added to the name of a module's copy


class Hud:
    """What OCAtari knows of a game's HUD. `restart` at the beginning of an episode, then `follow` every step."""

    def __init__(self, game: str) -> None:
        self._names = Modes(game).hud
        self._overlooked = [Sighting(name, box) for name, box in faults.DISPLAY.get(game, {}).items()]
        self._game = game.lower()
        self._ram, self._vision = self._copy("ram"), self._copy("vision")
        self._objects: list[Any] | None = None

    def restart(self) -> None:
        """Forget everything."""
        self._ram, self._vision = self._copy("ram"), self._copy("vision")
        try:
            self._objects = list(self._ram._init_objects_ram(True))
        except Exception:  # as in `modes`: rules written by hand, game by game
            self._objects = None

    def follow(self, memory: NDArray[np.uint8]) -> None:
        """Let RAM mode read the memory (128,)."""
        if self._objects is None:
            return
        try:
            with np.errstate(all="ignore"):
                _remember(self._objects)
                self._ram._detect_objects_ram(self._objects, memory, True)
        except Exception:
            self._objects = None

    def parts(self, screen: NDArray[np.uint8], objects: Sequence[ScreenObject]) -> list[Sighting]:
        """What either mode, or `faults.DISPLAY`, says is part of the HUD, as far as it shows on the screen (H, 160, 3).

        Neither mode is asked to confirm the other, because nothing is counted here. What is an object is no HUD.
        """
        known = [*self._sightings(self._objects or ()), *self._sightings(self._by_vision(screen))]
        seen = visible(screen, [*known, *self._overlooked])
        clear = ~(overlaps(seen, objects) >= TWICE).any(axis=1)
        return [item for item, free in zip(seen, clear, strict=True) if free]

    def _by_vision(self, screen: NDArray[np.uint8]) -> list[Any]:
        try:
            places = [self._place(item) for item in self._ram._init_objects_ram(True)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                self._vision._detect_objects(places, screen.copy(), True)
        except Exception:
            return []
        return [item for item in places if item is not None and tuple(item.xywh) != NOWHERE]

    def _place(self, item: Any) -> Any:
        """A thing that vision has not found yet, in place of one of RAM mode's."""
        made = getattr(self._vision, item.category, self._vision.NoObject) if item else self._vision.NoObject
        place = made(*NOWHERE) if item and made is not self._vision.NoObject else made()
        place.xywh = NOWHERE
        return place

    def _sightings(self, objects: Iterable[Any]) -> list[Sighting]:
        sightings = []
        for item in objects:
            if item and type(item).__name__ != "NoObject" and (item.hud or item.category in self._names):
                x, y, width, height = (float(value) for value in item.xywh)
                if item.visible and isfinite(x + y + width + height):
                    sightings.append(Sighting(item.category, (x, y, x + width, y + height)))
        return sightings

    def _copy(self, mode: str) -> ModuleType:
        """A module of OCAtari once more, as fresh as at its first import."""
        original = importlib.import_module(f"ocatari.{mode}.{self._game}")
        name = f"{original.__name__}{COPY}"
        specification = importlib.util.spec_from_file_location(name, original.__file__)
        assert specification is not None
        assert specification.loader is not None
        copy = importlib.util.module_from_spec(specification)
        sys.modules[name] = copy  # rules look themselves up there
        specification.loader.exec_module(copy)
        return copy


def _remember(objects: Iterable[Any]) -> None:
    """OCAtari's rules go by changes: the places of the step before."""
    for item in objects:
        if item:
            item._save_prev()
