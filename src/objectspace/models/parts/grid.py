"""Models whose objects come from the cells of a grid, over a background of their own: SPACE and SPAIR.

Each has its own forward pass and objective. They share how the halves are inferred, what training teaches beyond the
bound, and the way to `Scene`s and back. Shapes: B images, C H W image.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from objectspace.config import Stage
from objectspace.models.base import Input, Output, SceneModel
from objectspace.models.parts import scenes, warm
from objectspace.models.parts.cells import Hints
from objectspace.models.parts.foreground import Foreground, ForegroundOutput
from objectspace.models.parts.initialise import initialise
from objectspace.models.parts.pictures import Backdrops
from objectspace.models.parts.settings import GridConfig
from objectspace.ops.evidence import gains
from objectspace.ops.mixtures import share_of_unknown, with_unknown
from objectspace.scene import Picture, Scene

TAUGHT = 10.0  # how much what presence is taught counts: a few cells of many hold an object


class BackgroundDrawn(Protocol):
    """What a background's forward pass gives."""

    @property
    def image(self) -> Tensor: ...  # (B, C, H, W)
    @property
    def log_density(self) -> Tensor: ...  # (B, C, H, W) of every pixel and channel
    @property
    def kl(self) -> Mapping[str, Tensor]: ...  # (B,) each


@dataclass(frozen=True, kw_only=True)
class GridOutput(Output):
    """The terms, and the two halves they come from."""

    foreground: ForegroundOutput | None  # None: the background learns alone
    background: BackgroundDrawn
    alpha: Tensor  # (B, 1, H, W) the mixing weight: the foreground's own, or the fixed one
    unexplained: Tensor  # (B, H, W) how likely it is that nobody explains a pixel


def as_objects_take_it(background: BackgroundDrawn, stage: Stage) -> tuple[Tensor, dict[str, Tensor]]:
    """The log densities (B, C, H, W) and KL (B,) of a background; detached while it has a bound of its own."""
    density, kl = background.log_density, dict(background.kl)
    if stage.own_background:
        return density.detach(), {name: term.detach() for name, term in kl.items()}
    return density, kl


def flattered(behind: Tensor, sigma: float, unknown: float) -> Tensor:
    """Log densities (B, C, H, W) as if the background drew perfectly what it explains: there is nothing to gain there.

    A ground that is a little off everywhere, such as a gradient behind one colour, is no object.
    """
    explained = share_of_unknown(with_unknown(behind, unknown), unknown) < 0.5  # (B, H, W)
    return behind.masked_fill(explained.unsqueeze(1), -math.log(sigma * math.sqrt(2 * math.pi)))


def teach_presence(
    foreground: ForegroundOutput, worth: Tensor, candidates: Tensor | None, missed: warm.Missed | None = None
) -> Tensor:
    """A term (B,) that teaches presence the posterior which is exact given all other objects.

    There an object is present with probability sigmoid(worth + log odds of the prior), whatever the net says of it: the
    bound's optimum, and cross-entropy leads to it from anywhere, while the bound's own gradient vanishes where presence
    has died. `worth` (M,) is that of the chosen cells' objects. Of the others those that the background explains, being
    no `candidates` (B, N), are absent; the rest learns when it is its turn to be explored. Cells that should hold what
    is `missed` learn from what that would be worth, not from what they hold now.
    """
    logits, chosen = foreground.cells.presence_logits, foreground.objects.chosen

    def taught(cell: Tensor, worth: Tensor) -> Tensor:
        best = torch.sigmoid(worth + foreground.prior.flatten()[cell].logit())
        return F.binary_cross_entropy_with_logits(logits.flatten()[cell], best, reduction="none")

    known = torch.zeros_like(logits, dtype=torch.bool).flatten().index_fill(0, chosen.flat, True)
    terms = taught(chosen.flat, worth)
    if missed is not None:
        others = torch.zeros_like(known).index_fill(0, missed.cell, True)
        terms, known = terms.masked_fill(others[chosen.flat], 0.0), known | others
    known = known.view_as(logits)
    explained = ~known if candidates is None else ~known & ~candidates
    absent = (F.softplus(logits) * explained).sum(1).index_add(0, chosen.image, terms)
    if missed is not None:
        absent = absent.index_add(0, missed.image, taught(missed.cell, missed.worth))
    return TAUGHT * absent


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

    def output(
        self,
        images: Tensor,
        foreground: ForegroundOutput,
        background: BackgroundDrawn,
        alpha: Tensor,
        log_pixel: Tensor,
        kl: Mapping[str, Tensor],
        stage: Stage,
    ) -> GridOutput:
        """What a forward pass gives, for log densities of pixels (B, H, W) and a mixing weight (B, 1, H, W)."""
        unexplained = share_of_unknown(log_pixel.detach(), stage.unknown)
        return GridOutput(
            target=images,
            reconstruction=alpha * foreground.mean + (1 - alpha) * background.image,
            log_likelihood=log_pixel.flatten(1).sum(1),
            kl=kl,
            penalties={"boundary": foreground.boundary},
            objects=(foreground.cells.probability > 0.5).sum(1),
            notes={"unexplained": unexplained.flatten(1).mean(1)},
            foreground=foreground,
            background=background,
            alpha=alpha,
            unexplained=unexplained,
        )

    def taught(
        self, output: GridOutput, hints: Hints, stage: Stage, sample: bool, generator: torch.Generator | None
    ) -> GridOutput:
        """With what training teaches beyond the bound: a background's own bound, regions, presence by evidence."""
        images, foreground, background = output.target, output.foreground, output.background
        assert foreground is not None
        penalties, missed = dict(output.penalties), None
        if stage.own_background:  # which the objects take as it is
            penalties["own_background"] = -self.score_background(images, background, stage).elbo
        if stage.lesson:
            left, cells = hints.unexplained, foreground.cells
            missed = warm.lesson(self, images, output.unexplained, left, cells, stage, sample, generator)
            penalties["lesson"] = stage.lesson * missed.terms
        if stage.presence_by_evidence:
            worth = self._worth(images, foreground, background.log_density.detach(), stage)
            candidates = hints.candidates(self.foreground.cell)
            penalties["presence_by_evidence"] = teach_presence(foreground, worth, candidates, missed)
        return replace(output, penalties=penalties)

    def _worth(self, images: Tensor, foreground: ForegroundOutput, behind: Tensor, stage: Stage) -> Tensor:
        """What the image gains by each object, the others being as they were sampled, less what it costs: (M,)."""
        found, config = foreground.objects, self.config.foreground
        if stage.unexplained_only:
            behind = flattered(behind, self.config.background.sigma_at(stage), stage.unknown)
        gained = gains(
            images,
            behind,
            found.picture,
            found.alpha,
            found.presence,
            found.frame,
            found.depth,
            found.windows,
            foreground.cells.presence.shape[1],  # a patch has fewer than the model
            config.sigma_at(stage),
            stage.unknown,
            config.premultiplied,
            self.config.mixture_epsilon,
        )
        return gained.to(images) - foreground.cost

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
        price: float | None = scenes.PRICE,
        published: bool = False,
        second_look: bool = True,
        leftovers: bool = True,
        batch: int = 16,
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

        What is not asked for is not made. Without `background` there are no components, no background and no
        reconstruction; without `pictures` there are boxes, masks and latents only. What is left stays the same.
        """
        wanted = scenes.Wanted(threshold, price, background, pictures, published, second_look, leftovers)
        return scenes.decompose(self, images, wanted, batch)

    def decompose_published(self, images: Input | Sequence[Input]) -> list[Scene]:
        """Every cell with a presence above one half: see `SceneModel.decompose_published`."""
        return self.decompose(images, background=False, pictures=False, published=True)

    def decompose_understood(self, images: Input | Sequence[Input]) -> list[Scene]:
        """Without leftovers, in the pictures too: see `SceneModel.decompose_understood`."""
        return self.decompose(images, leftovers=False)

    def render(self, scene: Scene) -> Picture:
        """Draw a scene again, perhaps edited: objects are drawn at their `where_box`, `depth` and `what`."""
        return scenes.render(self, scene)

    def sample(self, count: int, generator: torch.Generator | None = None, objects: float | None = None) -> list[Scene]:
        """Draw scenes from the prior; `objects` sets how many are expected an image, in place of the presence prior."""
        return scenes.sample(self, count, generator, objects)
