"""What recipes are made of: sections, the kinds of values in them, and what every model's config has."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    PlainSerializer,
    model_validator,
)

from objectspace.config.installed import import_installed
from objectspace.config.section import Section
from objectspace.config.view import View
from objectspace.errors import nearest
from objectspace.ops import schedules
from objectspace.ops.schedules import Schedule


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


def layers(channels: tuple[int, ...], groups: tuple[int, ...]) -> Any:
    return Field(default=Layers(channels=channels, groups=groups))


class ModelConfig(Section):
    """What every model has. A kind of model is a class with a `kind` of its own; that is how a recipe finds it."""

    kinds: ClassVar[dict[str, type["ModelConfig"]]] = {}
    collapses: ClassVar[frozenset[str]] = frozenset()  # the ways of going wrong that training watches for

    own_recipe: ClassVar[str | None] = None  # by which it trains in comparisons: a shipped one's name, or a file
    caveat: ClassVar[str] = ""  # what a reader of comparisons must know of it

    kind: str
    image_size: Sides = (128, 128)  # height, width
    channels: Literal["rgb", "bgr"] = "rgb"  # the order the weights expect
    view: View = View()  # how pictures reach it

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        kind = cls.model_fields["kind"].default
        if isinstance(kind, str):
            ModelConfig.kinds[kind] = cls

    @model_validator(mode="wrap")
    @classmethod
    def _by_its_kind(cls, content: Any, handler: ModelWrapValidatorHandler[Self]) -> Any:
        """Read as a config of any model, a table becomes one of the kind that it names."""
        if cls is not ModelConfig or not isinstance(content, dict):
            return handler(content)
        kind = str(content.get("kind", "space"))
        if kind not in cls.kinds:
            import_installed(kind)
        if kind not in cls.kinds:
            raise ValueError(
                f"there is no kind of model {kind!r}: {nearest(kind, sorted(cls.kinds))} "
                f"(a model in a file of your own is made known by  objectspace --with FILE ...)"
            )
        return cls.kinds[kind].model_validate(content)

    @classmethod
    def sized(cls, size: tuple[int, int], grid: int, components: int) -> Self:
        """The paper's model of this kind for images of `size`, with room for `grid` x `grid` objects and `components`.

        That is how a kind of model takes part in comparisons at equal decomposition capacity. A model that has
        nothing but components gets as many as there are cells and components together.
        """
        raise NotImplementedError

    def limited(self, objects: int) -> Self | None:
        """The same model, working on at most so many objects an image; None where there is no such thing."""
        return None

    def computed_otherwise(self) -> dict[str, Self]:
        """The same model, with the same results, computed in other ways, by what charts are to call them."""
        return {}

    @property
    def cells(self) -> int:
        """How many objects it can find at most."""
        return 0

    @property
    def parts(self) -> int:
        """How many components it divides the rest, or all, of an image into."""
        return 1

    @property
    def capacity(self) -> str:
        """The paper's decomposition capacity: `64+5` for a grid of 8 x 8 over five components."""
        return f"{self.cells}+{self.parts}" if self.cells else str(self.parts)


def fill_in(defaults: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """A table with values for what it does not say itself, in its tables too."""
    merged = dict(defaults) | dict(content)
    for key in defaults.keys() & content.keys():
        if isinstance(defaults[key], Mapping) and isinstance(content[key], Mapping):
            merged[key] = fill_in(defaults[key], content[key])
    return merged
