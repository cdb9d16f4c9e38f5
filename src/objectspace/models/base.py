"""What training and evaluation may ask of a model, whichever it is.

A model is a torch module whose forward changes no state (batch norm's running averages in training mode excepted):
what is annealed comes in as a `Stage`, randomness from a generator. It gives a frozen `Output` whose terms are per
image, and takes images apart into `Scene`s. Shapes: B images, C H W image.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from objectspace.config import Anneal, ModelConfig, Stage, View
from objectspace.errors import UserError
from objectspace.models.seen import Appearance, Seen
from objectspace.scene import Picture, Scene

Input = Image.Image | str | PathLike[str] | NDArray[Any] | Tensor


@dataclass(frozen=True, kw_only=True)
class Output:
    """What a forward pass gives back."""

    target: Tensor  # (B, C, h, w) what was to be drawn: the images, or patches of them
    reconstruction: Tensor  # (B, C, h, w)
    log_likelihood: Tensor  # (B,)
    kl: Mapping[str, Tensor]  # (B,) each
    penalties: Mapping[str, Tensor]  # (B,) each: what the loss adds beyond the bound
    objects: Tensor  # (B,) present objects
    notes: Mapping[str, Tensor] = field(default_factory=dict)  # (B,) each: worth logging, no part of the loss

    @property
    def elbo(self) -> Tensor:
        """The evidence lower bound of each image: (B,)."""
        return self.log_likelihood - sum(self.kl.values(), torch.zeros_like(self.log_likelihood))

    @property
    def loss(self) -> Tensor:
        """What training makes small, for each image: (B,)."""
        return sum(self.penalties.values(), -self.elbo)


class SceneModel(nn.Module, ABC):
    """A model that takes scenes apart: a subclass says of which config, `class Tiny(SceneModel, config=TinyConfig)`."""

    by_config: ClassVar[dict[type[ModelConfig], type["SceneModel"]]] = {}
    forgotten: ClassVar[frozenset[str]] = frozenset()  # tensors that saved models of before may have, and nobody needs

    config: ModelConfig
    final: Stage  # the annealed values after training: what evaluation uses
    seen: Seen | None = None  # what training images were like, where that is known

    def __init_subclass__(cls, config: type[ModelConfig] | None = None) -> None:
        super().__init_subclass__()
        if config is not None:
            SceneModel.by_config[config] = cls

    def __init__(self, config: ModelConfig, final: Stage | None = None) -> None:
        super().__init__()
        self.config = config
        self.final = final or Anneal().final()

    @classmethod
    def create(cls, config: ModelConfig, anneal: Anneal | None = None, seed: int = 0) -> Self:
        """A fresh model; the global random state is left alone."""
        anneal = anneal or Anneal()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = cls(config, anneal.final())
        model.start(anneal.at(0))
        return model

    def start(self, stage: Stage) -> None:
        """Change how a fresh model starts, given the values with which annealing begins."""

    def start_from(self, images: Tensor, generator: torch.Generator) -> None:
        """Change how a fresh model starts, given some training images (n, C, H, W), bytes in its channel order."""

    def warm_start(
        self, images: Tensor, stage: Stage, *, sample: bool = True, generator: torch.Generator | None = None
    ) -> Output:
        """What a step of the warm start makes small, for models that have one: see `anneal.warm_start`."""
        raise UserError(f"a model of kind {self.config.kind} has no warm start: set anneal.warm_start = 0")

    def after_step(self, terms: Mapping[str, float]) -> None:
        """Take note of a training step's terms, averaged over all images; for objectives that adapt, in buffers."""

    def seeing(self, view: View | None = None) -> Self:
        """The same model, its weights shared, for pictures that are to reach it in another way.

        By default it takes them as they are, as in training, where the data set has done what the view says.
        """
        other = copy.copy(self)
        other.config = self.config.model_copy(update={"view": view or View()})
        return other

    @abstractmethod
    def forward(
        self,
        images: Tensor,
        stage: Stage | None = None,
        *,
        sample: bool = True,
        generator: torch.Generator | None = None,
    ) -> Output:
        """Infer, reconstruct and score images (B, C, H, W) in [0, 1]; `stage=None` means `final`."""

    @abstractmethod
    def decompose(
        self,
        images: Input | Sequence[Input],
        threshold: float = 0.5,
        *,
        background: bool = True,
        pictures: bool = True,
        published: bool = False,
        batch: int = 16,
        tile: bool = False,
        scale: float | None = None,
    ) -> list[Scene]:
        """Take images of any size apart, `batch` at a time; with `tile`, in tiles of the model's size, at a `scale`.

        Without `background` only the objects; without `pictures` only boxes, masks and latents. A model computes
        no more than is asked for, and what is asked for does not depend on what is not. `published` is the rule of the
        published evaluation: every cell above `threshold`, at the latents' own box, whatever it is worth.
        """

    def decompose_published(self, images: Input | Sequence[Input]) -> list[Scene] | None:
        """Objects as the published evaluation counts them: every cell with a presence above one half, none left out.

        An object's `where_box` and its score, the presence probability, are what is measured. None: a model without
        cells, to which that evaluation does not apply.
        """
        return None

    def decompose_understood(self, images: Input | Sequence[Input]) -> list[Scene]:
        """Images taken apart into what the model has learned: what it finds and cannot draw is left out."""
        return [scene.of_understood() for scene in self.decompose(images)]

    def render(self, scene: Scene) -> Picture:
        """Draw a scene again, perhaps edited, where a model can."""
        raise UserError(f"a model of kind {self.config.kind} cannot draw an edited scene: one of cells can")

    @abstractmethod
    def sample(
        self,
        count: int,
        generator: torch.Generator | None = None,
        objects: float | None = None,
        appearance: Appearance = "prior",
    ) -> list[Scene]:
        """Draw scenes from the prior; `objects` sets how many are expected an image, where a model can tell them.

        `appearance` "seen": objects look as in training, where the model says so.
        """

    def learn_seen(self, images: Input | Sequence[Input], seed: int = 0) -> None:
        """Note in `seen` how many objects some training images have and how they look; nothing for most models."""

    @abstractmethod
    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        """The parameters of `foreground` and `background`, or of one of them, which have optimisers of their own."""

    def clip_groups(self) -> list[list[nn.Parameter]]:
        """The parameters whose gradients are clipped together, where a recipe clips them apart."""
        return list(self.parameter_groups().values())

    def save_pretrained(self, directory: str | Path) -> None:
        """Write the model into a folder: config.json and model.safetensors. `objectspace.load` gets it back."""
        from objectspace.models import pretrained  # which knows all models

        pretrained.save_pretrained(self, directory)

    @classmethod
    def from_pretrained(cls, directory: str | Path) -> Self:
        """The model in a folder, in evaluation mode; anything wrong with it is a `UserError`."""
        from objectspace.models import pretrained

        model = pretrained.from_pretrained(directory)
        if not isinstance(model, cls):
            raise UserError(f"the model in {directory} is a {type(model).__name__}, no {cls.__name__}")
        return model
