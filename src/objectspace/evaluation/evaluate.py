"""From scenes and the truth about their images to a `Report`. Knows no model.

Scenes are looked at one by one and forgotten; only their boxes and a few numbers an image are kept.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from objectspace.evaluation import boxes
from objectspace.evaluation.boxes import Floats, Prediction
from objectspace.evaluation.coco import coco_ap
from objectspace.evaluation.detection import detection
from objectspace.evaluation.records import GroundTruth, SceneRecord, leave_ignored_out, leave_out, record
from objectspace.evaluation.report import BoxMeasures, Number, Report, RuleMeasures, defined
from objectspace.geometry.boxes import as_boxes
from objectspace.scene import Scene

LOOSE = 0.3  # an IoU that forgives a pixel at the edge of something of five pixels


def evaluate(
    scenes: Iterable[Scene] | None,
    dataset: GroundTruth,
    *,
    indices: Sequence[int] | None = None,
    iou: float = 0.5,
    without: Collection[str] = (),
    published: Iterable[Scene] | None = None,
    still: Mapping[str, Collection[str]] | None = None,
) -> Report:
    """Measure scenes, one for each of the images `indices` (all by default) of a data set, in that order.

    `iou` is the threshold of precision, recall and F1. A data set without a single true object is taken to be
    unlabelled: then only the pixel error is measured. Where images are of several groups, such as games, each group has
    a report of its own too. True objects of the categories `without` count neither way: they need not be found, and
    what finds them is not held against the model; masks are not measured then.

    `published` are scenes of the same images with every cell that holds an object (`SceneModel.decompose_published`):
    they are measured as the published evaluation does it, and with `scenes` None they alone. `still` names categories
    for each group: `Report.moving` leaves those out. What is found on the data set's ignored regions counts neither
    way; `Report.strict` counts it.
    """
    begun, labelled = time.monotonic(), dataset.object_count > 0
    wanted = range(len(dataset)) if indices is None else indices
    if not len(wanted):
        raise ValueError("there is no image to evaluate")
    records: list[SceneRecord] = []
    for scene, plain in _together(scenes, published):
        if len(records) == len(wanted):
            raise ValueError(f"there are more scenes than the {len(wanted)} images to evaluate")
        made = record(scene, plain, dataset, wanted[len(records)])
        records.append(leave_out(made, without, iou) if without else made)
    if len(records) < len(wanted):
        raise ValueError(f"there are {len(wanted)} images to evaluate, but only {len(records)} scenes")
    asked = _Asked(
        labelled=labelled,
        iou=iou,
        seconds=round(time.monotonic() - begun, 3),
        ours=scenes is not None,
        published=published is not None,
        strict=any(len(each.ignored) for each in records),
        still=still,
    )
    names = sorted({each.group for each in records})
    report = _report(records, asked)
    if still is not None:
        report = replace(report, still={group: sorted(each) for group, each in still.items()})
    if len(names) < 2:
        return report
    by_group = {name: _report([each for each in records if each.group == name], asked) for name in names}
    return replace(report, groups=by_group)


@dataclass(frozen=True)
class _Asked:
    """What a report is to hold; see `evaluate`."""

    labelled: bool
    iou: float
    seconds: float
    ours: bool
    published: bool
    strict: bool
    still: Mapping[str, Collection[str]] | None


def _together(
    scenes: Iterable[Scene] | None, published: Iterable[Scene] | None
) -> Iterator[tuple[Scene | None, Scene | None]]:
    """The scenes of an image by both rules; None by one that is not asked for."""
    if scenes is not None and published is not None:
        yield from zip(scenes, published, strict=True)
    elif scenes is not None:
        yield from ((scene, None) for scene in scenes)
    elif published is not None:
        yield from ((None, scene) for scene in published)
    else:
        raise ValueError("there are no scenes to evaluate: give scenes, published ones, or both")


def _report(given: Sequence[SceneRecord], asked: _Asked) -> Report:
    records = [leave_ignored_out(each, min(asked.iou, LOOSE)) for each in given]
    objects, predicted = sum(len(each.true_visible) for each in records), sum(each.predicted for each in records)
    report = Report(len(records), objects, predicted, asked.seconds, asked.iou)
    if asked.ours:
        report = replace(report, squared_error=_squared_error(records))
    if not asked.labelled:
        return report
    if asked.published:
        report = replace(report, published=_published(records, asked.iou))
    if not asked.ours:
        return report
    if asked.strict:
        report = replace(report, strict=_visible(given, asked.iou))
    if asked.still is not None:
        moving = [leave_out(each, asked.still.get(each.group, ()), asked.iou) for each in records]
        report = replace(report, moving=_visible(moving, asked.iou))
    return _with_masks(_with_boxes(report, records), records)


def _squared_error(records: Sequence[SceneRecord]) -> Number:
    """None if a scene has no reconstruction: a mean over the others would flatter."""
    errors = [each.error for each in records if each.error is not None]
    return float(np.mean(errors)) if len(errors) == len(records) else None


def _with_boxes(report: Report, records: Sequence[SceneRecord]) -> Report:
    visible = _visible(records, report.iou)
    return replace(
        report,
        visible=visible.boxes,
        projected=_measure(
            [each.projected for each in records],
            [each.true_whole for each in records],
            [each.categories for each in records],
            report.iou,
        ),
        count_error=visible.count_error,
        accuracy=visible.accuracy,
        overcount=visible.overcount,
        undercount=visible.undercount,
        empty_images=sum(not len(each.true_visible) for each in records),
    )


def _with_masks(report: Report, records: Sequence[SceneRecord]) -> Report:
    scores = [each.masks for each in records if each.masks is not None]
    some_true_masks = any(not np.isnan(each.mbo) for each in scores)
    compared = scores if all(each.has_masks for each in records) and some_true_masks else []
    return replace(
        report,
        ari=_mean([each.ari for each in compared]),
        fg_ari=_mean([each.fg_ari for each in compared]),
        miou=_mean([each.miou for each in compared]),
        mbo=_mean([each.mbo for each in compared]),
        background_miou=_mean([each.background_miou for each in compared]),
        mask_images=len(compared),
    )


def _visible(records: Sequence[SceneRecord], iou: float) -> RuleMeasures:
    """Boxes around what can be seen."""
    return _variant([each.visible for each in records], [each.true_visible for each in records], records, iou)


def _published(records: Sequence[SceneRecord], iou: float) -> RuleMeasures:
    """The latents' boxes of every cell above one half, against whole objects."""
    return _variant([each.published for each in records], [each.true_whole for each in records], records, iou)


def _variant(
    predictions: Sequence[Prediction], truths: Sequence[Floats], records: Sequence[SceneRecord], iou: float
) -> RuleMeasures:
    counts = boxes.count_errors(predictions, truths)
    return RuleMeasures(
        objects=sum(len(each) for each in truths),
        predicted=sum(len(as_boxes(found)) for found, _ in predictions),
        boxes=_measure(predictions, truths, [each.categories for each in records], iou),
        count_error=defined(counts.error_rate),
        accuracy=counts.accuracy,
        overcount=counts.overcount,
        undercount=counts.undercount,
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
