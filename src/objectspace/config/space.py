"""SPACE: objects from a grid over a background of a few components."""

from typing import Literal, Self

from pydantic import model_validator

from objectspace.config.background import StillBackground
from objectspace.config.grid import Foreground, GridConfig


class Space(GridConfig):
    """The SPACE model."""

    kind: Literal["space"] = "space"
    background: StillBackground = StillBackground()

    @classmethod
    def sized(cls, size: tuple[int, int], grid: int, components: int) -> Self:
        background = StillBackground(components=components)
        return cls(image_size=size, foreground=Foreground(grid=(grid, grid)), background=background)

    @property
    def parts(self) -> int:
        return self.background.components + (self.background.stills > 0)

    @model_validator(mode="after")
    def _background_fits_image(self) -> "Space":
        self.background.check_size(*self.image_size)
        return self
