"""SPAIR (Crawford & Pineau 2019) as the paper of SPACE compares with it, and SPAIR-P, which is trained on patches.

SPACE's foreground with its cells inferred one after another, rendered in parallel, over a background drawn by one VAE.
How it departs from the paper is said in the modules it is made of and in docs/decisions.md. Shapes: B images,
C H W image, h w patch.
"""

import torch
from torch import Tensor

from objectspace.config import Spair as Config
from objectspace.config import SpairP as PatchConfig
from objectspace.config import Stage
from objectspace.models.parts import single
from objectspace.models.parts.grid import GridModel, GridOutput
from objectspace.models.parts.pictures import Backdrops
from objectspace.models.parts.sequence import SequentialForeground


class SequentialModel(GridModel):
    """What both have: the foreground, and the way from their background to scenes."""

    config: Config | PatchConfig
    background: single.Single

    def __init__(self, config: Config | PatchConfig, final: Stage | None = None) -> None:
        super().__init__(config, final)
        self.foreground = SequentialForeground(
            config.foreground, config.image_size, config.neighbourhood, config.context_dim
        )

    def infer_background(self, images: Tensor, pictures: bool) -> Backdrops:
        masks = images.new_ones(len(images), 1, *images.shape[2:])
        if not pictures:
            return Backdrops(masks, None)
        latent = self.background.infer(images, False, None).value
        return Backdrops(masks, self.background.decode(latent, self.config.image_size)[:, None])

    def generate_background(self, generator: torch.Generator | None) -> Backdrops:
        picture = self.background.generate(self.config.image_size, generator)
        return Backdrops(torch.ones_like(picture[:, :1]), picture[:, None])


class Spair(SequentialModel, config=Config):
    """The whole model; images (B, C, H, W) in [0, 1], in the channel order of the config."""

    config: Config

    def __init__(self, config: Config, final: Stage | None = None) -> None:
        super().__init__(config, final)
        self.background = single.for_images(config.background, config.image_size)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


class SpairP(SequentialModel, config=PatchConfig):
    """SPAIR trained on a random patch of every image, its grid as large as the patch; takes whole images apart.

    Behind a whole image lies one picture for every patch of it, side by side.
    """

    config: PatchConfig

    def __init__(self, config: PatchConfig, final: Stage | None = None) -> None:
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
