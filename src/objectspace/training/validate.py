"""A quick look at how good a model is while it trains: the paper's measures on a few held-out images."""

from collections.abc import Sequence

import numpy as np

from objectspace.data.dataset import Dataset
from objectspace.evaluation.boxes import count_errors, paper_ap, paper_ap_range
from objectspace.evaluation.pixels import squared_error
from objectspace.scene import Scene


def measure(scenes: Sequence[Scene], dataset: Dataset) -> dict[str, float]:
    """AP, count error and pixel error of scenes made of the first images; boxes only where the data set has some."""
    numbers = range(len(scenes))
    measures = {
        "val_mse": _squared_error(scenes, dataset),
        "val_objects": float(np.mean([len(scene.found) for scene in scenes])),
    }
    if dataset.object_count:
        visible = [(scene.boxes, scene.scores) for scene in scenes]
        projected = [(scene.where_boxes, scene.scores) for scene in scenes]
        truths = [dataset.visible_boxes(number) for number in numbers]
        whole = [dataset.boxes(number) for number in numbers]
        measures |= {
            "val_ap50": paper_ap(visible, truths, 0.5),
            "val_ap": paper_ap_range(visible, truths),
            "val_count_error": count_errors(visible, truths).error_rate,
            "val_projected_ap50": paper_ap(projected, whole, 0.5),
            "val_projected_ap": paper_ap_range(projected, whole),
        }
    return measures


def _squared_error(scenes: Sequence[Scene], dataset: Dataset) -> float:
    """The squared error of the reconstructions, a mean over images."""
    errors = [
        squared_error(dataset.images[number], scene.reconstruction)
        for number, scene in enumerate(scenes)
        if scene.reconstruction is not None
    ]
    return float(np.mean(errors)) if errors else float("nan")
