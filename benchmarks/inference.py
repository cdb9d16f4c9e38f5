"""Boxes and masks of images: the fast path against full canvases, the same weights, alternately in one process.

python -m benchmarks.inference [--grid 16] [--batch 8] [--repeats 3]

The weights are random, with the presence bias set so that about 20 cells an image hold an object. The dense version is
measured twice: whole, with all cells' pictures and the background, which is what an implementation runs that has no
other way to get boxes out; and cut down to the cells' alphas, with nothing that masks do not need. All find the same.
"""

import argparse
import time
from collections.abc import Callable
from statistics import median

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.common import bar_plot, report
from benchmarks.dense import DenseSpace
from benchmarks.step import OBJECTS, SIZE, config_for
from objectspace.config import Anneal
from objectspace.models.space import Space
from objectspace.ops.compositing import SHARPNESS
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
        model.foreground.glimpse_decoder.dec_alpha.bias.fill_(4)  # opaque, so that there are masks
    return model


class Dense:
    """Boxes and masks on full canvases with the weights of a `Space`."""

    def __init__(self, model: Space) -> None:
        self.dense = DenseSpace(model.config, model.final).eval()
        self.dense.space.load_state_dict(model.state_dict())

    @torch.inference_mode()
    def __call__(self, images: Tensor, whole: bool) -> list[list[Tensor]]:
        """The masks (H, W) of each image's objects; with `whole` also the reconstruction, which nobody looks at."""
        space = self.dense.space
        front, side = space.foreground, space.foreground.config.glimpse
        cells = front.heads(front.encoder(images), space.final.temperature, False, None)
        present = cells.probability > 0.5  # (B, N)
        (count, channels, height, width), number = images.shape, present.shape[1]
        where = cells.where.flatten(0, 1)
        repeated = images[:, None].expand(-1, number, -1, -1, -1).reshape(-1, channels, height, width)
        grid = F.affine_grid(to_affine(where), [len(where), channels, side, side], align_corners=False)
        glimpses = F.grid_sample(repeated, grid, align_corners=False)
        picture, alpha = front.glimpse_decoder(front.glimpse_encoder(glimpses).chunk(2, dim=1)[0])
        alpha = alpha * present.flatten()[:, None, None, None]
        back = F.affine_grid(to_affine(where, inverse=True), [len(where), 1, height, width], align_corners=False)
        shape = (count, number, -1, height, width)
        alphas = F.grid_sample(alpha, back, align_corners=False).view(shape)
        weights = torch.softmax(SHARPNESS * torch.sigmoid(-cells.depth.value)[..., None, None] * alphas, dim=1)
        if whole:
            pictures = F.grid_sample(picture * alpha, back, align_corners=False).view(shape)
            covered = (weights * alphas).sum(1)
            (weights * pictures).sum(1) + (1 - covered) * space.background(images, False, None).image
        visible = (weights * alphas)[:, :, 0] > 0.5  # (B, N, H, W)
        return [list(visible[image][present[image]]) for image in range(count)]


def fast(model: Space, images: Tensor) -> list[list[Tensor]]:
    scenes = model.decompose(images, background=False, pictures=False, price=None, batch=len(images))
    return [[torch.from_numpy(item.mask.copy()) for item in scene.objects] for scene in scenes]


def check(ours: list[list[Tensor]], theirs: list[list[Tensor]]) -> None:
    """The same pixels belong to objects, but for those that rounding puts on the other side of one half."""
    for left, right in zip(ours, theirs, strict=True):
        covered = [torch.stack(masks).any(0).numpy() for masks in (left, right)]
        assert np.mean(covered[0] != covered[1]) < 1e-3, np.mean(covered[0] != covered[1])


def measure(grid: int, batch: int, repeats: int) -> list[dict[str, object]]:
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
