"""The pieces of training by phases, and what it takes to take each away from a recipe."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from objectspace.models.parts.settings import GridConfig
from objectspace.ops import schedules
from objectspace.ops.schedules import Schedule
from objectspace.recipes.recipe import Recipe

WHOLE = "whole"
COMPONENTS = 4  # that are in the place of stills


@dataclass(frozen=True)
class Piece:
    """Something that training, or taking apart, can do without."""

    name: str
    about: str  # what is done without it
    overrides: tuple[str, ...] = ()  # of the recipe, as --set takes them; none: this recipe does not have the piece
    decompose: Mapping[str, Any] = field(default_factory=dict)  # how `decompose` is called instead, on the whole's run

    @property
    def slug(self) -> str:
        return self.name.replace(" ", "-")

    @property
    def trained(self) -> str:
        """Whose run is measured."""
        return WHOLE if self.decompose else self.slug

    @property
    def changes(self) -> tuple[str, ...]:
        return self.overrides or tuple(f"decompose({key}={value})" for key, value in self.decompose.items())


def pieces_of(recipe: Recipe) -> dict[str, Piece]:
    """All pieces by name, the whole first, with what it takes to take them away from a recipe."""
    assert isinstance(recipe.model, GridConfig)
    anneal, background = recipe.anneal, recipe.model.background
    sizes = {name: getattr(anneal, name) for name in ("scale_prior_mean", "scale_prior_std")}
    sizes = {name: schedule for name, schedule in sizes.items() if schedule and len(set(schedule.values)) > 1}
    cold = ("phases.warm=0", *moved(recipe)) if anneal.warm_start else ()
    unguided = ("anneal.explored_cells=0", "anneal.unexplained_only=false")
    known = ("anneal.unknown=0", *unguided, "anneal.lesson=0", "anneal.explained_prior=none")
    own = background.model_dump()
    plain = (
        f"model.background.components={own.get('components', 0) or COMPONENTS}",
        "model.background.stills=0",
        "model.background.still_things=background",
    )
    smooth = ("model.background.palette=false", "model.background.stray=0")
    pieces = (
        Piece(WHOLE, "nothing is taken away"),
        Piece(
            "unknown",
            "somebody must explain each pixel; what looks at the unexplained goes, too",
            (*cold, *known) if any(anneal.unknown.values) else (),
        ),
        Piece("warm start", "objects start anywhere, and these steps are left out", cold),
        Piece("own objective", "objects and background share one bound from the start", ("anneal.own_background=0",)),
        Piece("colour by alpha", "colour times alpha is drawn", ("model.foreground.premultiplied=true",)),
        Piece(
            "narrow nets", "nets of the paper's width; a step costs about three times as much", ("model.width=paper",)
        ),
        Piece(
            "big boxes first",
            "boxes have their final size from the start",
            tuple(f"anneal.{name}={schedule.final()}" for name, schedule in sizes.items()),
        ),
        Piece(
            "presence by evidence",
            "presence learns through its sample",
            ("anneal.evidence_from=none", *unguided) if anneal.evidence_from is not None else (),
        ),
        Piece("lesson", "what nobody explains teaches in the warm start only", ("anneal.lesson=0",)),
        Piece("giving way", "cells with one box both stay", ("model.foreground.give_way=0",)),
        Piece("margin", "a glimpse ends where its box does", ("model.foreground.margin=0",)),
        Piece("dense nets", "glimpses are convolved", ("model.foreground.dense=[]",)),
        Piece("stills", "components in place of stills", plain if own.get("stills") else ()),
        Piece("palette", "smooth components in place of colours that are seen", smooth if own.get("palette") else ()),
        Piece(
            "evidence",
            "every cell above one half is an object; no second look and no leftovers either",
            decompose={"price": None},
        ),
        Piece("leftovers", "what is found and cannot be drawn is no object", decompose={"leftovers": False}),
        Piece(
            "second look",
            "neither what is left unexplained nor an object's outline is looked at again; no leftovers either",
            decompose={"second_look": False},
        ),
    )
    return {piece.name: piece for piece in pieces}


def moved(recipe: Recipe) -> list[str]:
    """Overrides for schedules that a recipe says itself: without a warm start what comes after it comes earlier."""
    phases, anneal = recipe.phases, recipe.anneal
    assert phases is not None
    assert isinstance(recipe.model, GridConfig)
    sigmas = {"foreground": recipe.model.foreground.sigma, "background": recipe.model.background.sigma}
    planned = phases.plan(sigmas)["anneal"]

    def earlier(schedule: Schedule) -> Schedule:
        first, last = (
            min(step, max(anneal.background_first, step - anneal.warm_start))
            for step in (schedule.begin, schedule.finish)
        )
        return replace(schedule, begin=first, finish=last, then=schedule.then and earlier(schedule.then))

    own = {name: value for name, value in anneal if isinstance(value, Schedule) and str(value) != str(earlier(value))}
    own = {name: value for name, value in own.items() if name not in planned or value != schedules.parse(planned[name])}
    return [f"anneal.{name}={earlier(value)}" for name, value in own.items()]
