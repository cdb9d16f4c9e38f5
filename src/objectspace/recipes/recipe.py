"""A whole recipe: the model, its schedule, the run and the data."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, ModelWrapValidatorHandler, SerializeAsAny, model_validator

from objectspace.config.anneal import Anneal
from objectspace.config.base import Annealed, ModelConfig, Positive, Whole, fill_in
from objectspace.config.section import Section
from objectspace.models.parts.settings import GridConfig
from objectspace.models.space import SpaceConfig
from objectspace.ops.schedules import Schedule
from objectspace.recipes.phases import MODEL, Phases


class Optimiser(Section):
    """How one part of the model is trained."""

    name: Literal["adam", "adamw", "rmsprop"] = "adam"
    rate: Positive = 1e-3
    beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9  # Adam's memory of gradients
    warmup: Annotated[int, Field(ge=0)] = 0  # steps over which the rate rises from 0
    decay: Annealed = Schedule(1.0, 1.0)  # factor on the rate


class Training(Section):
    """The run itself."""

    steps: Whole = 160_000
    batch: Whole = 12
    clip: Annotated[float, Field(gt=0, allow_inf_nan=True)] = 1.0  # largest gradient norm; inf: any
    clip_apart: bool = False  # of presence, the rest of the foreground and the background each, not of all together
    seed: Annotated[int, Field(ge=0)] = 0
    foreground: Optimiser = Optimiser(name="rmsprop", rate=1e-5)
    background: Optimiser = Optimiser(name="adam", rate=1e-3)
    background_repeats: Annotated[int, Field(ge=0)] = 0  # so often the background's phase is done again if it failed
    ladder: Annotated[int, Field(ge=0)] = 0  # steps for each background that is tried; 0: the recipe's own is used
    log_every: Whole = 20  # steps between lines of metrics.jsonl
    validate_every: Whole = 500  # steps between validations on held-out images: measures, latest.png, collapse watch
    validate_images: Whole = 64
    save_every: Whole = 500  # steps between checkpoints
    watch_from: Annotated[int, Field(ge=0)] = 1000  # the first step at which a collapse counts

    @model_validator(mode="before")
    @classmethod
    def _keep_the_optimiser(cls, content: Any) -> Any:
        """A table that sets something of an optimiser but names none means the default one, not just any."""
        if not isinstance(content, dict):
            return content
        kept = dict(content)
        for name in ("foreground", "background"):
            if isinstance(kept.get(name), dict) and "name" not in kept[name]:
                default = cls.model_fields[name].default
                kept[name] = {"name": default.name, "rate": default.rate} | kept[name]
        return kept


class Data(Section):
    """Which images the recipe is made for."""

    made_by: str = ""  # the command that makes them


class Recipe(Section):
    """One TOML file: what it is for, where its numbers come from, and the numbers."""

    about: str = ""
    source: str = ""
    model: SerializeAsAny[ModelConfig] = SpaceConfig()
    phases: Phases | None = None  # fills in what anneal and training do not say
    anneal: Anneal = Anneal()
    training: Training = Training()
    data: Data = Data()

    @model_validator(mode="wrap")
    @classmethod
    def _follow_the_plan(cls, content: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """With phases, what a recipe does not say of its model, `anneal` and `training` follows from them."""
        if not isinstance(content, dict) or content.get("phases") is None:
            return handler(content)
        plain = handler(content)  # complains about what is wrong, by the names that the recipe has
        if not isinstance(plain.model, GridConfig):
            raise ValueError(f"phases are for models of cells, and a {plain.model.kind} has none")  # noqa: TRY004
        model = content.get("model", {})
        content = content | {"model": fill_in(MODEL, model) if isinstance(model, dict) else model}
        plain = handler(content)
        assert plain.phases is not None
        assert isinstance(plain.model, GridConfig)
        sigmas = {"foreground": plain.model.foreground.sigma, "background": plain.model.background.sigma}
        stills_alone = isinstance(plain.model, SpaceConfig) and not plain.model.background.components
        return handler(fill_in(plain.phases.plan(sigmas, from_nothing=not stills_alone), content))

    @model_validator(mode="after")
    def _ladder_needs_rungs(self) -> "Recipe":
        if self.training.ladder and not isinstance(self.model, SpaceConfig):
            raise ValueError(
                f"training.ladder chooses among SPACE's backgrounds, and a {self.model.kind} has none of them: "
                "set it to 0"
            )
        return self

    @model_validator(mode="after")
    def _a_phase_can_be_done_again(self) -> "Recipe":
        if self.training.background_repeats and not isinstance(self.model, GridConfig):
            raise ValueError(
                f"training.background_repeats is for models whose background can learn alone, and a {self.model.kind} "
                "is all background: set it to 0"
            )
        return self

    @model_validator(mode="after")
    def _motion_needs_cells(self) -> "Recipe":
        if self.anneal.motion_prior is not None and not self.model.cells:
            raise ValueError(f"anneal.motion_prior is for models of cells, and a {self.model.kind} has none")
        return self
