"""Typed recipes: everything that decides a training run, read from TOML and checked.

Gives frozen pydantic records. The defaults are the paper's values (its 16 x 16 model, its tables), so a recipe file
holds only what differs. Reading, overriding and printing recipes is in `recipe_files.py`.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

from objectspace.ops import schedules
from objectspace.ops.schedules import Schedule


class Section(BaseModel):
    """A part of a recipe: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, arbitrary_types_allowed=True)


def _parse_schedule(value: Any) -> Schedule:
    return value if isinstance(value, Schedule) else schedules.parse(value)


def _print_schedule(schedule: Schedule) -> str | float:
    return schedule.start if set(schedule.values) == {schedule.start} else str(schedule)


def _both_sides(value: Any) -> Any:
    return (value, value) if isinstance(value, int) and not isinstance(value, bool) else value


Annealed = Annotated[Schedule, BeforeValidator(_parse_schedule), PlainSerializer(_print_schedule)]
Whole = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Sides = Annotated[tuple[Whole, Whole], BeforeValidator(_both_sides)]  # one number stands for a square


class Layers(Section):
    """A stack of layers: output channels of each, and the groups of its group norm."""

    channels: tuple[Whole, ...] = Field(min_length=1)
    groups: tuple[Whole, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _groups_divide_channels(self) -> "Layers":
        if len(self.channels) != len(self.groups):
            raise ValueError(f"{len(self.channels)} channels but {len(self.groups)} groups: one group count a layer")
        for channels, groups in zip(self.channels, self.groups, strict=True):
            if channels % groups:
                raise ValueError(f"{groups} groups do not divide {channels} channels")
        return self


def _layers(channels: tuple[int, ...], groups: tuple[int, ...]) -> Any:
    return Field(default=Layers(channels=channels, groups=groups))


class Foreground(Section):
    """Objects: one cell of the grid proposes one object."""

    grid: Sides = (16, 16)  # rows, columns
    glimpse: Literal[8, 16, 32, 64] = 32  # side of an object's glimpse
    what_dim: Whole = 32
    sigma: Positive = 0.15  # standard deviation of a foreground pixel
    scale_prior_std: Positive = 0.1
    presence_weighted_kl: bool = True  # False: the published code's form, see docs/decisions.md
    budget: Whole | None = None  # at most so many objects an image are decoded; None: every cell
    presence_threshold: Share = 0.0  # cells sampled below it are skipped
    encoder: Layers = _layers((16, 32, 64, 128, 256, 128), (4, 8, 8, 16, 32, 16))  # six layers
    residual: Layers = _layers((128, 128), (16, 16))
    residual_encoder: Layers = _layers((128,), (16,))
    glimpse_encoder: Layers = _layers((16, 32, 32, 64, 128, 256), (4, 8, 4, 8, 8, 16))  # six layers
    glimpse_decoder: Layers = _layers(
        (256, 128, 128, 64, 32, 16), (16, 16, 16, 8, 8, 4)
    )  # a smaller glimpse skips some

    def scale_std_at(self, stage: "Stage") -> float:
        """The stdev of the scale prior: the annealed one, where the recipe anneals it."""
        return self.scale_prior_std if stage.scale_prior_std is None else stage.scale_prior_std

    @model_validator(mode="after")
    def _stacks_have_their_layers(self) -> "Foreground":
        for name in ("encoder", "glimpse_encoder"):
            count = len(getattr(self, name).channels)
            if count != 6:
                raise ValueError(f"{name} has {count} layers: it needs the paper's six, of any widths")
        if len(self.glimpse_decoder.channels) < 2:
            raise ValueError("glimpse_decoder needs at least two layers: the first one, and one that enlarges")
        return self


class Background(Section):
    """The rest: a mixture of components, each with a mask and a picture."""

    components: Whole = 5
    sigma: Positive = 0.15
    mask_dim: Whole = 32
    component_dim: Whole = 32
    encoder_dim: Whole = 64  # features of the whole image
    hidden: Whole = 64  # LSTMs and the component prior
    fraction: Literal[1, 2, 4, 8] = 1  # components are decoded at 1/fraction of the resolution and upsampled
    input_fraction: Literal[1, 2, 4] = 1  # the encoders read the image (and the masks) at 1/input_fraction
    prior_from_state: bool = False  # published code: a mask's prior is read off before its predecessor enters the LSTM
    strong_decoder: bool = False  # a sub-pixel decoder in place of the broadcast decoder
    encoder_channels: tuple[Whole, ...] = (64, 64, 64, 64)
    mask_decoder: Layers = _layers((256, 256, 128, 64, 16, 16), (16, 16, 16, 8, 4, 4))
    component_encoder_channels: tuple[Whole, ...] = (32, 32, 64, 64)
    component_decoder_channels: tuple[Whole, ...] = (32, 32, 32, 32)

    @model_validator(mode="after")
    def _stacks_have_their_layers(self) -> "Background":
        for name in ("encoder_channels", "component_encoder_channels"):
            count = len(getattr(self, name))
            if count != 4:
                raise ValueError(f"{name} has {count} layers: it needs the paper's four, of any widths")
        if len(self.mask_decoder.channels) < 5:
            raise ValueError("mask_decoder needs at least five layers: the first one, and four that enlarge")
        if not self.component_decoder_channels:
            raise ValueError("component_decoder_channels needs at least one layer")
        return self


class Init(Section):
    """How the foreground's heads start; see docs/decisions.md. Everything else starts as torch starts it."""

    heads: Literal["prior", "default"] = "prior"  # default: as torch starts them, the published code's way
    weight_factor: Positive = 0.1  # on the weights of the heads that start at the prior
    what_std: Positive | None = None  # stdev with which `what` starts; None: as torch starts it, about 0.7
    presence_bias: float = 0.3  # before the squashing: present ...
    alpha_bias: float = -2.0  # ... but transparent, so that a bad early object costs little


class Space(Section):
    """The SPACE model."""

    kind: Literal["space"] = "space"
    image_size: Sides = (128, 128)  # height, width
    channels: Literal["rgb", "bgr"] = "rgb"  # the order the weights expect
    mixture_epsilon: Annotated[float, Field(ge=0, lt=0.1)] = 0.0  # added to mixing weights; published code: 1e-5
    foreground: Foreground = Foreground()
    background: Background = Background()
    init: Init = Init()

    @model_validator(mode="after")
    def _grid_fits_image(self) -> "Space":
        (height, width), (rows, columns) = self.image_size, self.foreground.grid
        cell = height // rows
        if height % rows or width % columns or width // columns != cell or cell not in (4, 8, 16, 32, 64):
            fitting = [
                f"{height // side} x {width // side}" for side in (4, 8, 16, 32) if height % side + width % side == 0
            ]
            raise ValueError(
                f"a grid of {rows} x {columns} does not fit an image of {height} x {width}: cells must be squares of "
                f"4, 8, 16, 32 or 64 pixels, so grids of {', '.join(fitting) or 'no size'} fit"
            )
        unit = 16 * self.background.input_fraction
        if height % unit or width % unit:
            raise ValueError(f"image_size {height} x {width}: both sides must be multiples of {unit}")
        return self


@dataclass(frozen=True)
class Stage:
    """The annealed values at one moment of the training."""

    presence_prior: float
    scale_prior_mean: float
    temperature: float
    scale_prior_std: float | None = None  # None: model.foreground.scale_prior_std
    fixed_alpha: float | None = None  # None: the foreground's own alpha
    boundary_weight: float = 0.0


class Anneal(Section):
    """What changes during training: a number, the paper's `(m -> n):(p -> q)`, or several of these joined by `then`."""

    presence_prior: Annealed = Schedule(0.1, 0.01, 4000, 10000)
    scale_prior_mean: Annealed = Schedule(-1.0, -2.0, 10000, 20000)  # sigmoid of it: object size / image size
    scale_prior_std: Annealed | None = None  # None: model.foreground.scale_prior_std throughout
    temperature: Annealed = Schedule(2.5, 0.5, 0, 20000)
    fixed_alpha: Share | None = None  # the mixing weight is held at this value ...
    fixed_alpha_steps: Annotated[int, Field(ge=0)] = 0  # ... for so many steps
    boundary_weight: Annealed = Schedule(1.0, 1.0)
    boundary_start: Annotated[int, Field(ge=0)] = 0
    boundary_ramp: Annotated[int, Field(ge=0)] = 0  # steps over which its weight rises from 0
    boundary_stop: Annotated[int, Field(ge=0)] = 100_000  # 0: no boundary loss

    @model_validator(mode="after")
    def _values_make_sense(self) -> "Anneal":
        for value in self.presence_prior.values:
            if not 0 < value < 1:
                raise ValueError(f"presence_prior must lie between 0 and 1, but is {value}")
        for value in self.temperature.values:
            if value <= 0:
                raise ValueError(f"temperature must be positive, but is {value}")
        if self.scale_prior_std is not None and min(self.scale_prior_std.values) <= 0:
            raise ValueError(f"scale_prior_std must be positive, but is {self.scale_prior_std}")
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
            fixed_alpha=self.fixed_alpha if step < self.fixed_alpha_steps else None,
            boundary_weight=self.boundary_weight.at(step) * self._boundary_share(step),
        )

    def final(self) -> Stage:
        """The values when all annealing is over, as evaluation uses them."""
        return Stage(
            presence_prior=self.presence_prior.final(),
            scale_prior_mean=self.scale_prior_mean.final(),
            temperature=self.temperature.final(),
            scale_prior_std=None if self.scale_prior_std is None else self.scale_prior_std.final(),
        )

    def _boundary_share(self, step: int) -> float:
        """0 outside of the boundary loss's time, rising to 1 over its ramp."""
        if not self.boundary_start <= step < self.boundary_stop:
            return 0.0
        return min(1.0, (step - self.boundary_start) / self.boundary_ramp) if self.boundary_ramp else 1.0


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
    model: Space = Space()
    anneal: Anneal = Anneal()
    training: Training = Training()
    data: Data = Data()
