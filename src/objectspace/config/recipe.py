"""A whole recipe: the model, its schedule, the run and the data."""

from typing import Annotated, Literal

from pydantic import Field, SerializeAsAny, model_validator

from objectspace.config.anneal import Anneal
from objectspace.config.base import Annealed, ModelConfig, Positive, Section, Whole
from objectspace.config.space import Space
from objectspace.ops.schedules import Schedule


class Optimiser(Section):
    """How one part of the model is trained."""

    name: Literal["adam", "adamw", "rmsprop"] = "adam"
    rate: Positive = 1e-3
    warmup: Annotated[int, Field(ge=0)] = 0  # steps over which the rate rises from 0
    decay: Annealed = Schedule(1.0, 1.0)  # factor on the rate


class Training(Section):
    """The run itself."""

    steps: Whole = 160_000
    batch: Whole = 12
    clip: Positive = 1.0  # largest gradient norm
    seed: Annotated[int, Field(ge=0)] = 0
    foreground: Optimiser = Optimiser(name="rmsprop", rate=1e-5)
    background: Optimiser = Optimiser(name="adam", rate=1e-3)
    log_every: Whole = 20  # steps between lines of metrics.jsonl
    look_every: Whole = 500  # steps between looks at held-out images: measures, latest.png, collapse watch
    look_images: Whole = 64
    save_every: Whole = 500  # steps between checkpoints
    watch_from: Annotated[int, Field(ge=0)] = 1000  # the first step at which a collapse counts


class Data(Section):
    """Which images the recipe is made for."""

    made_by: str = ""  # the command that makes them


class Recipe(Section):
    """One TOML file: what it is for, where its numbers come from, and the numbers."""

    about: str = ""
    source: str = ""
    model: SerializeAsAny[ModelConfig] = Space()
    anneal: Anneal = Anneal()
    training: Training = Training()
    data: Data = Data()

    @model_validator(mode="after")
    def _motion_needs_cells(self) -> "Recipe":
        if self.anneal.motion_prior is not None and not self.model.cells:
            raise ValueError(f"anneal.motion_prior is for models of cells, and a {self.model.kind} has none")
        return self
