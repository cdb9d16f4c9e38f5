"""From scenes and the truth about their images to a `Report`. Knows no model.

Scenes are looked at one by one and forgotten; only their boxes and a few numbers an image are kept.
"""

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
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

LOOSE = 0.3  # an IoU that forgives a pixel at the edge of something of five pixels


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
    def group(self, index: int) -> str: ...  # a game's name or the like


def evaluate(
    scenes: Iterable[Scene],
    dataset: Truth,
    *,
    indices: Sequence[int] | None = None,
    iou: float = 0.5,
    without: Collection[str] = (),
) -> Report:
    """Measure scenes, one for each of the images `indices` (all by default) of a data set, in that order.

    `iou` is the threshold of precision, recall and F1. A data set without a single true object is taken to be
    unlabelled: then only the pixel error is measured. Where images are of several groups, such as games, each group has
    a report of its own too. True objects of the categories `without` count neither way: they need not be found, and
    what finds them is not held against the model; masks are not measured then.
    """
    begun, labelled = time.monotonic(), dataset.object_count > 0
    wanted = range(len(dataset)) if indices is None else indices
    if not len(wanted):
        raise ValueError("there is no image to evaluate")
    records: list[_Record] = []
    for scene in scenes:
        if len(records) == len(wanted):
            raise ValueError(f"there are more scenes than the {len(wanted)} images to evaluate")
        record = _record(scene, dataset, wanted[len(records)], labelled)
        records.append(_leave_out(record, without, iou) if without else record)
    if len(records) < len(wanted):
        raise ValueError(f"there are {len(wanted)} images to evaluate, but only {len(records)} scenes")
    seconds = round(time.monotonic() - begun, 3)
    names = [dataset.group(index) for index in wanted]
    report = _report(records, labelled, iou, seconds)
    if len(set(names)) < 2:
        return report
    by_group = {
        name: _report([each for each, own in zip(records, names, strict=True) if own == name], labelled, iou, seconds)
        for name in sorted(set(names))
    }
    return replace(report, groups=by_group)


@dataclass(frozen=True)
class _Record:
    """What is remembered of a scene and its image."""

    predicted: int
    error: float | None  # of the pixels; None where the scene has no reconstruction
    visible: Prediction
    projected: Prediction
    true_visible: Floats  # (m, 4)
    true_whole: Floats  # (m, 4)
    categories: list[str]  # m
    has_masks: bool  # whether the scene has some
    masks: masks.MaskScores | None  # None where scene or truth have none


def _record(scene: Scene, dataset: Truth, index: int, labelled: bool) -> _Record:
    image = dataset.images[index]
    if (scene.height, scene.width) != image.shape[:2]:
        raise ValueError(f"scene {index} is {scene.height} x {scene.width}, but its image {image.shape[:2]}")
    none = np.zeros((0, 4))
    predicted = masks.partition_of(scene) if labelled else None
    return _Record(
        predicted=len(scene.found),
        error=None if scene.reconstruction is None else squared_error(image, scene.reconstruction),
        visible=(scene.boxes, scene.scores),
        projected=(scene.where_boxes, scene.scores),
        true_visible=dataset.visible_boxes(index) if labelled else none,
        true_whole=dataset.boxes(index) if labelled else none,
        categories=dataset.categories(index) if labelled else [],
        has_masks=predicted is not None,
        masks=None if predicted is None else _compare_masks(predicted, dataset, index),
    )


def _leave_out(record: _Record, names: Collection[str], iou: float) -> _Record:
    """A record without the true objects of some categories, and without the boxes that lie on those."""
    out = np.array([name in names for name in record.categories], np.bool_)
    visible = _elsewhere(record.visible, record.true_visible, out, iou)
    return replace(
        record,
        predicted=len(visible[0]),
        visible=visible,
        projected=_elsewhere(record.projected, record.true_whole, out, iou),
        true_visible=record.true_visible[~out],
        true_whole=record.true_whole[~out],
        categories=[name for name in record.categories if name not in names],
        masks=None,
    )


def _elsewhere(prediction: Prediction, truth: Floats, out: NDArray[np.bool_], least: float) -> tuple[Floats, Floats]:
    """The boxes and scores of a prediction, but for those that lie, by an IoU of `least`, on truths that are `out`.

    Truths are (m, 4), `out` (m,); a box lies on the truth it overlaps most.
    """
    found, scores = boxes.as_boxes(prediction[0]), np.asarray(prediction[1], np.float64)
    if not len(found) or not out.any():
        return found, scores
    overlaps = boxes.iou(found, truth)  # (n, m)
    kept = ~(out[overlaps.argmax(1)] & (overlaps.max(1) >= least))
    return found[kept], scores[kept]


def _compare_masks(predicted: masks.Partition, dataset: Truth, index: int) -> masks.MaskScores | None:
    given = dataset.masks(index)
    true = [mask for mask in given if mask is not None]
    if len(true) < len(given):
        return None
    parts = list(dataset.ground(index).values())
    return masks.compare(masks.partition(true, parts, dataset.images[index].shape[:2]), predicted)


def _report(records: Sequence[_Record], labelled: bool, iou: float, seconds: float) -> Report:
    objects, predicted = sum(len(each.true_visible) for each in records), sum(each.predicted for each in records)
    # A scene without a part that a measure needs makes the measure unknown: a mean over the others would flatter.
    errors = [each.error for each in records if each.error is not None]
    mse = float(np.mean(errors)) if len(errors) == len(records) else None
    if not labelled:
        return Report(len(records), objects, predicted, seconds, iou, mse=mse)
    categories = [each.categories for each in records]
    visible, true_visible = [each.visible for each in records], [each.true_visible for each in records]
    projected, true_whole = [each.projected for each in records], [each.true_whole for each in records]
    counts = boxes.count_errors(visible, true_visible)
    scores = [each.masks for each in records if each.masks is not None]
    some_true_masks = any(not np.isnan(each.mbo) for each in scores)
    compared = scores if all(each.has_masks for each in records) and some_true_masks else []
    return Report(
        images=len(records),
        objects=objects,
        predicted=predicted,
        seconds=seconds,
        iou=iou,
        visible=_measure(visible, true_visible, categories, iou),
        projected=_measure(projected, true_whole, categories, iou),
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


def _measure(
    predictions: Sequence[Prediction], truths: Sequence[Floats], categories: Sequence[Sequence[str]], iou: float
) -> BoxMeasures:
    paper, coco = boxes.paper_aps(predictions, truths), coco_ap(predictions, truths)
    found = detection(predictions, truths, iou, categories)
    return BoxMeasures(
        ap50=defined(paper[0]),
        ap=defined(float(np.mean(paper))),
        coco_ap50=defined(coco.ap50),
        coco_ap=defined(coco.ap),
        precision=defined(found.precision),
        recall=defined(found.recall),
        f1=defined(found.f1),
        f1_30=defined(detection(predictions, truths, LOOSE).f1),
        recall_by_category=dict(found.recall_by_category) or None,
    )


def _mean(values: Sequence[float]) -> Number:
    """The mean over the images for which a measure is defined."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else None
