"""The settings of the parts that models share: the sections of a recipe's `model` table, with the paper's values.

A whole model's config stands beside the model, in its file.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from objectspace.config import Layers, ModelConfig, Section, Stage
from objectspace.config.base import Positive, Share, Sides, Whole, fill_in, layers

Width = Literal["paper", "laptop"]
Widths = Mapping[str, Any]  # values of a model, or of its sections

# A preset of narrower nets holds only defaults: whatever a recipe says itself stays. A step of the laptop's nets costs
# about a third of the paper's, which are for a GPU.
LAPTOP_FOREGROUND: Mapping[str, Any] = {
    "what_dim": 16,
    "encoder": {"channels": (16, 32, 64, 64, 64, 64), "groups": (4, 8, 8, 8, 8, 8)},
    "residual": {"channels": (64, 64), "groups": (8, 8)},
    "residual_encoder": {"channels": (64,), "groups": (8,)},
    "glimpse_encoder": {"channels": (16, 32, 32, 64, 64, 128), "groups": (4, 8, 4, 8, 8, 16)},
    "glimpse_decoder": {"channels": (128, 64, 64, 32, 16), "groups": (16, 8, 8, 8, 4)},
}


class ForegroundConfig(Section):
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
    def _stacks_have_their_layers(self) -> "ForegroundConfig":
        for name in ("encoder", "glimpse_encoder"):
            count = len(getattr(self, name).channels)
            if count != 6:
                raise ValueError(f"{name} has {count} layers: it needs the paper's six, of any widths")
        if len(self.glimpse_decoder.channels) < 2:
            raise ValueError("glimpse_decoder needs at least two layers: the first one, and one that enlarges")
        return self


class InitConfig(Section):
    """How the foreground's heads start; see docs/decisions.md. Everything else starts as torch starts it."""

    heads: Literal["prior", "default"] = "prior"  # default: as torch starts them, the published code's way
    weight_factor: Positive = 0.1  # on the weights of the heads that start at the prior
    what_std: Positive | None = None  # stdev with which `what` starts; None: as torch starts it, about 0.7
    presence_bias: float = 0.3  # before the squashing: present ...
    alpha_bias: float = -2.0  # ... but transparent, so that a bad early object costs little; 0 with a fixed alpha


class BackgroundConfig(Section):
    """What every background has."""

    sigma: Positive = 0.15  # standard deviation of a background pixel
    shadow: Annotated[float, Field(ge=0, lt=1)] = 0.0  # how likely a pixel lies in shadow: the same picture, darker

    @property
    def whole_pixels(self) -> bool:
        """Whether parts are mixed with all channels at once; the paper mixes every channel by itself."""
        return False

    def sigma_at(self, stage: Stage) -> float:
        """The stdev of a background pixel: the annealed one, where the recipe anneals it."""
        return self.sigma if stage.background_sigma is None else stage.background_sigma


class ComponentsConfig(BackgroundConfig):
    """The rest: a mixture of components, each with a mask and a picture."""

    components: Whole = 5
    mask_dim: Whole = 32
    component_dim: Whole = 32
    encoder_dim: Whole = 64  # features of the whole image
    hidden: Whole = 64  # LSTMs and the component prior
    fraction: Literal[1, 2, 4, 8] = 1  # components are decoded at 1/fraction of the resolution and upsampled
    input_fraction: Literal[1, 2, 4] = 1  # the encoders read the image (and the masks) at 1/input_fraction
    prior_from_state: bool = False  # published code: a mask's prior is read off before its predecessor enters the LSTM
    strong_decoder: bool = False  # a sub-pixel decoder in place of the broadcast decoder
    encoder_channels: tuple[Whole, ...] = (64, 64, 64, 64)
    mask_decoder: Layers = layers((256, 256, 128, 64, 16, 16), (16, 16, 16, 8, 4, 4))
    component_encoder_channels: tuple[Whole, ...] = (32, 32, 64, 64)
    component_decoder_channels: tuple[Whole, ...] = (32, 32, 32, 32)

    @model_validator(mode="after")
    def _stacks_have_their_layers(self) -> "ComponentsConfig":
        for name in ("encoder_channels", "component_encoder_channels"):
            count = len(getattr(self, name))
            if count != 4:
                raise ValueError(f"{name} has {count} layers: it needs the paper's four, of any widths")
        if len(self.mask_decoder.channels) < 5:
            raise ValueError("mask_decoder needs at least five layers: the first one, and four that enlarge")
        if not self.component_decoder_channels:
            raise ValueError("component_decoder_channels needs at least one layer")
        return self

    def check_size(self, height: int, width: int) -> None:
        """Refuse an image whose sides its encoders cannot halve four times."""
        unit = 16 * self.input_fraction
        if height % unit or width % unit:
            raise ValueError(f"image_size {height} x {width}: both sides must be multiples of {unit}")


class SpaceBackgroundConfig(ComponentsConfig):
    """SPACE's background: components, and beyond the paper stills in front of them or in their place."""

    components: Annotated[int, Field(ge=0)] = 5  # 0: stills alone
    stills: Annotated[int, Field(ge=0)] = 0  # pictures of free pixels, of which every image has the best-fitting one
    flat: bool = False  # every component's picture is of one colour: with one component, one colour an image
    plane: bool = False  # every component's picture is a plane of colour: one colour, lighter or darker to one side
    palette: bool = False  # every component's picture is of one colour: the one that its mask sees in the image
    stray: Annotated[float, Field(ge=0, lt=1)] = 0.0  # how likely a pixel is any component's, whatever the masks say
    still_things: Literal["background", "objects"] = "background"  # whose are small things that stand still

    @property
    def whole_pixels(self) -> bool:
        return self.palette  # a colour is all of its channels

    @model_validator(mode="after")
    def _something_is_left(self) -> "SpaceBackgroundConfig":
        if self.components + self.stills == 0:
            raise ValueError("components = 0 leaves no background at all: ask for stills, or for a component")
        if self.plane + self.palette + (self.flat or self.strong_decoder) > 1:
            raise ValueError("palette, plane, flat and strong_decoder are ways to draw a component: set one of them")
        if self.palette and self.component_dim < 3:
            raise ValueError(f"component_dim = {self.component_dim} cannot hold a colour, as palette needs: 3 at least")
        if self.still_things == "objects" and not self.stills:
            raise ValueError('still_things = "objects" is about stills, and stills = 0')
        return self


class SingleBackgroundConfig(BackgroundConfig):
    """The rest: one picture of the whole image, drawn by a VAE."""

    dim: Whole = 32
    encoder_dim: Whole = 64  # features of the whole image
    fraction: Literal[1, 2, 4, 8] = 1  # the picture is decoded at 1/fraction of the resolution and upsampled
    input_fraction: Literal[1, 2, 4] = 1  # the encoder reads the image at 1/input_fraction
    encoder_channels: tuple[Whole, Whole, Whole, Whole] = (64, 64, 64, 64)
    decoder: Layers = layers((256, 256, 128, 64, 16, 16), (16, 16, 16, 8, 4, 4))

    @model_validator(mode="after")
    def _decoder_has_its_layers(self) -> "SingleBackgroundConfig":
        if len(self.decoder.channels) < 5:
            raise ValueError("decoder needs at least five layers: the first one, and four that enlarge")
        return self


class PatchBackgroundConfig(BackgroundConfig):
    """The rest: one picture of every patch."""

    dim: Whole = 16
    encoder: Layers = layers((16, 32, 64, 128, 32), (4, 8, 8, 16, 4))  # five layers, each of which halves
    decoder: Layers = layers((256, 128, 64, 16, 16), (16, 16, 8, 4, 4))

    @model_validator(mode="after")
    def _stacks_have_their_layers(self) -> "PatchBackgroundConfig":
        if len(self.encoder.channels) != 5:
            count = len(self.encoder.channels)
            raise ValueError(f"encoder has {count} layers: it needs the paper's five, of any widths")
        if len(self.decoder.channels) < 4:
            raise ValueError("decoder needs at least four layers: the first one, and three that enlarge")
        return self


class WidthConfig(ModelConfig):
    """A model with a preset of narrower nets."""

    laptop: ClassVar[Widths] = {}  # what `width = "laptop"` sets

    width: Width = "paper"  # of the nets; what is said of them elsewhere comes first

    @model_validator(mode="before")
    @classmethod
    def _fill_in_widths(cls, content: Any) -> Any:
        if not isinstance(content, dict):
            return content
        return fill_in(cls.laptop, content) if content.get("width") == "laptop" else content


class GridConfig(WidthConfig):
    """A model whose objects come from the cells of a grid."""

    collapses = frozenset({"all-background", "all-foreground", "every-cell", "splitting", "dead-background"})

    background: BackgroundConfig = BackgroundConfig()  # each model has one of its own
    mixture_epsilon: float = Field(default=0.0, ge=0, lt=0.1)  # added to mixing weights; published code: 1e-5
    foreground: ForegroundConfig = ForegroundConfig()
    init: InitConfig = InitConfig()

    @property
    def cells(self) -> int:
        return math.prod(self.foreground.grid)

    def limited(self, objects: int) -> Self | None:
        if objects >= self.cells:
            return None
        foreground = self.foreground.model_copy(update={"budget": objects})
        return self.model_copy(update={"foreground": foreground})

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


class MixtureConfig(WidthConfig):
    """A model that has nothing but components: as many as others have cells and components together."""

    collapses = frozenset({"one-component"})

    if TYPE_CHECKING:  # each model has the field at a place and with a default of its own
        components: int = 1

    @classmethod
    def sized(cls, size: tuple[int, int], grid: int, components: int) -> Self:
        return cls.model_validate({"image_size": size, "components": grid * grid + components})

    @property
    def parts(self) -> int:
        return self.components
