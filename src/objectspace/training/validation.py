"""Validation during training: the paper's measures on a few held-out images, their pictures, and the collapse watch.

All of it is about what the model has learned: what is found and not `understood` is in neither measures nor pictures.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from objectspace.data.dataset import Dataset
from objectspace.evaluation.boxes import Floats, count_errors, paper_ap, paper_ap_range
from objectspace.evaluation.evaluate import LOOSE
from objectspace.evaluation.ignored import outside
from objectspace.evaluation.pixels import squared_error
from objectspace.scene import Scene
from objectspace.training import signs
from objectspace.training.directory import writing
from objectspace.training.display import Say
from objectspace.training.distributed import on_rank_zero
from objectspace.training.log import MetricsLog
from objectspace.training.monitor import Collapse, Watch, vitals
from objectspace.training.state import Start, State

PICTURED = 6  # images in latest.png


def validate(start: Start, state: State, log: MetricsLog | None, watch: Watch, say: Say) -> Collapse | None:
    """Measure on held-out images, draw them, and warn; gives a fatal collapse if there is one."""

    def measure_and_log() -> tuple[dict[str, float], list[Collapse], dict[str, int], dict[str, str]]:
        assert log is not None
        with writing(start.run):
            measures, collapses, holding = _validate(start, state, log, watch, say)
        return measures, collapses, dict(watch.lasting), holding

    state.measures, collapses, state.lasting, state.warnings = on_rank_zero(start.fabric, measure_and_log)
    if state.measures.get("val_ap", math.nan) > state.best:  # never true of nan
        state.best, state.best_step = state.measures["val_ap"], state.step
    return next((collapse for collapse in collapses if collapse.fatal), None)


def _validate(
    start: Start, state: State, log: MetricsLog, watch: Watch, say: Say
) -> tuple[dict[str, float], list[Collapse], dict[str, str]]:
    start.objective.eval()
    numbers = range(min(start.recipe.training.validate_images, len(start.held_out)))
    images = [start.held_out.images[number] for number in numbers]
    model = start.model.seeing()  # the data set has them as the model is to see them
    scenes = model.decompose_understood(images)
    published = model.decompose_published(images)
    start.objective.train()
    measures, seen = measure(scenes, start.held_out, published), vitals(scenes)
    log.write(state.step, measures | {"coverage": seen.coverage, "duplicates": seen.duplicates})
    log.picture(state.step, images[:PICTURED], scenes[:PICTURED])
    say("  ".join(f"{name} {value:.3f}" for name, value in measures.items()))
    collapses = watch.check(state.clock, seen)
    for collapse in collapses:
        say(f"warning: {collapse.name}: {collapse.advice}")
        log.write(state.step, {"warning": collapse.name})
    holding: dict[str, str] = {}
    ready = start.recipe.anneal.objects_from
    if state.clock >= signs.first_step(ready):
        settled = state.clock >= (ready or start.recipe.training.watch_from)
        holding = signs.warnings(signs.signs(images, scenes), watch.cells if settled else 0)
        tell(holding, state, log, say)
    return measures, collapses, holding


def tell(found: Mapping[str, str], state: State, log: MetricsLog | None, say: Say) -> None:
    """Say the warnings that did not hold before."""
    for name, text in found.items():
        if name not in state.warnings:
            say(f"warning: {name}: {text}")
            if log is not None:
                log.write(state.step, {"warning": name})


def measure(scenes: Sequence[Scene], dataset: Dataset, published: Sequence[Scene] | None = None) -> dict[str, float]:
    """AP, count error and pixel error of scenes made of the first images; boxes only where the data set has some.

    With `published`, the same images by the published rule (`SceneModel.decompose_published`), that too.
    """
    measures = {
        "val_squared_error": _squared_error(scenes, dataset),
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
