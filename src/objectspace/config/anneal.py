"""What changes while a model trains."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, model_validator

from objectspace.config.base import Annealed
from objectspace.config.boundary import OLD_KEYS, from_old_keys
from objectspace.config.section import Section
from objectspace.ops.schedules import Schedule, parse


@dataclass(frozen=True)
class Stage:
    """The annealed values at one moment of the training."""

    presence_prior: float
    scale_prior_mean: float
    temperature: float
    scale_prior_std: float | None = None  # None: model.foreground.scale_prior_std
    foreground_sigma: float | None = None  # None: model.foreground.sigma
    background_sigma: float | None = None  # None: model.background.sigma
    unknown: float = 0.0  # the share of pixels that are explained by nobody; 0: there is no such thing
    fixed_alpha: float | None = None  # None: the foreground's own alpha
    boundary_weight: float = 0.0
    motion_prior: float | None = None  # None: motion is not looked at
    explained_prior: float | None = None  # None: what the background leaves unexplained is not looked at
    background_only: bool = False  # there are no objects yet
    warm: float | None = None  # how much of the warm start is over, from 0 to 1; None: it is not going on
    lesson: float = 0.0  # how much what nobody explains goes on teaching places and looks after the warm start
    own_background: bool = False  # the background learns as if there were no objects, and they take it as it is
    dropped_cells: float = 0.0  # the share of the cells that are switched off at random
    presence_by_evidence: bool = False  # presence learns from what each object gains, not through its sample
    unexplained_only: bool = False  # in that, an object gains nothing by pixels that the background explains
    explored_cells: int = 0  # so many absent cells an image are weighed as well, to learn from what they would gain


class Anneal(Section):
    """What changes during training: a number, the paper's `(m -> n):(p -> q)`, or several of these joined by `then`."""

    presence_prior: Annealed = Schedule(0.1, 0.01, 4000, 10000)
    motion_prior: Annealed | None = None  # presence prior of cells where something moves; None: motion tells nothing
    scale_prior_mean: Annealed = Schedule(-1.0, -2.0, 10000, 20000)  # sigmoid of it: object size / image size
    scale_prior_std: Annealed | None = None  # None: model.foreground.scale_prior_std throughout
    temperature: Annealed = Schedule(2.5, 0.5, 0, 20000)
    foreground_sigma: Annealed | None = None  # None: model.foreground.sigma throughout
    background_sigma: Annealed | None = None  # None: model.background.sigma throughout
    unknown: Annealed = Schedule(0.0, 0.0)  # a pixel is explained by nobody, with this probability; 0: the paper
    explained_prior: Annealed | None = None  # presence prior of cells that the background explains; None: as the others
    background_first: Annotated[int, Field(ge=0)] = 0  # for so many steps the background learns alone ...
    warm_start: Annotated[int, Field(ge=0)] = (
        0  # ... then for so many objects learn from what it leaves unexplained ...
    )
    own_background: Annotated[int, Field(ge=0)] = 0  # ... and until this step it learns as if there were no objects
    lesson: Annealed = Schedule(0.0, 0.0)  # after the warm start what nobody explains teaches on, with this weight
    dropped_cells: Annealed = Schedule(0.0, 0.0)  # so many cells are switched off at random, in seven images of ten
    evidence_from: Annotated[int, Field(ge=0)] | None = None  # from this step on presence learns from evidence
    unexplained_only: bool = False  # ... in which it gains nothing by pixels that the background explains ...
    explored_cells: Annotated[int, Field(ge=0)] = 0  # ... and so many absent cells an image are weighed as well
    fixed_alpha: Annealed | None = None  # the mixing weight is held at this value ...
    fixed_alpha_steps: Annotated[int, Field(ge=0)] = 0  # ... for so many steps
    boundary: Annealed = Schedule(1.0, 0.0, 100_000, 100_000)  # weight of the boundary loss; 0: there is none

    @model_validator(mode="before")
    @classmethod
    def _replaced(cls, content: Any) -> Any:
        """What earlier versions said in other words.

        `sigma_factor = 1.0` means nothing; other values have new names. Four keys said what `boundary` does.
        """
        if not isinstance(content, dict):
            return content
        if content.get("sigma_factor", 1.0) != 1.0:
            raise ValueError(
                "sigma_factor is gone: foreground_sigma and background_sigma are schedules of the sigmas themselves"
            )
        kept = {key: value for key, value in content.items() if key not in ("sigma_factor", *OLD_KEYS)}
        given = {key: content[key] for key in OLD_KEYS if key in content}
        if given:
            now = kept.get("boundary", cls.model_fields["boundary"].default)
            kept["boundary"] = from_old_keys(given, now if isinstance(now, Schedule) else parse(now))
        return kept

    @model_validator(mode="after")
    def _values_make_sense(self) -> "Anneal":
        for name in ("presence_prior", "motion_prior", "explained_prior", "fixed_alpha"):
            schedule: Schedule | None = getattr(self, name)
            for value in schedule.values if schedule else ():
                if not 0 < value < 1:
                    raise ValueError(f"{name} must lie between 0 and 1, but is {value}")
        for name in ("unknown", "dropped_cells"):
            share: Schedule = getattr(self, name)
            for value in share.values:
                if not 0 <= value < 1:
                    raise ValueError(f"{name} must lie between 0 and 1, but is {value}")
        if min(self.lesson.values) < 0:
            raise ValueError(f"lesson is a weight, at least 0, but is {min(self.lesson.values)}")
        for name in ("temperature", "scale_prior_std", "foreground_sigma", "background_sigma"):
            positive: Schedule | None = getattr(self, name)
            if positive is not None and min(positive.values) <= 0:
                raise ValueError(f"{name} must be positive, but is {min(positive.values)}")
        if (self.fixed_alpha is None) != (self.fixed_alpha_steps == 0):
            raise ValueError("fixed_alpha and fixed_alpha_steps go together: set both or neither")
        return self

    @model_validator(mode="after")
    def _what_is_unexplained_is_known(self) -> "Anneal":
        if self.warm_start and self.unknown.at(self.background_first) == 0:
            raise ValueError("warm_start looks at what is unexplained: set unknown above 0")
        looking = [name for name in ("explained_prior", "explored_cells", "unexplained_only") if getattr(self, name)]
        looking += ["lesson"] if max(self.lesson.values) > 0 else []
        if looking and min(self.unknown.values) == 0:
            raise ValueError(f"{looking[0]} looks at what is unexplained: set unknown above 0, to the end")
        return self

    def at(self, step: int) -> Stage:
        """The values at a training step, counted from 0."""
        by_evidence = self.evidence_from is not None and step >= self.evidence_from
        return Stage(
            presence_prior=self.presence_prior.at(step),
            scale_prior_mean=self.scale_prior_mean.at(step),
            temperature=self.temperature.at(step),
            scale_prior_std=_at(self.scale_prior_std, step),
            foreground_sigma=_at(self.foreground_sigma, step),
            background_sigma=_at(self.background_sigma, step),
            unknown=self.unknown.at(step),
            fixed_alpha=self.fixed_alpha.at(step) if self.fixed_alpha and step < self.fixed_alpha_steps else None,
            boundary_weight=self.boundary.at(step),
            motion_prior=_at(self.motion_prior, step),
            explained_prior=_at(self.explained_prior, step),
            background_only=step < self.background_first,
            warm=self._warm(step),
            lesson=self.lesson.at(step) if step >= self.objects_from else 0.0,
            own_background=step < self.own_background,
            dropped_cells=self.dropped_cells.at(step),
            presence_by_evidence=by_evidence,
            unexplained_only=self.unexplained_only and by_evidence,
            explored_cells=self.explored_cells if by_evidence else 0,
        )

    def final(self) -> Stage:
        """The values when all annealing is over, as evaluation uses them."""
        return Stage(
            presence_prior=self.presence_prior.final(),
            scale_prior_mean=self.scale_prior_mean.final(),
            temperature=self.temperature.final(),
            scale_prior_std=None if self.scale_prior_std is None else self.scale_prior_std.final(),
            foreground_sigma=None if self.foreground_sigma is None else self.foreground_sigma.final(),
            background_sigma=None if self.background_sigma is None else self.background_sigma.final(),
            unknown=self.unknown.final(),
        )

    @property
    def objects_from(self) -> int:
        """The step at which the bound takes over: the background alone and the warm start come before it."""
        return self.background_first + self.warm_start

    def phase_at(self, step: int) -> str:
        """What is going on at a step: background, warm, objects or sharpen; see `recipes/phases.py`."""
        if step < self.background_first:
            return "background"
        if step < self.objects_from:
            return "warm"
        return "objects" if step < self.own_background else "sharpen"

    def _warm(self, step: int) -> float | None:
        begun = step - self.background_first
        return begun / self.warm_start if 0 <= begun < self.warm_start else None


def _at(schedule: Schedule | None, step: int) -> float | None:
    return None if schedule is None else schedule.at(step)
