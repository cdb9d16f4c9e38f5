"""SPAIR (Crawford & Pineau 2019) as the paper of SPACE compares with it, and SPAIR-P, which is trained on patches.

SPACE's foreground with its cells inferred one after another, rendered in parallel, over a background drawn by one VAE.
How it departs from the paper is said in the modules it is made of and in docs/decisions.md. Shapes: B images,
C H W image, h w patch.
"""

from typing import Annotated, ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor

from objectspace.config import Stage
from objectspace.config.base import Sides, Whole
from objectspace.models.parts import single
from objectspace.models.parts.foreground import ForegroundOutput
from objectspace.models.parts.grid import BackgroundDrawn, GridModel, GridOutput
from objectspace.models.parts.pictures import Backdrops
from objectspace.models.parts.sequence import SequentialForeground
from objectspace.models.parts.settings import (
    LAPTOP_FOREGROUND,
    GridConfig,
    PatchBackgroundConfig,
    SingleBackgroundConfig,
    Widths,
)
from objectspace.models.parts.teaching import taught

PATCH_CELL = 8  # pixels: the paper's patches of 32 x 32 have 4 x 4 cells


class SequentialConfig(GridConfig):
    """A model whose cells are inferred one after another, over a background of one picture."""

    collapses = GridConfig.collapses - {"dead-background"}  # which has several components

    neighbourhood: Annotated[int, Field(ge=1, le=16)] = 1  # rows and columns around a cell that it knows, once visited
    context_dim: Whole = 128  # units of the layer through which it knows them
    wavefront: bool = False  # cells that do not know of one another are inferred together: the same, in fewer steps

    @classmethod
    def sized(cls, size: tuple[int, int], grid: int, components: int) -> Self:
        """One background, whatever others have."""
        return cls.model_validate({"image_size": size, "foreground": {"grid": (grid, grid)}})

    def computed_otherwise(self) -> dict[str, Self]:
        return {} if self.wavefront else {"wavefront": self.model_copy(update={"wavefront": True})}


class SpairConfig(SequentialConfig):
    """The SPAIR model."""

    laptop: ClassVar[Widths] = {
        "foreground": LAPTOP_FOREGROUND,
        "background": {
            "dim": 16,
            "fraction": 2,
            "input_fraction": 2,
            "encoder_channels": (32, 32, 32, 32),
            "decoder": {"channels": (64, 64, 32, 32, 16), "groups": (8, 8, 8, 8, 4)},
        },
    }

    own_recipe = "spair-rooms-large"

    kind: Literal["spair"] = "spair"
    background: SingleBackgroundConfig = SingleBackgroundConfig()

    @model_validator(mode="after")
    def _background_fits_image(self) -> "SpairConfig":
        unit = 16 * self.background.input_fraction
        if self.image_size[0] % unit or self.image_size[1] % unit:
            height, width = self.image_size
            raise ValueError(f"image_size {height} x {width}: both sides must be multiples of {unit}")
        return self


class SpairPConfig(SequentialConfig):
    """The SPAIR-P model: SPAIR trained on patches, for whole images."""

    laptop: ClassVar[Widths] = {
        "foreground": LAPTOP_FOREGROUND,
        "background": {
            "dim": 8,
            "encoder": {"channels": (16, 16, 32, 32, 32), "groups": (4, 4, 8, 8, 4)},
            "decoder": {"channels": (64, 32, 32, 16), "groups": (8, 8, 8, 4)},
        },
    }

    own_recipe = "spair-p-rooms-small"
    caveat = (
        "draws the background of a whole image patch by patch, each of latents of its own, where spair has one "
        "picture: that flatters its squared error"
    )

    kind: Literal["spair-p"] = "spair-p"
    patch: Sides = (32, 32)  # height, width
    background: PatchBackgroundConfig = PatchBackgroundConfig()

    @classmethod
    def sized(cls, size: tuple[int, int], grid: int, components: int) -> Self:
        """Images as large as the grid makes them: its patches have the paper's 4 x 4 cells of 8 pixels at any grid."""
        return super().sized((PATCH_CELL * grid, PATCH_CELL * grid), grid, components)

    @model_validator(mode="after")
    def _patches_fit_image(self) -> "SpairPConfig":
        (height, width), (rows, columns) = self.image_size, self.patch
        if rows % 32 or columns % 32:
            raise ValueError(f"patch {rows} x {columns}: both sides must be multiples of 32")
        if height % rows or width % columns:
            raise ValueError(f"image_size {height} x {width} must be whole patches of {rows} x {columns}")
        cell = height // self.foreground.grid[0]
        if rows % cell or columns % cell:
            raise ValueError(f"patch {rows} x {columns} must be whole cells of the grid, of {cell} pixels")
        return self


class SequentialModel(GridModel):
    """What both have: the foreground, and the way from their background to scenes."""

    config: SpairConfig | SpairPConfig
    background: single.Single

    def __init__(self, config: SpairConfig | SpairPConfig, final: Stage | None = None) -> None:
        super().__init__(config, final)
        self.foreground = SequentialForeground(
            config.foreground, config.image_size, config.neighbourhood, config.context_dim, config.wavefront
        )

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
        """The bound of each image and the boundary loss, as SPACE's."""
        mixed, penalties = self.mix(images, foreground, background, stage), {"boundary": foreground.boundary}
        likelihood = mixed.log_pixel.flatten(1).sum(1)  # (B,)
        return self.output(images, foreground, background, mixed, likelihood, mixed.kl, penalties)

    def infer_background(self, images: Tensor, pictures: bool) -> Backdrops:
        masks = images.new_ones(len(images), 1, *images.shape[2:])
        if not pictures:
            return Backdrops(masks, None)
        latent = self.background.infer(images, False, None).value
        return Backdrops(masks, self.background.decode(latent, self.config.image_size)[:, None])

    def generate_background(self, generator: torch.Generator | None) -> Backdrops:
        picture = self.background.generate(self.config.image_size, generator)
        return Backdrops(torch.ones_like(picture[:, :1]), picture[:, None])


class Spair(SequentialModel, config=SpairConfig):
    """The whole model; images (B, C, H, W) in [0, 1], in the channel order of the config."""

    config: SpairConfig

    def __init__(self, config: SpairConfig, final: Stage | None = None) -> None:
        super().__init__(config, final)
        self.background = single.for_images(config.background, config.image_size)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


class SpairP(SequentialModel, config=SpairPConfig):
    """SPAIR trained on a random patch of every image, its grid as large as the patch; takes whole images apart.

    Behind a whole image lies one picture for every patch of it, side by side.
    """

    config: SpairPConfig

    def __init__(self, config: SpairPConfig, final: Stage | None = None) -> None:
        super().__init__(config, final)
        self.background = single.for_patches(config.background, config.patch)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(
        self,
        images: Tensor,
        stage: Stage | None = None,
        *,
        sample: bool = True,
        generator: torch.Generator | None = None,
        motion: Tensor | None = None,
    ) -> GridOutput:
        """As every model's; in training with a generator it is patches, not images, that are drawn and scored."""
        if self.training and sample and generator is not None:
            channels = [images] if motion is None else [images, motion[:, None].to(images)]
            patches = random_patches(torch.cat(channels, dim=1), self.config.patch, generator)
            images, motion = patches[:, :3], None if motion is None else patches[:, 3]
        return super().forward(images, stage, sample=sample, generator=generator, motion=motion)


def random_patches(images: Tensor, patch: tuple[int, int], generator: torch.Generator) -> Tensor:
    """One patch of each image (B, C, H, W), anywhere in it: (B, C, h, w)."""
    (height, width), count = patch, len(images)
    tops, lefts = (
        torch.randint(side - length + 1, (count,), generator=generator, device=generator.device).tolist()
        for side, length in zip(images.shape[2:], patch, strict=True)
    )
    corners = zip(images, tops, lefts, strict=True)
    return torch.stack([image[:, top : top + height, left : left + width] for image, top, left in corners])
