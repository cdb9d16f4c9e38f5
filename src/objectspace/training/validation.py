"""A quick look at how good a model is while it trains: the paper's measures on a few held-out images."""

from collections.abc import Sequence

import numpy as np

from objectspace.data.dataset import Dataset
from objectspace.evaluation.boxes import Floats, count_errors, paper_ap, paper_ap_range
from objectspace.evaluation.evaluate import LOOSE
from objectspace.evaluation.ignored import outside
from objectspace.evaluation.pixels import squared_error
from objectspace.scene import Scene


def measure(scenes: Sequence[Scene], dataset: Dataset, published: Sequence[Scene] | None = None) -> dict[str, float]:
    """AP, count error and pixel error of scenes made of the first images; boxes only where the data set has some.

    With `published`, the same images by the published rule (`SceneModel.decompose_published`), that too.
    """
    measures = {
        "val_mse": _squared_error(scenes, dataset),
        "val_objects": float(np.mean([len(scene.found) for scene in scenes])),
    }
    if dataset.object_count:
        truths = [dataset.visible_boxes(number) for number in range(len(scenes))]
        whole = [dataset.boxes(number) for number in range(len(scenes))]
        visible = _predictions([scene.boxes for scene in scenes], scenes, truths, dataset)
        projected = _predictions([scene.where_boxes for scene in scenes], scenes, whole, dataset)
        measures |= {
            "val_ap50": paper_ap(visible, truths, 0.5),
            "val_ap": paper_ap_range(visible, truths),
            "val_count_error": count_errors(visible, truths).error_rate,
            "val_projected_ap50": paper_ap(projected, whole, 0.5),
            "val_projected_ap": paper_ap_range(projected, whole),
        }
        if published is not None:
            cells = _predictions([scene.where_boxes for scene in published], published, whole, dataset)
            measures |= {
                "val_published_ap50": paper_ap(cells, whole, 0.5),
                "val_published_ap": paper_ap_range(cells, whole),
                "val_published_count_error": count_errors(cells, whole).error_rate,
            }
    return measures


def _predictions(
    boxes: Sequence[Floats], scenes: Sequence[Scene], truths: Sequence[Floats], dataset: Dataset
) -> list[tuple[Floats, Floats]]:
    """Boxes and scores of every image, without what lies on regions that count neither way."""
    rows = zip(boxes, scenes, truths, strict=True)
    return [
        outside((found, scene.scores), truth, dataset.ignored_boxes(number), LOOSE)
        for number, (found, scene, truth) in enumerate(rows)
    ]


def _squared_error(scenes: Sequence[Scene], dataset: Dataset) -> float:
    """The squared error of the reconstructions, a mean over images."""
    errors = [
        squared_error(dataset.images[number], scene.reconstruction)
        for number, scene in enumerate(scenes)
        if scene.reconstruction is not None
    ]
    return float(np.mean(errors)) if errors else float("nan")
