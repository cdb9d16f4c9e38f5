"""Trained models by whatever name they are given: a run's directory, a model's folder, or a shipped model.

Gives what the tables need to know about each without loading it: where its weights are, the recipe and seed it was
trained with, and whether its training went wrong.
"""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from importlib import resources
from pathlib import Path
from typing import Any

from objectspace.errors import UserError
from objectspace.io.files import read_json
from objectspace.models.card import CARD, read_card
from objectspace.models.pretrained import CONFIG, WEIGHTS, read_config
from objectspace.recipes import files as recipe_files
from objectspace.recipes.recipe import Recipe
from objectspace.training.monitor import ADVICE, PATIENCE

NO_WEIGHTS = "has no weights: it is still going on, or was killed; `objectspace train --resume` goes on with it"


@dataclass(frozen=True)
class TrainedModel:
    """A trained model."""

    name: str  # as it was given
    folder: Path  # of its weights
    kind: str
    capacity: str
    size: tuple[int, int]  # of the images it reads
    group: str  # the same for models that differ in their seed only
    seed: int | None = None
    data: Path | None = None  # what it was trained on
    failure: str | None = None  # what went wrong in its training
    remarks: tuple[str, ...] = ()

    @property
    def has_weights(self) -> bool:
        return self.failure != NO_WEIGHTS

    @property
    def fingerprint(self) -> str:
        """The same for the same model: of its two files."""
        digest = blake2b(digest_size=12)
        for file in (CONFIG, WEIGHTS):
            try:
                digest.update((self.folder / file).read_bytes())
            except OSError as error:
                raise UserError(f"cannot read the model in {self.folder}: {error}") from error
        return digest.hexdigest()


def find(name: str, stack: ExitStack) -> TrainedModel:
    """A trained model; `stack` keeps a shipped model's files at hand for as long as it is open."""
    path = Path(name)
    if (path / "recipe.toml").is_file():
        return _of_run(name, path)
    if (path / CONFIG).is_file():
        return _of_folder(name, path)
    shipped = resources.files("objectspace") / "weights"
    if path.name == name and (shipped / name).is_dir():
        return _of_folder(name, stack.enter_context(resources.as_file(shipped / name)))
    there = "it has neither recipe.toml (a run) nor config.json (a model)" if path.exists() else "it does not exist"
    raise UserError(f"there is no run or model {name!r}: {there}; `objectspace models` lists those that ship")


def find_all(names: Sequence[str], stack: ExitStack) -> list[TrainedModel]:
    """The models of all names, each once."""
    return [find(name, stack) for name in dict.fromkeys(names)]


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Names as pictures have room for: the fewest last parts of each path by which all can be told apart."""
    parts = {name: Path(name.removesuffix("/").removesuffix("/model")).parts or (name,) for name in names}
    for count in range(1, max(map(len, parts.values()), default=1)):
        short = {name: "/".join(each[-count:]) for name, each in parts.items()}
        if len(set(short.values())) == len(parts):
            return short
    return {name: name for name in names}


def _of_run(name: str, run: Path) -> TrainedModel:
    recipe = recipe_files.load_run(run)
    if not (run / "summary.json").exists() or not (run / "model" / CONFIG).exists():
        return _described(name, run / "model", recipe, recipe.training.seed, failure=NO_WEIGHTS)
    summary = read_json(run / "summary.json")
    try:
        failure, seed, data = _failure(summary), int(summary["seed"]), Path(summary["data"])
        remarks = tuple(_failed_start(start) for start in summary["failed_starts"])
        ended = f"{summary['ended']} at step {summary['state']['step']} of {summary['steps']}"
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{run / 'summary.json'} is no summary of a run: {error!r}") from error
    if summary["ended"] == "out of time" and failure is None:
        remarks += (ended,)
    return _described(name, run / "model", recipe, seed, data, failure, remarks)


def _of_folder(name: str, folder: Path) -> TrainedModel:
    """Weights without a run; a card beside them tells of the recipe."""
    if (folder / CARD).is_file():
        card = read_card(folder)
        recipe = recipe_files.parse(card.recipe, str(folder / CARD))
        return _described(name, folder, recipe, card.seed)
    config, _ = read_config(folder / CONFIG)
    return TrainedModel(
        name, folder, config.kind, config.capacity, config.image_size, group=f"folder {folder.resolve()}"
    )


def _described(
    name: str,
    folder: Path,
    recipe: Recipe,
    seed: int,
    data: Path | None = None,
    failure: str | None = None,
    remarks: tuple[str, ...] = (),
) -> TrainedModel:
    content = recipe.model_dump(mode="json")
    del content["training"]["seed"]
    group = blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()
    config = recipe.model
    return TrainedModel(
        name, folder, config.kind, config.capacity, config.image_size, group, seed, data, failure, remarks
    )


def _failure(summary: dict[str, Any]) -> str | None:
    """What a summary says went wrong: a collapse that lasted to the end, or an end before the end."""
    lasting = summary["state"]["lasting"]
    collapses = [name for name, times in lasting.items() if times >= PATIENCE and name in ADVICE and ADVICE[name].fatal]
    if collapses:
        return f"collapsed ({', '.join(collapses)})"
    if summary["ended"] == "stopped":
        return f"stopped at step {summary['state']['step']} of {summary['steps']}"
    return None


def _failed_start(start: dict[str, Any]) -> str:
    return f"seed {start['seed']} collapsed ({start['collapse']}) at step {start['step']} and was started anew"
