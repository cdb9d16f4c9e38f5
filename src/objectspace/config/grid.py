"""Objects from the cells of a grid: what SPACE and SPAIR have in common."""

import math
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from objectspace.config.anneal import Stage
from objectspace.config.background import Behind
from objectspace.config.base import Layers, ModelConfig, Positive, Section, Share, Sides, Whole, layers
from objectspace.config.widths import Width, with_width


class Foreground(Section):
    """Objects: one cell of the grid proposes one object."""

    grid: Sides = (16, 16)  # rows, columns
    glimpse: Literal[8, 16, 32, 64] = 32  # side of an object's glimpse
    what_dim: Whole = 32
    sigma: Positive = 0.15  # standard deviation of a foreground pixel
    premultiplied: bool = True  # the mean is colour times alpha, as in the paper; False: the colour itself
    margin: Share = 0.0  # a glimpse is cut and pasted at `where` times 1 + margin, so that `where` is the object
    give_way: Share = 0.0  # a cell is absent if a surer one has the same box, by so much IoU; 0: the paper, none is
    scale_prior_std: Positive = 0.1
    presence_weighted_kl: bool = True  # False: the published code's form, see docs/decisions.md
    budget: Whole | None = None  # at most so many objects an image are decoded; None: every cell
    presence_threshold: Share = 0.0  # cells sampled below it are skipped
    encoder: Layers = layers((16, 32, 64, 128, 256, 128), (4, 8, 8, 16, 32, 16))  # six layers
    residual: Layers = layers((128, 128), (16, 16))
    residual_encoder: Layers = layers((128,), (16,))
    glimpse_encoder: Layers = layers((16, 32, 32, 64, 128, 256), (4, 8, 4, 8, 8, 16))  # six layers
    # a smaller glimpse skips some
    glimpse_decoder: Layers = layers((256, 128, 128, 64, 32, 16), (16, 16, 16, 8, 8, 4))
    dense: tuple[Whole, ...] = ()  # hidden layers of dense glimpse nets in place of the convolutions; none: the paper

    def sigma_at(self, stage: Stage) -> float:
        """The stdev of a foreground pixel: the annealed one, where the recipe anneals it."""
        return self.sigma if stage.foreground_sigma is None else stage.foreground_sigma

    def scale_std_at(self, stage: Stage) -> float:
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


class Init(Section):
    """How the foreground's heads start; see docs/decisions.md. Everything else starts as torch starts it."""

    heads: Literal["prior", "default"] = "prior"  # default: as torch starts them, the published code's way
    weight_factor: Positive = 0.1  # on the weights of the heads that start at the prior
    what_std: Positive | None = None  # stdev with which `what` starts; None: as torch starts it, about 0.7
    presence_bias: float = 0.3  # before the squashing: present ...
    alpha_bias: float = -2.0  # ... but transparent, so that a bad early object costs little; 0 with a fixed alpha


class GridConfig(ModelConfig):
    """A model whose objects come from the cells of a grid."""

    collapses = frozenset({"all-background", "all-foreground", "every-cell", "splitting", "dead-background"})

    width: Width = "paper"  # of the nets; what is said of them elsewhere comes first
    background: Behind = Behind()  # each model has one of its own
    mixture_epsilon: float = Field(default=0.0, ge=0, lt=0.1)  # added to mixing weights; published code: 1e-5
    foreground: Foreground = Foreground()
    init: Init = Init()

    @property
    def cells(self) -> int:
        return math.prod(self.foreground.grid)

    def limited(self, objects: int) -> Self | None:
        if objects >= self.cells:
            return None
        foreground = self.foreground.model_copy(update={"budget": objects})
        return self.model_copy(update={"foreground": foreground})

    @model_validator(mode="before")
    @classmethod
    def _fill_in_widths(cls, content: Any) -> Any:
        if not isinstance(content, dict):
            return content
        return with_width(content, str(content.get("width", "paper")), str(cls.model_fields["kind"].default))

    @model_validator(mode="after")
    def _grid_fits_image(self) -> "GridConfig":
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
        return self
