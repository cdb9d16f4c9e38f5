"""The baseline of a model's own background: regions of what that leaves unexplained, without any object learned.

python -m benchmarks.leftover DATA --model NAME [--split NAME] [--json FILE]

This is what the warm start begins with. What objects add to it is what learning them is worth.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

import objectspace
from benchmarks.stills import show, to_object
from objectspace.data.dataset import Dataset, splits_of
from objectspace.errors import UserError
from objectspace.evaluation.evaluate import evaluate
from objectspace.evaluation.stillness import still_categories
from objectspace.geometry.regions import find_regions
from objectspace.models.parts.grid import GridModel
from objectspace.models.parts.targets import LARGEST
from objectspace.scene import Scene


@torch.no_grad()
def scenes_of(model: GridModel, dataset: Dataset, batch: int = 16) -> Iterator[Scene]:
    """One scene for each image: regions of what the background alone does not explain."""
    stage = replace(model.final, background_only=True)
    for start in range(0, len(dataset), batch):
        pictures = dataset.batch(np.arange(start, min(start + batch, len(dataset))))
        images = torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 255
        for picture, left in zip(pictures, model(images, stage, sample=False).unexplained.numpy(), strict=True):
            regions = find_regions(left, picture.astype(np.float32) / 255)
            kept = (each for each in regions if each.area <= LARGEST * left.size)
            height, width = left.shape
            yield Scene(height, width, tuple(to_object(each, left.shape) for each in kept))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="a data set; its last split of train, val, test is measured")
    parser.add_argument("--model", required=True, help="a model's folder, or the name of a shipped one")
    parser.add_argument("--split", help="the split that is measured")
    parser.add_argument("--moving", action="store_true", help="measure what moves by itself too, without scenery")
    parser.add_argument("--json", type=Path, help="the file that all numbers go to")
    arguments = parser.parse_args()
    try:
        model = objectspace.load(arguments.model)
        if not isinstance(model, GridModel) or not model.final.unknown:
            raise UserError(f"{arguments.model} does not know the unknown: take a model that was trained by phases")
        split = arguments.split or splits_of(arguments.data)[-1]
        dataset = Dataset(arguments.data, split, model.config.image_size, model.config.channels)
    except UserError as error:
        parser.error(str(error))
    still = still_categories(dataset) if arguments.moving else None
    report = evaluate(scenes_of(model, dataset), dataset, still=still)
    show(report)
    if arguments.json:
        arguments.json.write_text(json.dumps(report.to_dict(), indent=2) + "\n")


if __name__ == "__main__":
    main()
