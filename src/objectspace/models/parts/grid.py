"""Models whose objects come from the cells of a grid, over a background of their own: SPACE and SPAIR.

They share the foreground's net, its rendering, and the way to `Scene`s and back. Shapes: B images, C H W image.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from objectspace.config import GridConfig, Stage
from objectspace.models.base import Input, Output, SceneModel
from objectspace.models.parts import heads, scenes
from objectspace.models.parts.foreground import Foreground, ForegroundOutput
from objectspace.models.parts.pictures import Backdrops
from objectspace.ops.mixtures import gaussian_log_density, mix_two
from objectspace.scene import Picture, Scene


class BackgroundOutput(Protocol):
    """What a background's forward pass gives."""

    @property
    def image(self) -> Tensor: ...  # (B, C, H, W)
    @property
    def log_density(self) -> Tensor: ...  # (B, C, H, W) of every pixel and channel
    @property
    def kl(self) -> Mapping[str, Tensor]: ...  # (B,) each


@dataclass(frozen=True)
class GridOutput(Output):
    """The terms, and the two halves they come from."""

    foreground: ForegroundOutput | None  # None: the background learns alone
    background: BackgroundOutput
    alpha: Tensor  # (B, 1, H, W) the mixing weight: the foreground's own, or the fixed one


class GridModel(SceneModel):
    """Objects over a background; images (B, C, H, W) in [0, 1], in the channel order of the config."""

    config: GridConfig
    foreground: Foreground
    background: nn.Module  # images, sample, generator, epsilon, sigma_factor -> BackgroundOutput

    def start(self, stage: Stage) -> None:
        """Start the foreground's heads as `config.init` says."""
        heads.initialise(self.foreground, self.config, stage)

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        """The parameters of the two halves, which have optimisers of their own."""
        return {"foreground": list(self.foreground.parameters()), "background": list(self.background.parameters())}

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
            return self._alone(images, self._behind(images, stage, sample, generator))
        foreground = self.foreground(images, stage, sample, generator, motion)  # objects on nothing
        background = self._behind(images, stage, sample, generator)
        alpha, epsilon = foreground.alpha, self.config.mixture_epsilon
        if stage.fixed_alpha is not None:
            alpha = torch.full_like(alpha, stage.fixed_alpha)
        sigma = self.config.foreground.sigma * stage.sigma_factor
        by_foreground = gaussian_log_density(images, foreground.image, sigma)
        log_density = mix_two(by_foreground, background.log_density, alpha, epsilon)  # (B, C, H, W)
        return GridOutput(
            target=images,
            reconstruction=alpha * foreground.image + (1 - alpha) * background.image,
            log_likelihood=log_density.flatten(1).sum(1),
            kl=foreground.kl | dict(background.kl),
            penalties={"boundary": foreground.boundary},
            objects=(foreground.cells.probability > 0.5).sum(1),
            foreground=foreground,
            background=background,
            alpha=alpha,
        )

    def _behind(
        self, images: Tensor, stage: Stage, sample: bool, generator: torch.Generator | None
    ) -> BackgroundOutput:
        """What is behind the objects."""
        output: BackgroundOutput = self.background(
            images, sample, generator, self.config.mixture_epsilon, stage.sigma_factor
        )
        return output

    def _alone(self, images: Tensor, background: BackgroundOutput) -> GridOutput:
        """The terms of images without any objects: the foreground is not run, and learns nothing."""
        nothing = images.new_zeros(len(images))
        return GridOutput(
            target=images,
            reconstruction=background.image,
            log_likelihood=background.log_density.flatten(1).sum(1),
            kl=dict(background.kl),
            penalties={"boundary": nothing},
            objects=nothing.long(),
            foreground=None,
            background=background,
            alpha=torch.zeros_like(images[:, :1]),
        )

    @abstractmethod
    def infer_background(self, images: Tensor, pictures: bool) -> Backdrops:
        """The backgrounds of images, at the posterior means; without `pictures` only the masks."""

    @abstractmethod
    def generate_background(self, generator: torch.Generator | None) -> Backdrops:
        """One background, from the prior."""

    def decompose(
        self,
        images: Input | Sequence[Input],
        threshold: float = 0.5,
        *,
        background: bool = True,
        pictures: bool = True,
        least_pixels: float = 10,
        least_visible: float = 0.3,
        batch: int = 16,
    ) -> list[Scene]:
        """Take images apart: PIL images, paths, uint8 arrays (H, W, 3) or float tensors (3, H, W) of any sizes.

        An object is a cell whose presence probability exceeds `threshold`. Those with fewer than `least_pixels` visible
        pixels (at the model's size), or with less than `least_visible` of their mask visible, are dropped as
        duplicates hidden behind others. Boxes and masks are in the pixels of the image as given.

        What is not asked for is not computed. Without `background` there are no components, no background and no
        reconstruction; without `pictures` there are boxes, masks and latents only. What is left stays the same.
        """
        wanted = scenes.Wanted(threshold, least_pixels, least_visible, background, pictures)
        return scenes.decompose(self, images, wanted, batch)

    def render(self, scene: Scene) -> Picture:
        """Draw a scene again, perhaps edited: objects are drawn at their `where_box`, `depth` and `what`."""
        return scenes.render(self, scene)

    def sample(self, count: int, generator: torch.Generator | None = None, objects: float | None = None) -> list[Scene]:
        """Draw scenes from the prior; `objects` sets how many are expected an image, in place of the presence prior."""
        return scenes.sample(self, count, generator, objects)
