"""SPACE (Lin et al., ICLR 2020): objects from a grid of cells over a background of a few components.

How it departs from the paper is said in the modules it is made of and in docs/decisions.md. Shapes: B images,
C H W image.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from objectspace.config import Anneal, Stage
from objectspace.config import Space as Config
from objectspace.models.base import Input, Output, SceneModel
from objectspace.models.space import heads, scenes
from objectspace.models.space.background import Background, BackgroundOutput
from objectspace.models.space.foreground import Foreground, ForegroundOutput
from objectspace.ops.mixtures import gaussian_log_density, mix_two
from objectspace.scene import Picture, Scene


@dataclass(frozen=True)
class SpaceOutput(Output):
    """The terms, and the two halves they come from."""

    foreground: ForegroundOutput
    background: BackgroundOutput
    alpha: Tensor  # (B, 1, H, W) the mixing weight: the foreground's own, or the fixed one


class Space(SceneModel):
    """The whole model; images (B, C, H, W) in [0, 1], in the channel order of the config."""

    config: Config

    def __init__(self, config: Config, final: Stage | None = None) -> None:
        super().__init__()
        self.config = config
        self.final = final or Anneal().final()
        self.foreground = Foreground(config.foreground, config.image_size)
        self.background = Background(config.background, config.image_size)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    @classmethod
    def create(cls, config: Config, anneal: Anneal | None = None, seed: int = 0) -> "Space":
        """A fresh model, started as `config.init` says; the global random state is left alone."""
        anneal = anneal or Anneal()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = cls(config, anneal.final())
        heads.initialise(model.foreground, config, anneal.at(0))
        return model

    def forward(
        self,
        images: Tensor,
        stage: Stage | None = None,
        *,
        sample: bool = True,
        generator: torch.Generator | None = None,
    ) -> SpaceOutput:
        stage = stage or self.final
        epsilon = self.config.mixture_epsilon
        images = images.contiguous(memory_format=torch.channels_last)
        foreground = self.foreground(images, stage, sample, generator)  # objects on nothing
        background = self.background(images, sample, generator, epsilon)  # components, masks sum to one
        alpha = foreground.alpha
        if stage.fixed_alpha is not None:
            alpha = torch.full_like(alpha, stage.fixed_alpha)
        by_foreground = gaussian_log_density(images, foreground.image, self.config.foreground.sigma)
        log_density = mix_two(by_foreground, background.log_density, alpha, epsilon)  # (B, C, H, W)
        return SpaceOutput(
            reconstruction=alpha * foreground.image + (1 - alpha) * background.image,
            log_likelihood=log_density.flatten(1).sum(1),
            kl=foreground.kl | background.kl,
            penalties={"boundary": foreground.boundary},
            objects=(foreground.cells.probability > 0.5).sum(1),
            foreground=foreground,
            background=background,
            alpha=alpha,
        )

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        """The parameters of the two halves, which have optimisers of their own."""
        return {"foreground": list(self.foreground.parameters()), "background": list(self.background.parameters())}

    def save_pretrained(self, directory: str | Path) -> None:
        """Write the model into a folder: config.json and model.safetensors."""
        from objectspace.models import pretrained  # which knows all models

        pretrained.save_pretrained(self, directory)

    @classmethod
    def from_pretrained(cls, directory: str | Path) -> "Space":
        """The model in a folder, in evaluation mode; anything wrong with it is a `UserError`."""
        from objectspace.models import pretrained

        return pretrained.from_pretrained(directory)

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
