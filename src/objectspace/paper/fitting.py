"""A recipe's schedule made shorter, so that it ends in the time there is: all its steps times one factor."""

import re
from collections.abc import Mapping
from typing import Any

from objectspace.recipes import files as recipe_files
from objectspace.recipes.recipe import Recipe

LEAST = 0.4  # shorter schedules teach little: such a run has this schedule, and is cut off
LEG = re.compile(r":\((\d+) -> (\d+)\)")
OF_STEPS = {
    "phases": ("background", "warm", "objects", "sharpen"),
    "anneal": ("background_first", "warm_start", "own_background", "evidence_from", "fixed_alpha_steps"),
    "training": ("steps", "watch_from", "validate_every", "save_every", "ladder"),
}


def shortened(recipe: Recipe, factor: float) -> Recipe:
    """The same recipe with all its steps times a factor of at most 1; its numbers otherwise as they are."""
    return recipe if factor >= 1 else recipe_files.build(_at(recipe, factor, least=1), "the shortened recipe")


def timeless(recipe: Recipe) -> dict[str, Any]:
    """A recipe's values without its steps: the same for a recipe and what `shortened` makes of it."""
    return _at(recipe, 0.0, least=0)


def _at(recipe: Recipe, factor: float, least: int) -> dict[str, Any]:
    """A recipe's values with its steps times a factor; no step that counts becomes less than `least`."""

    def scaled(content: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
        def of(key: str, value: Any) -> Any:
            if isinstance(value, str):
                return LEG.sub(leg, value)
            return max(least, round(value * factor)) if key in keys and isinstance(value, int) and value else value

        return {key: of(key, value) for key, value in content.items()}

    def leg(found: re.Match[str]) -> str:
        begin, end = (round(int(step) * factor) for step in found.groups())
        return f":({begin} -> {end})"

    table = recipe.model_dump(mode="json")
    for section, keys in OF_STEPS.items():
        if table.get(section):
            table[section] = scaled(table[section], keys)
    for name in ("foreground", "background"):
        table["training"][name] = scaled(table["training"][name], ("warmup",))
    return table
