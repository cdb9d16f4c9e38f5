"""What training and evaluation may ask of a model, whichever it is.

A model is a torch module whose forward changes no state (batch norm's running averages in training mode excepted):
what is annealed comes in as a `Stage`, randomness from a generator. It gives a frozen `Output` whose terms are per
image, and takes images apart into `Scene`s. Shapes: B images, C H W image.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from objectspace.config import Section, Stage
from objectspace.scene import Scene

Input = Image.Image | str | PathLike[str] | NDArray[Any] | Tensor


@dataclass(frozen=True)
class Output:
    """What a forward pass gives back."""

    reconstruction: Tensor  # (B, C, H, W)
    log_likelihood: Tensor  # (B,)
    kl: Mapping[str, Tensor]  # (B,) each
    penalties: Mapping[str, Tensor]  # (B,) each: what the loss adds beyond the bound
    objects: Tensor  # (B,) present objects

    @property
    def elbo(self) -> Tensor:
        """The evidence lower bound of each image: (B,)."""
        return self.log_likelihood - sum(self.kl.values(), torch.zeros_like(self.log_likelihood))

    @property
    def loss(self) -> Tensor:
        """What training makes small, for each image: (B,)."""
        return sum(self.penalties.values(), -self.elbo)


class SceneModel(nn.Module, ABC):
    """A model that takes scenes apart."""

    config: Section
    final: Stage  # the annealed values after training: what evaluation uses

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
        batch: int = 16,
    ) -> list[Scene]:
        """Take images of any size apart, `batch` at a time.

        Without `background` only the objects; without `pictures` only boxes, masks and latents. A model computes
        no more than is asked for, and what is asked for does not depend on what is not.
        """

    @abstractmethod
    def sample(self, count: int, generator: torch.Generator | None = None) -> list[Scene]:
        """Draw scenes from the prior."""

    @abstractmethod
    def save_pretrained(self, directory: str | Path) -> None:
        """Write the model into a folder, from which `objectspace.load` gets it back."""

    @abstractmethod
    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        """The parameters of `foreground` and `background`, which have optimisers of their own."""
