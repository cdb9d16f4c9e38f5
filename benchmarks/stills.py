"""The baseline that a model has to beat: a still and its leftover regions. Nothing is learned.

python -m benchmarks.stills DATA [--stills 1] [--train-data DIR] [--split NAME] [--json FILE]

Stills are medians of clusters of training images. In each test image whatever differs from the still that fits it best
is found, and connected pixels of it are objects. A model that is no better has learned nothing.
"""

import argparse
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from torch import Tensor

from objectspace.data.dataset import Dataset, splits_of
from objectspace.errors import UserError
from objectspace.evaluation.evaluate import evaluate
from objectspace.evaluation.report import Number, Report
from objectspace.evaluation.stillness import still_categories
from objectspace.geometry.regions import Region, find_regions
from objectspace.models.parts.stills import SMALL
from objectspace.ops.stills import best_fit, medians, without_small_things
from objectspace.scene import Object, Scene

SIGMA = 0.1  # of the stills, where the best-fitting one is chosen
HALF_SURE = 20  # pixels of a region whose score is one half


def stills_of(dataset: Dataset, count: int, frames: int, seed: int) -> Tensor:
    """Stills (count, C, H, W) of at most so many images of a data set, evenly spread."""
    chosen = np.unique(np.linspace(0, len(dataset) - 1, min(frames, len(dataset))).astype(np.int64))
    if count > len(chosen):
        raise UserError(f"{count} stills need as many images, but there are {len(chosen)} in {dataset.root}")
    images = torch.from_numpy(dataset.batch(chosen)).permute(0, 3, 1, 2)
    return medians(images, count, torch.Generator().manual_seed(seed))[0]


def scenes_of(
    dataset: Dataset, stills: Tensor, threshold: float, least_pixels: int, split: bool, batch: int = 16
) -> Iterator[Scene]:
    """One scene for each image: what differs from the best-fitting of stills (n, C, H, W)."""
    for start in range(0, len(dataset), batch):
        pictures = dataset.batch(np.arange(start, min(start + batch, len(dataset))))
        images = torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 255
        behind = stills[best_fit(images, stills, SIGMA)]
        unexplained = ((images - behind).abs().amax(1) > threshold).numpy()
        for image, still, leftover in zip(images, behind, unexplained, strict=True):
            regions = find_regions(leftover, _picture(image), least_pixels, split=split)
            objects = tuple(to_object(each, leftover.shape) for each in regions)
            background = (_picture(still) * 255).round().astype(np.uint8)
            height, width = leftover.shape
            yield Scene(height, width, objects, background=background)


def _picture(image: Tensor) -> NDArray[np.float32]:
    """(C, H, W) to (H, W, C)."""
    return image.permute(1, 2, 0).numpy()


def to_object(region: Region, shape: tuple[int, ...]) -> Object:
    """A region as an object; a larger one is surer."""
    x0, y0, x1, y1 = region.box
    mask = np.zeros(shape, np.bool_)
    mask[y0:y1, x0:x1] = region.mask
    return Object(region.box, region.box, score=region.area / (region.area + HALF_SURE), mask=mask)


def mean_over_groups(report: Report) -> float:
    """The mean F1 of the games, each counting alike."""
    return float(np.mean([each.visible.f1 or 0.0 for each in report.groups.values()]))


def show(report: Report) -> None:
    """Print the table of all images and of each game, and the recall of each category."""
    console = Console()
    measures = ("F1@0.5", "precision", "recall", "F1@0.3", "AP@0.5", "AP", "count error")
    columns = ("", "images", "objects", "found", *measures)
    table = Table(*columns, box=None, header_style="bold", padding=(0, 2, 0, 0))
    for name, each in {**report.groups, "all": report}.items():
        box = each.visible
        numbers = (box.f1, box.precision, box.recall, box.f1_30, box.ap50, box.ap, each.count_error)
        table.add_row(name, *map(str, (each.images, each.objects, each.predicted)), *map(_number, numbers))
    console.print(table)
    if report.moving is not None:
        box = report.moving.boxes
        named = {"F1@0.5": box.f1, "precision": box.precision, "recall": box.recall}
        console.print("what moves: " + ", ".join(f"{name} {_number(value)}" for name, value in named.items()))
    if report.groups:
        console.print(f"mean F1@0.5 of {len(report.groups)} groups: {mean_over_groups(report):.3f}")
    for name, each in (report.groups or {"": report}).items():
        recalls = sorted((each.visible.recall_by_category or {}).items())
        console.print(f"recall {name}: ".replace(" :", ":") + ", ".join(f"{key} {value:.2f}" for key, value in recalls))


def _number(value: Number) -> str:
    return "-" if value is None else f"{value:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="a data set; its last split of train, val, test is measured")
    parser.add_argument("--stills", type=int, default=1, help="pictures: 1 for one camera or game, 10 to 40 for ten")
    parser.add_argument("--train-data", type=Path, help="the data set whose train split the stills are of; as DATA")
    parser.add_argument("--split", help="the split that is measured")
    parser.add_argument("--size", type=int, help="the side that images are resized to")
    parser.add_argument("--frames", type=int, default=4000, help="training images used, at most")
    parser.add_argument("--threshold", type=float, default=0.1, help="a channel further off than this is left over")
    parser.add_argument("--least-pixels", type=int, default=4, help="smaller regions are left out")
    parser.add_argument("--no-split", action="store_true", help="touching objects are one")
    parser.add_argument("--without", nargs="*", default=[], help="categories that count neither way")
    parser.add_argument(
        "--no-small-things", action="store_true", help="stills without what is small, as in still_things"
    )
    parser.add_argument("--moving", action="store_true", help="measure what moves by itself too, without scenery")
    parser.add_argument("--seed", type=int, default=0, help="of the clusters")
    parser.add_argument("--json", type=Path, help="the file that all numbers go to")
    arguments = parser.parse_args()
    try:
        open_at = partial(Dataset, size=arguments.size)
        stills = stills_of(
            open_at(arguments.train_data or arguments.data, "train"), arguments.stills, arguments.frames, arguments.seed
        )
        if arguments.no_small_things:
            stills = without_small_things(stills, stills.shape[2] // SMALL)
        dataset = open_at(arguments.data, arguments.split or splits_of(arguments.data)[-1])
    except UserError as error:
        parser.error(str(error))
    scenes = scenes_of(dataset, stills, arguments.threshold, arguments.least_pixels, not arguments.no_split)
    still = still_categories(dataset) if arguments.moving else None
    report = evaluate(scenes, dataset, without=arguments.without, still=still)
    show(report)
    if arguments.json:
        arguments.json.write_text(json.dumps(report.to_dict(), indent=2) + "\n")


if __name__ == "__main__":
    main()
