"""SPACE (Lin et al., ICLR 2020): objects from a grid of cells over a background of a few components.

In the paper's order: what there is to set (`SpaceConfig`), what a forward pass infers (`Space.forward`) and what it
is to make large (`Space.objective`). Its two halves are `parts/foreground.py` and `parts/background.py`, which
`parts/stills.py` extends; taking images apart is in `parts/scenes.py`. How it departs from the paper is said there and
in docs/decisions.md. Shapes: B images, C H W image.
"""

from typing import ClassVar, Literal, Self

import torch
from pydantic import model_validator
from torch import Tensor

from objectspace.config import Stage
from objectspace.models.parts.foreground import Foreground, ForegroundOutput
from objectspace.models.parts.grid import BackgroundDrawn, GridModel, GridOutput
from objectspace.models.parts.pictures import Backdrops
from objectspace.models.parts.settings import (
    LAPTOP_FOREGROUND,
    ForegroundConfig,
    GridConfig,
    InitConfig,
    SpaceBackgroundConfig,
    Widths,
)
from objectspace.models.parts.stills import StillBackground
from objectspace.models.parts.teaching import taught


class SpaceConfig(GridConfig):
    """The SPACE model; the defaults are the paper's, for a grid of 16 x 16."""

    own_recipe = "space-rooms-large"

    kind: Literal["space"] = "space"
    foreground: ForegroundConfig = ForegroundConfig()  # the grid, its cells' latents and glimpses
    background: SpaceBackgroundConfig = SpaceBackgroundConfig()  # components, and stills beyond the paper
    init: InitConfig = InitConfig()  # how the foreground's heads start

    laptop: ClassVar[Widths] = {
        "foreground": LAPTOP_FOREGROUND,
        "background": {
            "mask_dim": 16,
            "component_dim": 8,
            "fraction": 4,
            "input_fraction": 2,
            "encoder_channels": (32, 32, 32, 32),
            "mask_decoder": {"channels": (64, 64, 32, 32, 16), "groups": (8, 8, 8, 8, 4)},
            "component_encoder_channels": (16, 16, 32, 32),
            "component_decoder_channels": (16, 16, 16),
        },
    }

    @classmethod
    def sized(cls, size: tuple[int, int], grid: int, components: int) -> Self:
        background = SpaceBackgroundConfig(components=components)
        return cls(image_size=size, foreground=ForegroundConfig(grid=(grid, grid)), background=background)

    @property
    def parts(self) -> int:
        return self.background.components + (self.background.stills > 0)

    @model_validator(mode="after")
    def _background_fits_image(self) -> "SpaceConfig":
        self.background.check_size(*self.image_size)
        return self


class Space(GridModel, config=SpaceConfig):
    """The whole model; images (B, C, H, W) in [0, 1], in the channel order of the config."""

    forgotten = frozenset({"background.mask_logits"})  # of stills without components, which take every pixel

    config: SpaceConfig
    background: StillBackground

    def __init__(self, config: SpaceConfig, final: Stage | None = None) -> None:
        super().__init__(config, final)
        self.foreground = Foreground(config.foreground, config.image_size)
        self.background = StillBackground(config.background, config.image_size)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def start_from(self, images: Tensor, generator: torch.Generator) -> None:
        """Start the background's stills from some of the training images."""
        self.background.start_from(images, generator)

    def forward(
        self,
        images: Tensor,
        stage: Stage | None = None,
        *,
        sample: bool = True,
        generator: torch.Generator | None = None,
        motion: Tensor | None = None,
    ) -> GridOutput:
        """As every model's; `motion` (B, H, W) marks pixels that move, for `stage.motion_prior`."""
        stage = stage or self.final
        images = images.contiguous(memory_format=torch.channels_last)
        if stage.background_only:
            return self.score_background(images, self.draw_background(images, stage, sample, generator), stage)
        foreground, background, hints = self.infer(images, stage, sample, generator, motion)
        output = self.objective(images, foreground, background, stage)
        return taught(self, output, hints, stage, sample, generator)

    def objective(
        self, images: Tensor, foreground: ForegroundOutput, background: BackgroundDrawn, stage: Stage
    ) -> GridOutput:
        """The bound of each image, its likelihood under both halves less their KL, and beside it the boundary loss.

        Every pixel is a mixture of the foreground, as much of it as its alpha says, and of what is behind; with
        `stage.unknown` it may also be explained by nobody. What training teaches beyond the bound is in `taught`.
        """
        mixed = self.mix(images, foreground, background, stage)
        return self.output(
            images,
            foreground,
            background,
            mixed,
            log_likelihood=mixed.log_pixel.flatten(1).sum(1),  # (B, H, W) -> (B,)
            kl=mixed.kl,  # of presence, where, what, depth; of masks and components
            penalties={"boundary": foreground.boundary},
        )

    def infer_background(self, images: Tensor, pictures: bool) -> Backdrops:
        log_masks = self.background.infer_masks(images)  # (B, K, 1, H, W)
        means = self.background.infer_means(images, log_masks) if pictures else None
        return Backdrops(log_masks.exp()[:, :, 0], means)

    def generate_background(self, generator: torch.Generator | None) -> Backdrops:
        means, log_masks = self.background.generate(1, generator)
        return Backdrops(log_masks.exp()[:, :, 0], means)
