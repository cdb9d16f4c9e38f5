"""Models that have nothing but components: GENESIS and IODINE.

Each component may be an object, a part of the background, or several of them; the model does not tell. So a scene has
components only, and every component that owns a pixel has a box, tight around the pixels where it has the largest
mask. Shapes: B images, K components, C H W image.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from objectspace.errors import UserError
from objectspace.geometry.boxes import tight_box
from objectspace.models.base import Input, Output, SceneModel
from objectspace.models.inputs import as_list, checked_generator, prepare
from objectspace.models.parts.pictures import Backdrop, Backdrops, evaluating, swap, to_picture, to_size
from objectspace.models.seen import Appearance
from objectspace.scene import Component, Scene


@dataclass(frozen=True, kw_only=True)
class MixtureOutput(Output):
    """The terms, and the components they come from."""

    means: Tensor  # (B, K, C, H, W)
    log_masks: Tensor  # (B, K, 1, H, W), masks sum to one over K

    @property
    def masks(self) -> Tensor:
        """Mixing weights (B, K, 1, H, W)."""
        return self.log_masks.exp()


class MixtureModel(SceneModel):
    """A mixture of components; images (B, C, H, W) in [0, 1], in the channel order of the config."""

    @abstractmethod
    def infer(self, images: Tensor, pictures: bool) -> Backdrops:
        """The components of images, at the posterior means; without `pictures` the masks are enough."""

    @abstractmethod
    def generate(self, generator: torch.Generator | None) -> Backdrops:
        """The components of one image, from the prior."""

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        """All parameters are the background's: there is no foreground."""
        return {"background": list(self.parameters())}

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
        """Take images apart: PIL images, paths, uint8 arrays (H, W, 3) or float tensors (3, H, W) of any sizes.

        A scene has one component for each of the model's, in its order; one that owns no pixel has no box. What is
        background is among them, because the model cannot tell, and for the same reason `threshold`, `background` and
        `published` change nothing. Without `pictures` there are masks and boxes, but no pictures and no reconstruction.
        """
        if tile or scale is not None or self.config.view.scale:
            kind = self.config.kind
            raise UserError(f"a {kind} cannot look at tiles: its components differ by tile; leave tile and scale out")
        if not 0 <= threshold <= 1:
            raise UserError(f"threshold is a probability between 0 and 1, not {threshold}")
        if batch < 1:
            raise UserError(f"batch is how many images are worked on at a time, at least 1, not {batch}")
        inputs, scenes, like = as_list(images), list[Scene](), next(self.parameters())
        with evaluating(self):
            for start in range(0, len(inputs), batch):
                prepared = [
                    prepare(image, self.config.image_size, start + number, self.config.view)
                    for number, image in enumerate(inputs[start : start + batch])
                ]
                stacked = swap(self.config, torch.stack([item.image for item in prepared]).to(like))
                found = self.infer(stacked, pictures)
                for number, item in enumerate(prepared):
                    parts = found.of(number)
                    scenes.append(
                        self._scene(parts if pictures else Backdrop(parts.masks, None), item.height, item.width)
                    )
        return scenes

    def sample(
        self,
        count: int,
        generator: torch.Generator | None = None,
        objects: float | None = None,
        appearance: Appearance = "prior",
    ) -> list[Scene]:
        """Draw scenes from the prior; how many objects they have, and what they look like, cannot be asked for."""
        if appearance != "prior":
            raise UserError(
                f"a model of kind {self.config.kind} has no objects whose appearance could be {appearance!r}"
            )
        if objects is not None:
            raise UserError(
                f"a model of kind {self.config.kind} cannot be asked for {objects:g} objects: leave that out"
            )
        if count < 0:
            raise UserError(f"cannot draw {count} scenes")
        with evaluating(self):
            drawn = (self.generate(checked_generator(generator)) for _ in range(count))
            return [self._scene(each.of(0), *self.config.image_size) for each in drawn]

    def _scene(self, parts: Backdrop, height: int, width: int) -> Scene:
        """The scene of one image's components (K, ...) at the size of the image."""
        owners = to_size(parts.masks, (height, width)).argmax(0).cpu().numpy()
        masks = [owners == number for number in range(len(parts.masks))]
        if parts.means is None:
            return Scene(height, width, components=tuple(Component(mask, None, tight_box(mask)) for mask in masks))
        pictures = [to_picture(self.config, to_size(mean, (height, width))) for mean in parts.means]
        whole = to_size(parts.image, (height, width))
        return Scene(
            height,
            width,
            components=tuple(
                Component(mask, picture, tight_box(mask)) for mask, picture in zip(masks, pictures, strict=True)
            ),
            reconstruction=to_picture(self.config, whole),
        )


def owned(log_masks: Tensor) -> Tensor:
    """How many components have the largest mask somewhere: (B, K, 1, H, W) -> (B,)."""
    owners = log_masks.argmax(1).flatten(1)  # (B, HW)
    return torch.zeros_like(log_masks[:, :, 0, 0, 0]).scatter(1, owners, 1).sum(1)
