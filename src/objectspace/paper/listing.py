"""The list of items: what each shows, needs and takes, and what became of it here.

`results.json`, which comes with the package, holds the results that docs/paper.md tells of.
"""

from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from objectspace.errors import UserError
from objectspace.io.files import read_json
from objectspace.paper.declared import Item

RESULTS = "results.json"
HEAD = ("item", "shows", "command", "data", "models", "time here", "time with the paper's settings", "result here")


def known_results() -> dict[str, str]:
    """What became of each item here, by name."""
    with resources.as_file(resources.files("objectspace.paper") / RESULTS) as path:
        return results_in(path)


def results_in(path: Path) -> dict[str, str]:
    """The results in a file."""
    content: Mapping[str, object] = read_json(path)
    results = content.get("results")
    if not isinstance(results, dict):
        raise UserError(f"{path} holds no results")
    return {str(name): str(result) for name, result in results.items()}


def row_of(item: Item, result: str) -> tuple[str, ...]:
    """A row of the list."""
    trained = len(item.models) * item.seeds
    models = ", ".join(dict.fromkeys(model.kind for model in item.models)) or "all four kinds"
    seeds = f", {item.seeds} seeds" if item.seeds > 1 else ""
    return (
        item.name,
        item.shows,
        f"objectspace paper run {item.name} --out DIR",
        ", ".join(item.data) or "none",
        f"{models}{seeds} ({trained})" if trained else models,
        item.here,
        item.there,
        result,
    )
