"""objectspace: take scenes apart into objects, without labels.

    import objectspace

    model = objectspace.load("space-rooms-small")
    scenes = model.decompose(["room.png"])            # boxes, masks, depth, looks: see `Scene`

    objectspace.train("space-sprites-fast", data="SPRITES", out="RUN")
    report = objectspace.evaluate(objectspace.load("RUN/model"), objectspace.Dataset("SPRITES", "test", 64))

Importing it loads no torch: that comes with the first model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from objectspace.config import ModelConfig
    from objectspace.data.dataset import Dataset
    from objectspace.evaluation.report import Report
    from objectspace.models.base import SceneModel
    from objectspace.recipes.recipe import Recipe
    from objectspace.scene import Scene

__version__ = "0.2.0"
__all__ = ["Dataset", "Scene", "__version__", "create", "evaluate", "load", "train"]

_ELSEWHERE = {"Dataset": "objectspace.data.dataset", "Scene": "objectspace.scene"}  # read when they are asked for


def load(name_or_directory: str | Path) -> SceneModel:
    """A trained model, ready to `decompose` images: by the folder it was saved in, or by the name of a shipped one.

    >>> import numpy, objectspace
    >>> model = objectspace.load("space-sprites")
    >>> scene = model.decompose(numpy.zeros((96, 128, 3), numpy.uint8))[0]  # any size; also files, PIL images, tensors
    >>> scene.height, scene.width, len(scene.objects)
    (96, 128, 0)
    """
    from objectspace.models.pretrained import load as load_model  # torch is loaded only when a model is

    return load_model(name_or_directory)


def create(recipe: str | Path | Recipe | ModelConfig, *, changes: Sequence[str] = (), seed: int = 0) -> SceneModel:
    """A fresh, untrained model of a recipe (its name, a .toml file, or one in memory) or of a model's config.

    `changes` are like `model.foreground.grid=16`, for a recipe by name or from a file.

    >>> import objectspace
    >>> model = objectspace.create("space-sprites-fast", changes=["model.foreground.grid=4"])
    >>> model.config.cells
    16
    """
    from objectspace.models import create as create_model
    from objectspace.recipes.recipe import Recipe

    if isinstance(recipe, (str, Path)):
        recipe = _recipe(recipe, changes)
    if isinstance(recipe, Recipe):
        return create_model(recipe.model, recipe.anneal, seed)
    return create_model(recipe, seed=seed)


def train(
    recipe: str | Path | Recipe,
    data: str | Path,
    out: str | Path,
    *,
    changes: Sequence[str] = (),
    resume: bool = False,
    minutes: float | None = None,
    restarts: int = 0,
) -> dict[str, Any]:
    """Train a model on a data set, as `objectspace train` does; the weights are then in `out`/model, for `load`.

    `recipe` is a recipe's name, a .toml file or a recipe in memory, or "auto": then `data` may be a folder of pictures,
    everything is chosen by looking at them, and the summary has a `verdict`; `restarts` are not for it. `changes` are
    like `training.seed=3`. Gives the summary, which is also in `out`/summary.json: `ended` says how it went,
    `failed_starts` what went wrong before.
    """
    if recipe == "auto":
        from objectspace.auto.run import AutoOptions
        from objectspace.auto.run import train as train_auto

        return train_auto(AutoOptions(Path(data), Path(out), minutes, tuple(changes), resume), print)
    from objectspace.training.run import RunOptions
    from objectspace.training.run import train as run_training

    chosen = _recipe(recipe, changes) if isinstance(recipe, (str, Path)) else recipe
    return run_training(chosen, RunOptions(Path(data), Path(out), resume, minutes, restarts), print)


def evaluate(
    model: SceneModel,
    dataset: Dataset,
    *,
    limit: int | None = None,
    without: Sequence[str] = (),
    rule: Literal["ours", "published"] = "ours",
    moving: bool = False,
) -> Report:
    """Measure a model on a data set, or on its first `limit` images: boxes, counts, masks and pixels.

    Images are taken apart at the size that the data set has; `objectspace evaluate` takes `model.config.image_size`.
    The categories `without` count neither way. By our `rule` the published one is measured too, where the model is of
    cells; with `moving` also what is left without the categories that stand still in the data.
    `Report.to_dict()` has all numbers.

    >>> import objectspace
    >>> from importlib.resources import files
    >>> dataset = objectspace.Dataset(files("objectspace") / "samples" / "sprites", "test", 64)
    >>> report = objectspace.evaluate(objectspace.load("space-sprites"), dataset, limit=2)
    >>> report.images, report.visible.f1 > 0.8
    (2, True)
    """
    from objectspace.measuring import measure_model

    return measure_model(model, dataset, limit, without, rule=rule, moving=moving)


def _recipe(name_or_path: str | Path, changes: Sequence[str]) -> Recipe:
    from objectspace.recipes import files as recipe_files

    return recipe_files.load(name_or_path, changes)


def __getattr__(name: str) -> Any:
    if name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_ELSEWHERE[name]), name)
