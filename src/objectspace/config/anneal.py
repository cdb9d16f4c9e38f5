"""What changes while a model trains."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, model_validator

from objectspace.config.base import Annealed, Section
from objectspace.ops.schedules import Schedule


@dataclass(frozen=True)
class Stage:
    """The annealed values at one moment of the training."""

    presence_prior: float
    scale_prior_mean: float
    temperature: float
    scale_prior_std: float | None = None  # None: model.foreground.scale_prior_std
    fixed_alpha: float | None = None  # None: the foreground's own alpha
    boundary_weight: float = 0.0
    motion_prior: float | None = None  # None: motion is not looked at
    background_only: bool = False  # there are no objects yet
    sigma_factor: float = 1.0  # both halves' sigmas times this


class Anneal(Section):
    """What changes during training: a number, the paper's `(m -> n):(p -> q)`, or several of these joined by `then`."""

    presence_prior: Annealed = Schedule(0.1, 0.01, 4000, 10000)
    motion_prior: Annealed | None = None  # presence prior of cells where something moves; None: motion tells nothing
    scale_prior_mean: Annealed = Schedule(-1.0, -2.0, 10000, 20000)  # sigmoid of it: object size / image size
    scale_prior_std: Annealed | None = None  # None: model.foreground.scale_prior_std throughout
    temperature: Annealed = Schedule(2.5, 0.5, 0, 20000)
    background_first: Annotated[int, Field(ge=0)] = 0  # for so many steps the background learns alone
    sigma_factor: Annealed = Schedule(1.0, 1.0)  # of model.foreground.sigma and model.background.sigma
    fixed_alpha: Annealed | None = None  # the mixing weight is held at this value ...
    fixed_alpha_steps: Annotated[int, Field(ge=0)] = 0  # ... for so many steps
    boundary_weight: Annealed = Schedule(1.0, 1.0)
    boundary_start: Annotated[int, Field(ge=0)] = 0
    boundary_ramp: Annotated[int, Field(ge=0)] = 0  # steps over which its weight rises from 0
    boundary_stop: Annotated[int, Field(ge=0)] = 100_000  # 0: no boundary loss

    @model_validator(mode="after")
    def _values_make_sense(self) -> "Anneal":
        for name in ("presence_prior", "motion_prior", "fixed_alpha"):
            schedule: Schedule | None = getattr(self, name)
            for value in schedule.values if schedule else ():
                if not 0 < value < 1:
                    raise ValueError(f"{name} must lie between 0 and 1, but is {value}")
        for name in ("temperature", "scale_prior_std", "sigma_factor"):
            positive: Schedule | None = getattr(self, name)
            if positive is not None and min(positive.values) <= 0:
                raise ValueError(f"{name} must be positive, but is {min(positive.values)}")
        if (self.fixed_alpha is None) != (self.fixed_alpha_steps == 0):
            raise ValueError("fixed_alpha and fixed_alpha_steps go together: set both or neither")
        if self.boundary_ramp and 0 < self.boundary_stop < self.boundary_start + self.boundary_ramp:
            raise ValueError(
                f"boundary_stop = {self.boundary_stop} cuts the ramp of the boundary loss off, which reaches its "
                f"full weight at {self.boundary_start} + {self.boundary_ramp} steps"
            )
        return self

    def at(self, step: int) -> Stage:
        """The values at a training step, counted from 0."""
        return Stage(
            presence_prior=self.presence_prior.at(step),
            scale_prior_mean=self.scale_prior_mean.at(step),
            temperature=self.temperature.at(step),
            scale_prior_std=None if self.scale_prior_std is None else self.scale_prior_std.at(step),
            fixed_alpha=self.fixed_alpha.at(step) if self.fixed_alpha and step < self.fixed_alpha_steps else None,
            boundary_weight=self.boundary_weight.at(step) * self._boundary_share(step),
            motion_prior=None if self.motion_prior is None else self.motion_prior.at(step),
            background_only=step < self.background_first,
            sigma_factor=self.sigma_factor.at(step),
        )

    def final(self) -> Stage:
        """The values when all annealing is over, as evaluation uses them."""
        return Stage(
            presence_prior=self.presence_prior.final(),
            scale_prior_mean=self.scale_prior_mean.final(),
            temperature=self.temperature.final(),
            scale_prior_std=None if self.scale_prior_std is None else self.scale_prior_std.final(),
            sigma_factor=self.sigma_factor.final(),
        )

    def _boundary_share(self, step: int) -> float:
        """0 outside of the boundary loss's time, rising to 1 over its ramp."""
        if not self.boundary_start <= step < self.boundary_stop:
            return 0.0
        return min(1.0, (step - self.boundary_start) / self.boundary_ramp) if self.boundary_ramp else 1.0
