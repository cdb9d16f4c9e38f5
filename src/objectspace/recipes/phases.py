"""One plan for a whole training, from which all its schedules follow.

    background   the background learns alone, with the unknown for what it cannot explain; again, if some of the
                 ground is left, such as a wall that no component has taken
    warm         what it left unexplained teaches the foreground its first objects
    objects      the bound takes over: boxes are large, then they shrink to the objects' size; presence learns from
                 evidence; the background keeps an objective of its own
    sharpen      both halves train jointly, sigmas fall, rates end

`size` is how large objects are, as a fraction of the image; the scale prior follows from it. `price` is what an object
must be worth in nats; at first less, so that what the warm start has missed is found, too. A plan only fills in what a
recipe does not say itself. Steps are counted from 0.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from objectspace.config.base import Positive, Whole
from objectspace.config.section import Section

Steps = Annotated[int, Field(ge=0)]

UNKNOWN = 0.1  # left there to the end: shadows may stay unknown
FIRST_PRICE = 10.0  # nats that an object must be worth at first
LARGER = 0.25  # how much larger, in the scale's latent, boxes are at first
REPEATS = 2  # times that `background` is done again, at most, while it leaves some of the ground unexplained
EXPLORED = 4  # absent cells an image that are weighed, too
SHARPER = 0.7  # what sigmas fall to in `sharpen`
WIDER = 3.0  # times its sigma that a background begins with: what is far off has no gradient beside the unknown
MODEL = {
    "foreground": {
        "sigma": 0.1,
        "premultiplied": False,
        "margin": 0.15,
        "presence_threshold": 0.02,
        "give_way": 0.45,
        "dense": (384, 384),
    },
    "background": {"sigma": 0.1},
    "init": {"what_std": 0.2, "alpha_bias": 0.0},
}  # of models that train by phases


class Phases(Section):
    """How many steps each phase of a training takes."""

    background: Steps = 0
    warm: Steps = 0
    objects: Whole
    sharpen: Steps = 0
    size: Annotated[float, Field(gt=0, lt=1)] = 0.15  # of an object / of the image
    spread: Positive = 0.35  # of sizes: the stdev of their logits
    price: Annotated[float, Field(gt=0, le=80)] = 46.0  # nats that an object must be worth: minus log presence prior

    @property
    def steps(self) -> int:
        """All of them."""
        return self.background + self.warm + self.objects + self.sharpen

    def plan(self, sigmas: Mapping[str, float], *, from_nothing: bool = True) -> dict[str, dict[str, Any]]:
        """The values of `anneal` and `training` that follow; `sigmas` are those of `foreground` and `background`.

        A background that starts `from_nothing`, not from the data as stills do, has a wide sigma at first.
        """
        begin = self.background + self.warm  # of the objects
        sharp, end = begin + self.objects, self.steps

        def part(share: float) -> int:
            return begin + round(share * self.objects)

        def late(share: float) -> int:
            return sharp + round(share * self.sharpen)

        cheap, priced = (f"{math.exp(-price):.3g}" for price in (min(FIRST_PRICE, self.price), self.price))
        scale = math.log(self.size / (1 - self.size))
        anneal = {
            "unknown": UNKNOWN,
            "background_first": self.background,
            "warm_start": self.warm,
            "own_background": sharp,
            "presence_prior": f"({cheap} -> {priced}):({part(0.5)} -> {part(0.6)})",
            "temperature": f"(1.0 -> 0.5):({begin} -> {part(0.3)})",
            "scale_prior_mean": f"({scale + LARGER:.3f} -> {scale:.3f}):({part(0.2)} -> {part(0.5)})",
            "scale_prior_std": f"({0.7 * self.spread:.3g} -> {self.spread:.3g}):({part(0.3)} -> {part(0.6)})",
            "evidence_from": begin,
            "unexplained_only": True,
            "explored_cells": EXPLORED,
            "lesson": 1.0,
            "boundary": 0,
        }
        for name, sigma in sigmas.items():
            anneal[f"{name}_sigma"] = f"({sigma} -> {SHARPER * sigma:.4g}):({late(0.0)} -> {late(0.5)})"
        wide = round(0.3 * self.background)
        if from_nothing and wide:
            sigma = sigmas["background"]
            anneal["background_sigma"] = (
                f"({WIDER * sigma:.4g} -> {sigma}):(0 -> {wide}) then {anneal['background_sigma']}"
            )
        slower = f"(0.5 -> 0.2):({late(0.0)} -> {late(0.4)}) then (0.2 -> 0.02):({late(0.4)} -> {end})"
        first = round(0.6 * self.background)
        training = {
            "steps": end,
            "watch_from": sharp,
            "background_repeats": REPEATS,
            "clip_apart": True,
            "foreground": {
                "name": "adam",
                "rate": 1e-3,
                "decay": f"(1.0 -> 0.5):({begin} -> {part(0.2)}) then {slower}",
            },
            "background": {
                "name": "adam",
                "rate": 1.5e-3,
                "warmup": 40,
                "decay": f"(1.0 -> 0.5):({first} -> {begin}) then {slower}",
            },
        }
        return {"anneal": anneal, "training": training}
