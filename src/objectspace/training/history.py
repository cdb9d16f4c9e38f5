"""A finished run's history, as the card of its weights tells it."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from objectspace.data.dataset import Dataset
from objectspace.errors import UserError
from objectspace.models.base import SceneModel
from objectspace.models.card import Card
from objectspace.recipes import files as recipe_files
from objectspace.training.ladder import describe_choice, with_chosen_background
from objectspace.training.seen import note_seen


def describe(run: Path, name: str, machine: str) -> Card:
    """The card of a finished run's weights: its recipe, data, seed, steps and minutes; nothing measured yet."""
    summary = _read(run / "summary.json")
    if summary["ended"] != "finished":
        raise UserError(f"the run in {run} is {summary['ended']!r}, not finished: go on with --resume")
    given = recipe_files.load_run(run)
    recipe = with_chosen_background(run, given) or given  # as it was trained: with the background that was chosen
    made = Path(summary["data"]) / "dataset.json"
    return Card(
        name=name,
        about=recipe.about,
        recipe=recipe_files.dump(recipe),
        data=recipe.data.made_by,
        data_seed=_read(made)["settings"].get("seed") if made.exists() else None,
        seed=summary["seed"],
        steps=summary["steps"],
        minutes=round(summary["state"]["seconds"] / 60, 1),
        processor_minutes=_minutes(summary["state"].get("processor")),
        machine=machine,
        failed_starts=len(summary["failed_starts"]),
        precision="float16",
        background=describe_choice(run),
    )


def data_of(run: Path) -> Path | None:
    """The data set that a run was trained on, if it is still there."""
    data = Path(_read(run / "summary.json")["data"])
    return data if data.is_dir() else None


def describe_seen(run: Path, model: SceneModel) -> None:
    """Have the weights of a run note what its training images are like, if these are still where they were."""
    data, config = data_of(run), model.config
    if data is not None and (data / "train").is_dir():
        train_set = Dataset(data, "train", config.image_size, config.channels, view=config.view)
        note_seen(model, train_set, _read(run / "summary.json")["seed"])


def measured(card: Card, on: str, metrics: Mapping[str, Any]) -> Card:
    """The card with the plain numbers among the metrics, as precise as they are trustworthy."""
    plain = {key: value for key, value in metrics.items() if value is None or isinstance(value, int | float)}
    rounded = {key: round(value, 4) if isinstance(value, float) else value for key, value in plain.items()}
    return replace(card, measured_on=on, metrics=rounded)


def _minutes(seconds: float | None) -> float | None:
    """None where a run of before did not say."""
    return None if seconds is None else round(seconds / 60, 1)


def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}, which every finished run and data set has: {error}") from error
    return content
