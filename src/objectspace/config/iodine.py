"""IODINE: a scene as a mixture of slots, all inferred at once and refined step by step."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from objectspace.config.base import ModelConfig, Positive, Whole


class Iodine(ModelConfig):
    """The IODINE model; the defaults are those of its paper for CLEVR6."""

    collapses = frozenset({"one-component"})

    kind: Literal["iodine"] = "iodine"
    components: Annotated[int, Field(ge=2)] = 7  # slots; two at least, for what others make of an image without one
    refinements: Whole = 5
    sigma: Positive = 0.1
    slot_dim: Whole = 64
    hidden: Whole = 256  # of the refinement's MLP and LSTM
    fraction: Literal[1, 2, 4, 8] = 1  # slots are decoded at 1/fraction of the resolution and upsampled
    input_fraction: Literal[1, 2, 4, 8] = 1  # the refinement reads everything at 1/input_fraction
    decoder_channels: tuple[Whole, ...] = Field(default=(64, 64, 64, 64), min_length=1)
    encoder_channels: tuple[Whole, ...] = Field(default=(64, 64, 64, 64), min_length=1)  # each halves the resolution

    @classmethod
    def sized(cls, size: tuple[int, int], grid: int, components: int) -> Self:
        return cls(image_size=size, components=grid * grid + components)

    @property
    def parts(self) -> int:
        return self.components

    @model_validator(mode="after")
    def _image_fits(self) -> "Iodine":
        height, width = self.image_size
        if height % self.input_fraction or width % self.input_fraction:
            raise ValueError(
                f"image_size {height} x {width}: both sides must be multiples of input_fraction, {self.input_fraction}"
            )
        return self
