"""Boxes and masks of images: the fast path against full canvases, the same weights, alternately in one process.

python -m benchmarks.inference [--grid 16] [--batch 8] [--repeats 3]

The weights are random, with the presence bias set so that about 20 cells an image hold an object. The dense version is
measured twice: whole, with all cells' pictures and the reconstruction, which is what an implementation runs that has no
other way to get boxes out; and cut down to the cells that hold an object, with nothing that masks do not need. All find
the same masks: pixels that an object explains better than the others and the background do. Ours also says what each
object is worth.
"""

import argparse
import math
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.common import bar_plot, report
from benchmarks.dense import DenseSpace
from benchmarks.step import OBJECTS, SIZE, config_for
from objectspace.config import Anneal
from objectspace.models.parts.visible import FEWEST, SHARPEST
from objectspace.models.space import Space
from objectspace.ops.compositing import SHARPNESS, SHIFT
from objectspace.ops.geometry import to_affine


def model_for(grid: int, images: Tensor, objects: int = OBJECTS) -> Space:
    """A random model that finds about so many objects in each of the images (B, C, H, W)."""
    model = Space.create(config_for(grid, None), Anneal()).eval()
    head = model.foreground.heads.z_pres_net
    with torch.no_grad():
        torch.nn.init.normal_(head.weight, generator=torch.Generator().manual_seed(1))
        logits = head(model.foreground.encoder(images)).flatten()
        last, next_one = logits.topk(objects * len(images) + 1).values[-2:]
        head.bias -= (last + next_one) / 2  # one half lies between two cells, where rounding cannot move either over it
        opaque = model.foreground.glimpse_decoder.dec_alpha.bias
        assert opaque is not None
        opaque.fill_(4)  # so that there are masks
    return model


class Dense:
    """Boxes and masks on full canvases with the weights of a `Space`."""

    def __init__(self, model: Space) -> None:
        self.dense = DenseSpace(model.config, model.final).eval()
        self.dense.space.load_state_dict(model.state_dict())

    @torch.inference_mode()
    def __call__(self, images: Tensor, whole: bool) -> list[list[Tensor]]:
        """The masks (H, W) of each image's objects; with `whole` all cells are drawn, and the reconstruction too."""
        space = self.dense.space
        front, count, (height, width) = space.foreground, len(images), images.shape[2:]
        cells = front.heads(front.encoder(images), space.final.temperature, False, None)
        present = cells.probability > 0.5  # (B, N)
        chosen = (torch.ones_like(present) if whole else present).flatten().nonzero().flatten()  # (M,)
        image, where = chosen // present.shape[1], cells.where.flatten(0, 1)[chosen]
        picture, alpha = self._glimpses(images[image], where)
        alpha = alpha * present.flatten()[chosen, None, None, None]
        back = F.affine_grid(to_affine(where, inverse=True), [len(where), 1, height, width], align_corners=False)
        alphas = F.grid_sample(alpha, back, align_corners=False)  # (M, 1, H, W)
        pictures = F.grid_sample(picture * alpha, back, align_corners=False)  # (M, C, H, W)
        nearness = SHARPNESS * torch.sigmoid(-cells.depth.value.flatten()[chosen])[:, None, None, None]
        weights, empty = torch.exp(nearness * alphas - SHIFT), math.exp(-SHIFT)  # what no cell reaches weighs exp(0)
        drawn = torch.bincount(image, minlength=count)[:, None, None, None]
        total = weights.new_zeros(count, 1, height, width).index_add(0, image, weights)
        shares = weights / (total + (present.shape[1] - drawn) * empty)[image]
        behind = space.background(images, False, None)
        covered = torch.zeros_like(total).index_add(0, image, shares * alphas)
        if whole:
            torch.zeros_like(images).index_add(0, image, shares * pictures) + (1 - covered) * behind.image
        colours = pictures / alphas.clamp(min=1e-6)
        components = (behind.log_masks.exp() * _density(images[:, None], behind.means)).sum(1)
        ground = (1 - covered).clamp(min=0) * components
        owned = _owned(shares * alphas * _density(images[image], colours), ground, image)  # (M, 1, H, W)
        total = (alphas * owned).sum((2, 3), keepdim=True)
        seen = (alphas * owned * images[image]).sum((2, 3), keepdim=True) / total.clamp(min=FEWEST)
        colours = torch.where(total < FEWEST, colours, torch.lerp(seen, colours, alphas))  # of what is hardly drawn
        visible = _owned(shares * alphas * _density(images[image], colours), ground, image)[:, 0]
        return [list(visible[(image == number) & present.flatten()[chosen]]) for number in range(count)]

    def _glimpses(self, images: Tensor, where: Tensor) -> tuple[Tensor, Tensor]:
        """Pictures (M, C, g, g) and alphas (M, 1, g, g) of what is in images (M, C, H, W) at `where` (M, 4)."""
        front = self.dense.space.foreground
        shape = [len(where), images.shape[1], front.config.glimpse, front.config.glimpse]
        glimpses = F.grid_sample(
            images, F.affine_grid(to_affine(where), shape, align_corners=False), align_corners=False
        )
        picture, alpha = front.glimpse_decoder(front.glimpse_encoder(glimpses).chunk(2, dim=1)[0])
        return picture, alpha


def _owned(explains: Tensor, ground: Tensor, image: Tensor) -> Tensor:
    """Which pixels (M, 1, H, W) objects explain better than all else does together, `ground` (B, 1, H, W) included."""
    return explains > 0.5 * ground.index_add(0, image, explains)[image]


def _density(values: Tensor, mean: Tensor) -> Tensor:
    """exp of minus half the squared distance of all channels, in units of `SHARPEST`: (..., C, H, W) to one channel."""
    return torch.exp(-(values - mean).square().sum(-3, keepdim=True) / (2 * SHARPEST**2))


def fast(model: Space, images: Tensor) -> list[list[Tensor]]:
    scenes = model.decompose(images, background=False, pictures=False, price=None, batch=len(images))
    return [[torch.from_numpy(item.mask.copy()) for item in scene.objects if item.mask is not None] for scene in scenes]


def check(ours: list[list[Tensor]], theirs: list[list[Tensor]]) -> None:
    """The same objects own the same pixels, but for those that rounding puts on the other side of one half."""
    for left, right in zip(ours, theirs, strict=True):
        for mine, other in zip(left, right, strict=True):
            assert np.mean(mine.numpy() != other.numpy()) < 1e-3, np.mean(mine.numpy() != other.numpy())


def measure(grid: int, batch: int, repeats: int) -> list[dict[str, Any]]:
    torch.manual_seed(0)
    images = torch.rand(batch, 3, SIZE, SIZE)
    model = model_for(grid, images)
    dense = Dense(model)
    ways: dict[str, Callable[[], list[list[Tensor]]]] = {
        "dense, whole": lambda: dense(images, whole=True),
        "dense, masks only": lambda: dense(images, whole=False),
        "ours": lambda: fast(model, images),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    found: dict[str, list[list[Tensor]]] = {}
    for round_number in range(repeats + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            found[name] = way()
            if round_number:  # the first one warms up
                times[name].append(time.perf_counter() - start)
    check(found["ours"], found["dense, masks only"])
    check(found["ours"], found["dense, whole"])
    rates = {name: batch / median(seconds) for name, seconds in times.items()}
    objects = float(np.mean([len(masks) for masks in found["dense, whole"]]))
    return [
        {
            "path": name,
            "grid": grid,
            "objects": objects,
            "images/s": rate,
            "ours is faster by": rates["ours"] / rate,
        }
        for name, rate in rates.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grid", type=int, default=16)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    rows = measure(arguments.grid, arguments.batch, arguments.repeats)
    report("inference", rows)
    bar_plot("inference", [str(row["path"]) for row in rows], [row["images/s"] for row in rows], "images a second")


if __name__ == "__main__":
    main()
