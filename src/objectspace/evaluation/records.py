"""What is remembered of a scene and the truth about its image once both are forgotten: boxes and a few numbers."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from objectspace.evaluation import masks
from objectspace.evaluation.boxes import Floats, Prediction
from objectspace.evaluation.ignored import outside
from objectspace.evaluation.pixels import squared_error
from objectspace.geometry.boxes import as_boxes, iou
from objectspace.geometry.rle import Mask
from objectspace.scene import Scene

NOTHING: Prediction = (np.zeros((0, 4)), np.zeros(0))


class GroundTruth(Protocol):
    """What must be known about n images of one size H W; `objectspace.data.Dataset` is such a thing."""

    def __len__(self) -> int: ...
    @property
    def images(self) -> NDArray[np.uint8]: ...  # (n, H, W, 3)
    @property
    def object_count(self) -> int: ...  # none in all images: nothing is annotated
    def visible_boxes(self, index: int) -> Floats: ...  # (m, 4)
    def boxes(self, index: int) -> Floats: ...  # (m, 4) whole objects
    def ignored_boxes(self, index: int) -> Floats: ...  # (r, 4) regions that count neither way
    def categories(self, index: int) -> list[str]: ...  # m names
    def masks(self, index: int) -> list[Mask | None]: ...  # m masks (H, W)
    def ground(self, index: int) -> dict[str, Mask]: ...  # named parts of the background (H, W), or none
    def group(self, index: int) -> str: ...  # a game's name or the like


@dataclass(frozen=True)
class SceneRecord:
    """What is remembered of a scene and its image."""

    group: str
    predicted: int
    error: float | None  # of the pixels; None where the scene has no reconstruction
    visible: Prediction
    projected: Prediction
    published: Prediction  # every cell above one half
    true_visible: Floats  # (m, 4)
    true_whole: Floats  # (m, 4)
    ignored: Floats  # (r, 4)
    categories: list[str]  # m
    has_masks: bool  # whether the scene has some
    masks: masks.MaskScores | None  # None where scene or truth have none


def record(scene: Scene | None, published: Scene | None, dataset: GroundTruth, index: int) -> SceneRecord:
    """Take down a scene and, by the published rule, another of the same image; either may not be asked for."""
    image, labelled = dataset.images[index], dataset.object_count > 0
    for each in (scene, published):
        if each is not None and (each.height, each.width) != image.shape[:2]:
            raise ValueError(f"scene {index} is {each.height} x {each.width}, but its image {image.shape[:2]}")
    none = np.zeros((0, 4))
    shown = None if scene is None else scene.reconstruction
    parts = masks.partition_of(scene) if labelled and scene is not None else None
    return SceneRecord(
        group=dataset.group(index),
        predicted=0 if scene is None else len(scene.found),
        error=None if shown is None else squared_error(image, shown),
        visible=NOTHING if scene is None else (scene.boxes, scene.scores),
        projected=NOTHING if scene is None else (scene.where_boxes, scene.scores),
        published=NOTHING if published is None else (published.where_boxes, published.scores),
        true_visible=dataset.visible_boxes(index) if labelled else none,
        true_whole=dataset.boxes(index) if labelled else none,
        ignored=dataset.ignored_boxes(index) if labelled else none,
        categories=dataset.categories(index) if labelled else [],
        has_masks=parts is not None,
        masks=None if parts is None else _compare_masks(parts, dataset, index),
    )


def leave_out(record: SceneRecord, names: Collection[str], iou: float) -> SceneRecord:
    """A record without the true objects of some categories, and without the boxes that lie on those."""
    out = np.array([name in names for name in record.categories], np.bool_)
    visible = _elsewhere(record.visible, record.true_visible, out, iou)
    return replace(
        record,
        predicted=len(visible[0]),
        visible=visible,
        projected=_elsewhere(record.projected, record.true_whole, out, iou),
        published=_elsewhere(record.published, record.true_whole, out, iou),
        true_visible=record.true_visible[~out],
        true_whole=record.true_whole[~out],
        categories=[name for name in record.categories if name not in names],
        masks=None,
    )


def leave_ignored_out(record: SceneRecord, least: float) -> SceneRecord:
    """A record without the boxes that lie on regions that count neither way: see `ignored.outside`."""
    if not len(record.ignored):
        return record
    visible = outside(record.visible, record.true_visible, record.ignored, least)
    return replace(
        record,
        predicted=len(visible[0]),
        visible=visible,
        projected=outside(record.projected, record.true_whole, record.ignored, least),
        published=outside(record.published, record.true_whole, record.ignored, least),
    )


def _elsewhere(prediction: Prediction, truth: Floats, out: NDArray[np.bool_], least: float) -> tuple[Floats, Floats]:
    """The boxes and scores of a prediction, but for those that lie, by an IoU of `least`, on truths that are `out`.

    Truths are (m, 4), `out` (m,); a box lies on the truth it overlaps most.
    """
    found, scores = as_boxes(prediction[0]), np.asarray(prediction[1], np.float64)
    if not len(found) or not out.any():
        return found, scores
    overlaps = iou(found, truth)  # (n, m)
    kept = ~(out[overlaps.argmax(1)] & (overlaps.max(1) >= least))
    return found[kept], scores[kept]


def _compare_masks(predicted: masks.Partition, dataset: GroundTruth, index: int) -> masks.MaskScores | None:
    given = dataset.masks(index)
    true = [mask for mask in given if mask is not None]
    if len(true) < len(given):
        return None
    parts = list(dataset.ground(index).values())
    return masks.compare(masks.partition(true, parts, dataset.images[index].shape[:2]), predicted)
