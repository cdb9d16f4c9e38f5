"""Collapse watch: notices when a run has gone wrong, says what to change, and whether it is worth going on.

Reads scenes that the model made of held-out images; gives warnings. A condition must last for `PATIENCE` validations.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from objectspace.geometry.boxes import iou
from objectspace.scene import Scene

PATIENCE = 3


@dataclass(frozen=True)
class Vitals:
    """What the watch checks, averaged over some scenes."""

    objects: float  # present objects an image
    coverage: float  # share of the pixels that belong to objects
    duplicates: float  # share of the objects whose box overlaps another's by more than half
    largest_component: float  # share of the background that the largest component owns
    components: int


@dataclass(frozen=True)
class Collapse:
    """A way of going wrong: its name, what to do about it, and whether the run is lost."""

    name: str
    advice: str
    fatal: bool


ADVICE = {
    "all-background": Collapse(
        "all-background",
        "no objects are found, the background draws everything: make the background weaker (fewer components, or "
        "stills), check phases.size and give phases.warm more steps; without phases, raise anneal.presence_prior",
        fatal=True,
    ),
    "all-foreground": Collapse(
        "all-foreground",
        "objects cover nearly every pixel: give phases.background more steps or the background more components or "
        "stills, make objects smaller with phases.size (or anneal.scale_prior_mean)",
        fatal=True,
    ),
    "every-cell": Collapse(
        "every-cell",
        "nearly every cell holds an object: lower the final anneal.presence_prior, let anneal.temperature fall "
        "to 0.5, or let presence learn from evidence (anneal.evidence_from)",
        fatal=True,
    ),
    "splitting": Collapse(
        "splitting",
        "objects are found twice: raise phases.size (or anneal.scale_prior_mean), or drop cells for a while "
        "(anneal.dropped_cells)",
        fatal=False,
    ),
    "dead-background": Collapse(
        "dead-background",
        "one component draws the whole background: lower model.background.sigma, raise "
        "training.background.rate, or ask for fewer model.background.components",
        fatal=False,
    ),
    "one-component": Collapse(
        "one-component",
        "one component draws the whole image: lower model.sigma, or start again from another seed",
        fatal=True,
    ),
}


def vitals(scenes: Sequence[Scene]) -> Vitals:
    """Measure some scenes."""
    return Vitals(
        objects=float(np.mean([len(scene.found) for scene in scenes])),
        coverage=float(np.mean([_coverage(scene) for scene in scenes])),
        duplicates=_duplicates(scenes),
        largest_component=float(np.mean([_largest_component(scene) for scene in scenes])),
        components=max((len(scene.components) for scene in scenes), default=0),
    )


@dataclass
class Watch:
    """Checks every validation; `cells` is the largest number of objects the model can find, `grace` the first step.

    `lasting` counts the validations for which each condition has held: a resumed run hands it on.
    """

    cells: int
    names: frozenset[str]  # the collapses that this kind of model can have
    grace: int = 500
    lasting: Counter[str] = field(default_factory=Counter)

    def check(self, step: int, seen: Vitals) -> list[Collapse]:
        """The collapses that have now lasted long enough; each is named once, until it has passed and comes back."""
        if step < self.grace:
            return []
        present = _conditions(seen, self.cells)
        watched = [name for name in ADVICE if name in self.names]
        for name in watched:
            self.lasting[name] = self.lasting[name] + 1 if name in present else 0
        return [ADVICE[name] for name in watched if self.lasting[name] == PATIENCE]


def _conditions(seen: Vitals, cells: int) -> set[str]:
    return {
        name
        for name, holds in {
            "all-background": seen.objects < 0.05,
            "all-foreground": seen.coverage > 0.9,
            "every-cell": seen.objects > 0.9 * cells,
            "splitting": seen.duplicates > 0.5,
            "dead-background": seen.components > 1 and seen.largest_component > 0.98,
            "one-component": seen.components > 1 and seen.largest_component > 0.98,
        }.items()
        if holds
    }


def _coverage(scene: Scene) -> float:
    covered = np.zeros((scene.height, scene.width), np.bool_)
    for item in scene.objects:
        if item.window is not None:
            covered[item.window.place] |= item.window.part
    return float(covered.mean())


def _duplicates(scenes: Sequence[Scene]) -> float:
    shares: list[bool] = []
    for scene in scenes:
        overlaps = iou(scene.where_boxes, scene.where_boxes)
        np.fill_diagonal(overlaps, 0)
        shares += (overlaps.max(axis=1) > 0.5).tolist() if len(overlaps) else []
    return float(np.mean(shares)) if shares else 0.0


def _largest_component(scene: Scene) -> float:
    sizes = [int(component.mask.sum()) for component in scene.components]
    return max(sizes) / sum(sizes) if sum(sizes) else 0.0
