"""SPACE (Lin et al., ICLR 2020): objects from a grid of cells over a background of a few components.

How it departs from the paper is said in the modules it is made of and in docs/decisions.md. Shapes: B images,
C H W image.
"""

import torch
from torch import Tensor

from objectspace.config import Space as Config
from objectspace.config import Stage
from objectspace.models.parts.foreground import Foreground
from objectspace.models.parts.grid import GridModel
from objectspace.models.parts.pictures import Backdrops
from objectspace.models.parts.stills import StillBackground


class Space(GridModel, config=Config):
    """The whole model; images (B, C, H, W) in [0, 1], in the channel order of the config."""

    forgotten = frozenset({"background.mask_logits"})  # of stills without components, which take every pixel

    config: Config
    background: StillBackground

    def __init__(self, config: Config, final: Stage | None = None) -> None:
        super().__init__(config, final)
        self.foreground = Foreground(config.foreground, config.image_size)
        self.background = StillBackground(config.background, config.image_size)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def start_from(self, images: Tensor, generator: torch.Generator) -> None:
        """Start the background's stills from some of the training images."""
        self.background.start_from(images, generator)

    def infer_background(self, images: Tensor, pictures: bool) -> Backdrops:
        log_masks = self.background.infer_masks(images)  # (B, K, 1, H, W)
        means = self.background.infer_means(images, log_masks) if pictures else None
        return Backdrops(log_masks.exp()[:, :, 0], means)

    def generate_background(self, generator: torch.Generator | None) -> Backdrops:
        means, log_masks = self.background.generate(1, generator)
        return Backdrops(log_masks.exp()[:, :, 0], means)
