"""SPAIR and SPAIR-P: SPACE's foreground, its cells one after another, over a background of one picture."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from objectspace.config.background import Behind
from objectspace.config.base import Layers, Sides, Whole, layers
from objectspace.config.grid import GridConfig


class SingleBackground(Behind):
    """The rest: one picture of the whole image, drawn by a VAE."""

    dim: Whole = 32
    encoder_dim: Whole = 64  # features of the whole image
    fraction: Literal[1, 2, 4, 8] = 1  # the picture is decoded at 1/fraction of the resolution and upsampled
    input_fraction: Literal[1, 2, 4] = 1  # the encoder reads the image at 1/input_fraction
    encoder_channels: tuple[Whole, Whole, Whole, Whole] = (64, 64, 64, 64)
    decoder: Layers = layers((256, 256, 128, 64, 16, 16), (16, 16, 16, 8, 4, 4))

    @model_validator(mode="after")
    def _decoder_has_its_layers(self) -> "SingleBackground":
        if len(self.decoder.channels) < 5:
            raise ValueError("decoder needs at least five layers: the first one, and four that enlarge")
        return self


class PatchBackground(Behind):
    """The rest: one picture of every patch."""

    dim: Whole = 16
    encoder: Layers = layers((16, 32, 64, 128, 32), (4, 8, 8, 16, 4))  # five layers, each of which halves
    decoder: Layers = layers((256, 128, 64, 16, 16), (16, 16, 8, 4, 4))

    @model_validator(mode="after")
    def _stacks_have_their_layers(self) -> "PatchBackground":
        if len(self.encoder.channels) != 5:
            count = len(self.encoder.channels)
            raise ValueError(f"encoder has {count} layers: it needs the paper's five, of any widths")
        if len(self.decoder.channels) < 4:
            raise ValueError("decoder needs at least four layers: the first one, and three that enlarge")
        return self


class SequentialConfig(GridConfig):
    """A model whose cells are inferred one after another, over a background of one picture."""

    collapses = GridConfig.collapses - {"dead-background"}  # which has several components

    neighbourhood: Annotated[int, Field(ge=1, le=16)] = (
        1  # how many rows and columns away a cell knows those visited before it
    )
    context_dim: Whole = 128  # units of the layer through which it knows them

    @classmethod
    def sized(cls, size: tuple[int, int], grid: int, components: int) -> Self:
        """One background, whatever others have."""
        return cls.model_validate({"image_size": size, "foreground": {"grid": (grid, grid)}})


class Spair(SequentialConfig):
    """The SPAIR model."""

    kind: Literal["spair"] = "spair"
    background: SingleBackground = SingleBackground()

    @model_validator(mode="after")
    def _background_fits_image(self) -> "Spair":
        unit = 16 * self.background.input_fraction
        if self.image_size[0] % unit or self.image_size[1] % unit:
            height, width = self.image_size
            raise ValueError(f"image_size {height} x {width}: both sides must be multiples of {unit}")
        return self


class SpairP(SequentialConfig):
    """The SPAIR-P model: SPAIR trained on patches, for whole images."""

    kind: Literal["spair-p"] = "spair-p"
    patch: Sides = (32, 32)  # height, width
    background: PatchBackground = PatchBackground()

    @model_validator(mode="after")
    def _patches_fit_image(self) -> "SpairP":
        (height, width), (rows, columns) = self.image_size, self.patch
        if rows % 32 or columns % 32:
            raise ValueError(f"patch {rows} x {columns}: both sides must be multiples of 32")
        if height % rows or width % columns:
            raise ValueError(f"image_size {height} x {width} must be whole patches of {rows} x {columns}")
        cell = height // self.foreground.grid[0]
        if rows % cell or columns % cell:
            raise ValueError(f"patch {rows} x {columns} must be whole cells of the grid, of {cell} pixels")
        return self
