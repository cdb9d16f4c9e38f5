"""From a model and a data set to a `Report`: take the images apart, and measure the scenes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from objectspace.data.dataset import Dataset
from objectspace.data.memory_map import MixedSizesError
from objectspace.errors import UserError
from objectspace.io.progress import Progress

if TYPE_CHECKING:
    from objectspace.evaluation.report import Report
    from objectspace.models.base import Input, SceneModel
    from objectspace.models.card import Unexplained
    from objectspace.scene import Scene

BATCH = 16  # images taken apart at a time
Rule = Literal["ours", "published"]


def measure_model(
    model: SceneModel,
    dataset: Dataset,
    limit: int | None = None,
    without: Sequence[str] = (),
    *,
    rule: Rule = "ours",
    moving: bool = False,
) -> Report:
    """Measure a model on a data set, or on its first `limit` images; `objectspace.evaluate` says what is what."""
    from objectspace.evaluation.evaluate import evaluate
    from objectspace.evaluation.stillness import still_categories

    by_cells = model.config.cells > 0 and not model.config.view.scale  # the published rule knows no tiles
    if rule == "published" and not by_cells:
        raise UserError("the published rule counts cells of whole images, and this model has none: leave it out")
    _check_categories(without, dataset)
    if dataset.view is not None:  # whose brightness is stretched already, and which may be tiles already
        model = model.seeing(None if dataset.view.scale else model.config.view.without_stretch)
    indices = range(min(limit or len(dataset), len(dataset)))
    still = still_categories(dataset) if moving else None
    with Progress(f"evaluating {dataset.split}", len(indices)) as progress:
        ours = _scenes(model.decompose, dataset, len(indices)) if rule == "ours" else None
        cells = _scenes(model.decompose_published, dataset, len(indices)) if by_cells else None
        if ours is not None:
            ours = _counted(ours, progress)
        elif cells is not None:
            cells = _counted(cells, progress)
        return evaluate(ours, dataset, indices=indices, without=without, published=cells, still=still)


def open_for(model: SceneModel, data: Path, split: str) -> Dataset:
    """A split as a model is measured on it: at the model's size, or in its own pixels for tiles."""
    view, size = model.config.view, model.config.image_size
    if view.is_plain:
        return Dataset(data, split, size)
    if not view.scale:
        return Dataset(data, split, size, view=view)
    try:
        return Dataset(data, split, view=view.model_copy(update={"scale": 0.0}))
    except MixedSizesError as error:
        raise UserError(f"{error}: this model looks at tiles, so measure images of a size apart") from error


def unexplained_in_training(model: SceneModel, dataset: Dataset, limit: int = 200) -> Unexplained | None:
    """Which share of training images, at most `limit`, a model leaves unexplained; None: it knows no such thing.

    The data set shows what the model was trained on: it is opened at its size and with its view.
    """
    if dataset.view is not None:
        model = model.seeing(None if dataset.view.scale else model.config.view.without_stretch)
    numbers = np.linspace(0, len(dataset) - 1, min(limit, len(dataset))).astype(int).tolist()
    shares: list[float] = []
    with Progress("what is unexplained in training images", len(numbers)) as progress:
        for start in range(0, len(numbers), BATCH):
            some = numbers[start : start + BATCH]
            scenes = model.decompose([dataset.images[number] for number in some], background=False, pictures=False)
            shares += [scene.unexplained_share for scene in scenes if scene.unexplained_share is not None]
            progress.advance(len(some))
    if len(shares) < len(numbers):
        return None
    from objectspace.models.card import Unexplained

    return Unexplained(len(shares), round(float(np.median(shares)), 4), round(float(np.quantile(shares, 0.99)), 4))


def _check_categories(names: Sequence[str], dataset: Dataset) -> None:
    if names:
        known = sorted({name for index in range(len(dataset)) for name in dataset.categories(index)})
        unknown = [name for name in names if name not in known]
        if unknown:
            raise UserError(
                f"without {', '.join(unknown)}: no such category in {dataset.split} of {dataset.root}; "
                f"there are: {', '.join(known)}"
            )


def _scenes(
    decompose: Callable[[Sequence[Input]], list[Scene] | None], dataset: Dataset, count: int
) -> Iterator[Scene]:
    """The first images taken apart, a batch at a time."""
    for start in range(0, count, BATCH):
        yield from decompose(list(dataset.images[start : min(start + BATCH, count)])) or ()


def _counted(scenes: Iterator[Scene], progress: Progress) -> Iterator[Scene]:
    for scene in scenes:
        yield scene
        progress.advance()
