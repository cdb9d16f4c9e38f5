"""Models whose objects come from the cells of a grid, over a background of their own: SPACE and SPAIR.

Each has its own forward pass and objective. They share how the halves are inferred and mixed, and the way to `Scene`s
and back. What training teaches both beyond the bound is in `teaching.py`. Shapes: B images, C H W image.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor, nn

from objectspace.config import Stage
from objectspace.errors import UserError
from objectspace.models.base import Input, Output, SceneModel
from objectspace.models.inputs import checked_generator
from objectspace.models.parts import rendering, scenes, tiles, warm
from objectspace.models.parts.cells import Hints
from objectspace.models.parts.foreground import Foreground, ForegroundOutput
from objectspace.models.parts.found import PRICE, Wanted
from objectspace.models.parts.initialise import initialise
from objectspace.models.parts.pictures import Backdrops
from objectspace.models.parts.settings import GridConfig
from objectspace.models.seen import Appearance, learn
from objectspace.ops.mixtures import mix_pixels, share_of_unknown, with_unknown
from objectspace.scene import Picture, Scene


class BackgroundDrawn(Protocol):
    """What a background's forward pass gives."""

    @property
    def image(self) -> Tensor: ...  # (B, C, H, W)
    @property
    def log_density(self) -> Tensor: ...  # (B, C, H, W) of every pixel and channel, or (B, 1, H, W) of whole pixels
    @property
    def kl(self) -> Mapping[str, Tensor]: ...  # (B,) each


@dataclass(frozen=True, kw_only=True)
class GridOutput(Output):
    """The terms, and the two halves they come from."""

    foreground: ForegroundOutput | None  # None: the background learns alone
    background: BackgroundDrawn
    alpha: Tensor  # (B, 1, H, W) the mixing weight: the foreground's own, or the fixed one
    unexplained: Tensor  # (B, H, W) how likely it is that nobody explains a pixel


@dataclass(frozen=True)
class Mixed:
    """The two halves of some images as one mixture."""

    alpha: Tensor  # (B, 1, H, W) the mixing weight: the foreground's own, or the fixed one
    log_pixel: Tensor  # (B, H, W) log densities of pixels
    kl: Mapping[str, Tensor]  # (B,) each, of both halves
    unexplained: Tensor  # (B, H, W) how likely it is that nobody explains a pixel


def as_objects_take_it(background: BackgroundDrawn, stage: Stage) -> tuple[Tensor, dict[str, Tensor]]:
    """The log densities (B, C or 1, H, W) and KL (B,) of a background; detached while it has a bound of its own."""
    density, kl = background.log_density, dict(background.kl)
    if stage.own_background:
        return density.detach(), {name: term.detach() for name, term in kl.items()}
    return density, kl


class GridModel(SceneModel):
    """Objects over a background; images (B, C, H, W) in [0, 1], in the channel order of the config."""

    config: GridConfig
    foreground: Foreground
    background: nn.Module  # images, sample, generator, epsilon, sigma -> BackgroundDrawn

    def start(self, stage: Stage) -> None:
        """Start the foreground's heads as `config.init` says."""
        initialise(self.foreground, self.config, stage)

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        """The parameters of the two halves, which have optimisers of their own."""
        return {"foreground": list(self.foreground.parameters()), "background": list(self.background.parameters())}

    def clip_groups(self) -> list[list[nn.Parameter]]:
        """Presence, places, looks and the background apart: what they learn from is of very different sizes."""
        presence = list(self.foreground.heads.z_pres_net.parameters())
        looks = [*self.foreground.glimpse_encoder.parameters(), *self.foreground.glimpse_decoder.parameters()]
        taken = {id(each) for each in presence + looks}
        places = [each for each in self.foreground.parameters() if id(each) not in taken]
        return [presence, places, looks, list(self.background.parameters())]

    @abstractmethod
    def objective(
        self, images: Tensor, foreground: ForegroundOutput, background: BackgroundDrawn, stage: Stage
    ) -> GridOutput:
        """The bound of images, given their two halves, and what else the paper makes small."""

    def infer(
        self,
        images: Tensor,
        stage: Stage,
        sample: bool,
        generator: torch.Generator | None,
        motion: Tensor | None,
    ) -> tuple[ForegroundOutput, BackgroundDrawn, Hints]:
        """Objects on nothing, what is behind them, and what was known of the image before the objects."""
        looked_at = stage.presence_by_evidence or stage.explained_prior is not None
        if not (stage.own_background or looked_at):
            hints = Hints(motion)
            foreground = self.foreground(images, stage, sample, generator, hints)
            return foreground, self.draw_background(images, stage, sample, generator), hints
        background = self.draw_background(images, stage, sample, generator)  # what it leaves is looked at first
        leftover = share_of_unknown(with_unknown(background.log_density.detach(), stage.unknown), stage.unknown)
        hints = Hints(motion, leftover if looked_at else None)
        return self.foreground(images, stage, sample, generator, hints), background, hints

    def warm_start(
        self, images: Tensor, stage: Stage, *, sample: bool = True, generator: torch.Generator | None = None
    ) -> GridOutput:
        """Teach the foreground by what the background leaves unexplained; the background learns nothing."""
        images = images.contiguous(memory_format=torch.channels_last)
        with torch.no_grad():
            alone = self.score_background(images, self.draw_background(images, stage, False, None), stage)
        lesson = warm.learn(self, images, alone.unexplained, stage, sample, generator)
        regions = torch.bincount(lesson.targets.image, minlength=len(images))
        return replace(alone, log_likelihood=lesson.log_likelihood, kl=lesson.kl, objects=regions, notes=alone.notes)

    def mix(self, images: Tensor, foreground: ForegroundOutput, background: BackgroundDrawn, stage: Stage) -> Mixed:
        """Every pixel is a mixture of the foreground, as much of it as its alpha says, and of what is behind.

        With `stage.unknown` it may also be explained by nobody.
        """
        sigma, epsilon = self.config.foreground.sigma_at(stage), self.config.mixture_epsilon
        alpha = foreground.alpha if stage.fixed_alpha is None else torch.full_like(foreground.alpha, stage.fixed_alpha)
        behind, behind_kl = as_objects_take_it(background, stage)
        log_pixel = mix_pixels(images, foreground.mean, alpha, behind, sigma, stage.unknown, epsilon)
        return Mixed(alpha, log_pixel, foreground.kl | behind_kl, share_of_unknown(log_pixel.detach(), stage.unknown))

    def output(
        self,
        images: Tensor,
        foreground: ForegroundOutput,
        background: BackgroundDrawn,
        mixed: Mixed,
        log_likelihood: Tensor,
        kl: Mapping[str, Tensor],
        penalties: Mapping[str, Tensor],
    ) -> GridOutput:
        """What a forward pass gives: the terms of an objective, and what they are made of."""
        return GridOutput(
            target=images,
            reconstruction=mixed.alpha * foreground.mean + (1 - mixed.alpha) * background.image,
            log_likelihood=log_likelihood,
            kl=kl,
            penalties=penalties,
            objects=(foreground.cells.probability > 0.5).sum(1),
            notes={"unexplained": mixed.unexplained.flatten(1).mean(1)},
            foreground=foreground,
            background=background,
            alpha=mixed.alpha,
            unexplained=mixed.unexplained,
        )

    def draw_background(
        self, images: Tensor, stage: Stage, sample: bool, generator: torch.Generator | None
    ) -> BackgroundDrawn:
        """What is behind the objects, with nothing in front of it."""
        sigma = self.config.background.sigma_at(stage)
        output: BackgroundDrawn = self.background(images, sample, generator, self.config.mixture_epsilon, sigma)
        return output

    def score_background(self, images: Tensor, background: BackgroundDrawn, stage: Stage) -> GridOutput:
        """The terms of images without any objects: the foreground is not run, and learns nothing."""
        nothing = images.new_zeros(len(images))
        log_pixel = with_unknown(background.log_density, stage.unknown)
        unexplained = share_of_unknown(log_pixel.detach(), stage.unknown)
        return GridOutput(
            target=images,
            reconstruction=background.image,
            log_likelihood=log_pixel.flatten(1).sum(1),
            kl=dict(background.kl),
            penalties={"boundary": nothing},
            objects=nothing.long(),
            notes={"unexplained": unexplained.flatten(1).mean(1)},
            foreground=None,
            background=background,
            alpha=torch.zeros_like(images[:, :1]),
            unexplained=unexplained,
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
        price: float | None = PRICE,
        published: bool = False,
        second_look: bool = True,
        leftovers: bool = True,
        batch: int = 16,
        tile: bool = False,
        scale: float | None = None,
    ) -> list[Scene]:
        """Take images apart: PIL images, paths, uint8 arrays (H, W, 3) or float tensors (3, H, W) of any sizes.

        An object is a cell whose presence probability exceeds `threshold` and that is worth its price: by it the image
        must gain `price` nats for every pixel that it draws (hidden ones included, at the model's size), and
        `worth.LEAST_PRICE` at least, beyond what its latents cost. The least worthy go first, and what is left is
        weighed again, so that of two that draw the same thing one stays. Those of which no pixel is seen are dropped,
        too. Without a price (None) every cell above the threshold is there, and its score is its presence probability.

        What is then left unexplained is looked at again, unless `second_look` is False: a region of it is an object if
        the glimpse nets draw it so well that it is worth the price of a whole one. That needs a price, and a model that
        knows the unknown.

        What even that cannot draw is found, if it is compact and looks like nothing behind it, unless `leftovers` is
        False: such an object is not `understood`. Its mask and box are those of the region, and its latents are what
        the glimpse net makes of it, so that it can be edited and labelled, though it is drawn badly.

        Masks are made of the image as given: a pixel is an object's if that explains it better than everything else
        together. Boxes and masks are in the pixels of the image as given.

        `published` is the rule of the published evaluation: no price, and each `box` is the latents' own `where_box`.

        A model whose `config.view` has a scale looks at images in tiles, and so does any with `tile`, at `scale` times
        their own size, or as they are: see `parts/tiles.py`. There are no components then, as they differ by tile.

        What is not asked for is not made. Without `background` there are no components, no background and no
        reconstruction; without `pictures` there are boxes, masks and latents only. What is left stays the same.
        """
        wanted = Wanted(threshold, price, background, pictures, published, second_look, leftovers)
        view = self.config.view
        if scale is not None and not (tile or view.scale):
            raise UserError("scale is how large images are for tiles: give tile=True as well")
        if not (tile or view.scale):
            return scenes.decompose(self, images, wanted, batch)
        return tiles.decompose(self, images, wanted, batch, tiles.scale_of(scale, view))

    def decompose_published(self, images: Input | Sequence[Input]) -> list[Scene]:
        """Every cell with a presence above one half: see `SceneModel.decompose_published`."""
        return self.decompose(images, background=False, pictures=False, published=True)

    def decompose_understood(self, images: Input | Sequence[Input]) -> list[Scene]:
        """Without leftovers, in the pictures too: see `SceneModel.decompose_understood`."""
        return self.decompose(images, leftovers=False)

    def render(self, scene: Scene) -> Picture:
        """Draw a scene again, perhaps edited: objects are drawn at their `where_box`, `depth` and `what`."""
        return rendering.render(self, scene)

    def sample(
        self,
        count: int,
        generator: torch.Generator | None = None,
        objects: float | None = None,
        appearance: Appearance = "prior",
    ) -> list[Scene]:
        """Draw scenes from the prior; `objects` sets how many are expected an image.

        Without it there are as many as training images have, where the weights say so (`seen`), or else as the presence
        prior says, which is nearly none. Their looks are the prior's, or like those that were `seen` in training.
        """
        return rendering.sample(self, count, checked_generator(generator), objects, appearance)

    def learn_seen(self, images: Input | Sequence[Input], seed: int = 0) -> None:
        """Note how many objects some training images have and how they look: see `SceneModel.learn_seen`."""
        self.seen = learn(self.decompose(images, background=False, pictures=False), seed)
