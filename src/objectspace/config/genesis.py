"""GENESIS: a scene as a mixture of components, inferred one after another."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from objectspace.config.background import Background
from objectspace.config.base import ModelConfig, Positive, Section


class Geco(Section):
    """Training towards a likelihood: the KL weighs more once the goal is met, and less as long as it is not."""

    goal: float | None = (
        None  # negative log-likelihood of a pixel's channel, in nats, to be reached; None: the plain bound
    )
    step: Positive = 0.12  # how fast the KL's weight moves, for each nat from the goal
    smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.99  # of the likelihood that is compared with the goal


class Genesis(ModelConfig, Background):
    """The GENESIS model: the nets and options of SPACE's background, as the whole model."""

    collapses = frozenset({"one-component"})

    kind: Literal["genesis"] = "genesis"
    geco: Geco = Geco()

    @classmethod
    def sized(cls, size: tuple[int, int], grid: int, components: int) -> Self:
        return cls(image_size=size, components=grid * grid + components)

    @property
    def parts(self) -> int:
        return self.components

    @model_validator(mode="after")
    def _image_fits(self) -> "Genesis":
        self.check_size(*self.image_size)
        return self
