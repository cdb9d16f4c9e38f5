"""A mixture of components: the background of SPACE, and the whole of GENESIS."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from objectspace.config.anneal import Stage
from objectspace.config.base import Layers, Positive, Section, Whole, layers


class Behind(Section):
    """What every background has."""

    sigma: Positive = 0.15  # standard deviation of a background pixel
    shadow: Annotated[float, Field(ge=0, lt=1)] = 0.0  # how likely a pixel lies in shadow: the same picture, darker

    def sigma_at(self, stage: Stage) -> float:
        """The stdev of a background pixel: the annealed one, where the recipe anneals it."""
        return self.sigma if stage.background_sigma is None else stage.background_sigma


class Background(Behind):
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

    def check_size(self, height: int, width: int) -> None:
        """Refuse an image whose sides its encoders cannot halve four times."""
        unit = 16 * self.input_fraction
        if height % unit or width % unit:
            raise ValueError(f"image_size {height} x {width}: both sides must be multiples of {unit}")


class StillBackground(Background):
    """SPACE's background: components, and beyond the paper stills in front of them or in their place."""

    components: Annotated[int, Field(ge=0)] = 5  # 0: stills alone
    stills: Annotated[int, Field(ge=0)] = 0  # pictures of free pixels, of which every image has the best-fitting one
    flat: bool = False  # every component's picture is of one colour: with one component, one colour an image
    plane: bool = False  # every component's picture is a plane of colour: one colour, lighter or darker to one side
    still_things: Literal["background", "objects"] = "background"  # whose are small things that stand still

    @model_validator(mode="after")
    def _something_is_left(self) -> "StillBackground":
        if self.components + self.stills == 0:
            raise ValueError("components = 0 leaves no background at all: ask for stills, or for a component")
        if self.plane and (self.flat or self.strong_decoder):
            raise ValueError("plane, flat and strong_decoder are three ways to draw a component: set one of them")
        if self.still_things == "objects" and not self.stills:
            raise ValueError('still_things = "objects" is about stills, and stills = 0')
        return self
