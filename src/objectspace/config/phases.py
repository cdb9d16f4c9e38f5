"""One plan for a whole training, from which all its schedules follow.

    background   the background learns alone, with the unknown for what it cannot explain
    warm         what it left unexplained teaches the foreground its first objects
    objects      the bound takes over: boxes are large while the presence prior falls, then they shrink to the objects'
                 size; the background keeps an objective of its own; presence begins to learn from evidence
    sharpen      both halves train jointly, sigmas fall, an object must be worth its price, rates end

A plan only fills in what a recipe does not say itself. Steps are counted from 0.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from objectspace.config.base import Section, Whole

Steps = Annotated[int, Field(ge=0)]

UNKNOWN = 0.1  # left there to the end: shadows may stay unknown
EXPLAINED = 0.001  # presence prior of cells that the background explains
PRICE = 46.0  # nats: the last presence prior is exp(-PRICE)
SHARPER = 0.7  # what sigmas fall to in `sharpen`


class Phases(Section):
    """How many steps each phase of a training takes."""

    background: Steps = 0
    warm: Steps = 0
    objects: Whole
    sharpen: Steps = 0

    @property
    def steps(self) -> int:
        """All of them."""
        return self.background + self.warm + self.objects + self.sharpen

    def plan(self, sigmas: Mapping[str, float]) -> dict[str, dict[str, Any]]:
        """The values of `anneal` and `training` that follow; `sigmas` are those of `foreground` and `background`."""
        begin = self.background + self.warm  # of the objects
        sharp, end = begin + self.objects, self.steps

        def part(share: float) -> int:
            return begin + round(share * self.objects)

        def late(share: float) -> int:
            return sharp + round(share * self.sharpen)

        priced = f"(0.0001 -> {math.exp(-PRICE):.3g}):({late(0.0)} -> {late(0.1)})"
        anneal = {
            "unknown": UNKNOWN,
            "explained_prior": EXPLAINED,
            "background_first": self.background,
            "warm_start": self.warm,
            "own_background": sharp,
            "presence_prior": f"(0.3 -> 0.01):({part(0.1)} -> {part(0.5)}) then "
            f"(0.01 -> 0.0001):({part(0.5)} -> {part(0.7)}) then {priced}",
            "temperature": f"(1.0 -> 0.5):({begin} -> {part(0.3)})",
            "evidence_from": part(0.3),
            "boundary_stop": 0,
        }
        for name, sigma in sigmas.items():
            anneal[f"{name}_sigma"] = f"({sigma} -> {SHARPER * sigma:.4g}):({late(0.0)} -> {late(0.5)})"
        decay = f"(1.0 -> 0.3):({late(0.0)} -> {late(0.4)}) then (0.3 -> 0.03):({late(0.4)} -> {end})"
        training = {
            "steps": end,
            "watch_from": sharp,
            "clip_apart": True,
            "foreground": {"name": "adam", "rate": 5e-4, "decay": decay},
            "background": {"name": "adam", "rate": 2e-3, "decay": decay},
        }
        return {"anneal": anneal, "training": training}
