"""From scenes and the truth about their images to a `Report`. Knows no model.

Scenes are looked at one by one and forgotten; only their boxes and a few numbers an image are kept.
"""

import time
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from objectspace.evaluation import boxes, masks
from objectspace.evaluation.boxes import Floats, Prediction
from objectspace.evaluation.coco import coco_ap
from objectspace.evaluation.detection import detection
from objectspace.evaluation.pixels import squared_error
from objectspace.evaluation.report import BoxMeasures, Number, Report, defined
from objectspace.rle import Mask
from objectspace.scene import Scene


class Truth(Protocol):
    """What must be known about n images of one size H W; `objectspace.data.Dataset` is such a thing."""

    def __len__(self) -> int: ...
    @property
    def images(self) -> NDArray[np.uint8]: ...  # (n, H, W, 3)
    @property
    def object_count(self) -> int: ...  # none in all images: nothing is annotated
    def visible_boxes(self, index: int) -> Floats: ...  # (m, 4)
    def boxes(self, index: int) -> Floats: ...  # (m, 4) whole objects
    def categories(self, index: int) -> list[str]: ...  # m names
    def masks(self, index: int) -> list[Mask | None]: ...  # m masks (H, W)
    def ground(self, index: int) -> dict[str, Mask]: ...  # named parts of the background (H, W), or none


def evaluate(
    scenes: Iterable[Scene], dataset: Truth, *, indices: Sequence[int] | None = None, iou: float = 0.5
) -> Report:
    """Measure scenes, one for each of the images `indices` (all by default) of a data set, in that order.

    `iou` is the threshold of precision, recall and F1. A data set without a single true object is taken to be
    unlabelled: then only the pixel error is measured.
    """
    begun, tally = time.monotonic(), _Tally(dataset)
    wanted = range(len(dataset)) if indices is None else indices
    if not len(wanted):
        raise ValueError("there is no image to evaluate")
    for count, scene in enumerate(scenes):
        if count == len(wanted):
            raise ValueError(f"there are more scenes than the {len(wanted)} images to evaluate")
        tally.add(scene, wanted[count])
    if tally.images < len(wanted):
        raise ValueError(f"there are {len(wanted)} images to evaluate, but only {tally.images} scenes")
    return tally.report(iou, begun)


class _Tally:
    """What is remembered of the scenes seen so far."""

    def __init__(self, dataset: Truth) -> None:
        self.dataset, self.labelled = dataset, dataset.object_count > 0
        self.images, self.predicted = 0, 0
        self.visible: list[Prediction] = []
        self.projected: list[Prediction] = []
        self.true_visible: list[Floats] = []
        self.true_whole: list[Floats] = []
        self.categories: list[list[str]] = []
        self.errors: list[float] = []
        self.masks: list[masks.MaskScores] = []
        self.all_have_masks = True

    def add(self, scene: Scene, index: int) -> None:
        image = self.dataset.images[index]
        if (scene.height, scene.width) != image.shape[:2]:
            raise ValueError(f"scene {self.images} is {scene.height} x {scene.width}, but its image {image.shape[:2]}")
        self.images += 1
        self.predicted += len(scene.found)
        if scene.reconstruction is not None:
            self.errors.append(squared_error(image, scene.reconstruction))
        if self.labelled:
            self._add_boxes(scene, index)
            self._add_masks(scene, index)

    def _add_boxes(self, scene: Scene, index: int) -> None:
        self.visible.append((scene.boxes, scene.scores))
        self.projected.append((scene.where_boxes, scene.scores))
        self.true_visible.append(self.dataset.visible_boxes(index))
        self.true_whole.append(self.dataset.boxes(index))
        self.categories.append(self.dataset.categories(index))

    def _add_masks(self, scene: Scene, index: int) -> None:
        predicted = masks.partition_of(scene)
        if predicted is None:
            self.all_have_masks = False
        given = self.dataset.masks(index)
        true = [mask for mask in given if mask is not None]
        if predicted is None or len(true) < len(given):
            return
        parts = list(self.dataset.ground(index).values())
        self.masks.append(masks.compare(masks.partition(true, parts, (scene.height, scene.width)), predicted))

    def report(self, iou: float, begun: float) -> Report:
        objects = sum(len(each) for each in self.true_visible)
        # A scene without a part that a measure needs makes the measure unknown: a mean over the others would flatter.
        mse = float(np.mean(self.errors)) if len(self.errors) == self.images else None
        if not self.labelled:
            return Report(self.images, objects, self.predicted, round(time.monotonic() - begun, 3), iou, mse=mse)
        visible, projected = (
            self._measure(predictions, truths, iou)
            for predictions, truths in ((self.visible, self.true_visible), (self.projected, self.true_whole))
        )
        counts = boxes.count_errors(self.visible, self.true_visible)
        some_true_masks = any(not np.isnan(each.mbo) for each in self.masks)
        compared = self.masks if self.all_have_masks and some_true_masks else []
        return Report(
            images=self.images,
            objects=objects,
            predicted=self.predicted,
            seconds=round(time.monotonic() - begun, 3),
            iou=iou,
            visible=visible,
            projected=projected,
            count_error=defined(counts.error_rate),
            accuracy=counts.accuracy,
            overcount=counts.overcount,
            undercount=counts.undercount,
            empty_images=counts.empty,
            mse=mse,
            ari=_mean([each.ari for each in compared]),
            fg_ari=_mean([each.fg_ari for each in compared]),
            miou=_mean([each.miou for each in compared]),
            mbo=_mean([each.mbo for each in compared]),
            background_miou=_mean([each.background_miou for each in compared]),
            mask_images=len(compared),
        )

    def _measure(self, predictions: Sequence[Prediction], truths: Sequence[Floats], iou: float) -> BoxMeasures:
        paper, coco = boxes.paper_aps(predictions, truths), coco_ap(predictions, truths)
        found = detection(predictions, truths, iou, self.categories)
        return BoxMeasures(
            ap50=defined(paper[0]),
            ap=defined(float(np.mean(paper))),
            coco_ap50=defined(coco.ap50),
            coco_ap=defined(coco.ap),
            precision=defined(found.precision),
            recall=defined(found.recall),
            f1=defined(found.f1),
            recall_by_category=dict(found.recall_by_category) or None,
        )


def _mean(values: Sequence[float]) -> Number:
    """The mean over the images for which a measure is defined."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else None
