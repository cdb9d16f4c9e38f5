"""Recipes as files: find, read, override, explain what is wrong, print.

Reads TOML from the package (`recipes/<model>-<data>.toml`) or from a path; gives a `Recipe`.
"""

import re
import tomllib
import warnings
from collections.abc import Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import ValidationError

from objectspace.config.boundary import OLD_KEYS
from objectspace.errors import UserError, nearest
from objectspace.recipes.explain import explain
from objectspace.recipes.phases import MODEL
from objectspace.recipes.recipe import Recipe

Table = dict[str, Any]
NONE = "none"  # TOML has no null
DECIDING = (
    "phases",
    "model.width",
    "model.foreground.sigma",
    "model.background.sigma",
)  # other values follow from them
RENAMED = {
    "training.look_every": "training.validate_every",
    "training.look_images": "training.validate_images",
}  # old keys, which are still read, and what they are called now
JOINED = {f"anneal.{key}": "anneal.boundary" for key in OLD_KEYS}  # those that are one key together


class RenamedKeyWarning(FutureWarning):
    """A recipe or a change of one says a key by its old name."""


def shipped() -> dict[str, Traversable]:
    """The recipes inside the package, by name."""
    files = (file for file in resources.files("objectspace.recipes").iterdir() if file.name.endswith(".toml"))
    return {file.name.removesuffix(".toml"): file for file in sorted(files, key=lambda file: file.name)}


def load(name_or_path: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """A shipped recipe by name, or one from a .toml file, with overrides like `training.steps=500`.

    >>> recipe = load("space-rooms-small-fast", ["training.seed=3"])
    >>> recipe.training.seed, recipe.model.kind, recipe.phases.background
    (3, 'space', 300)
    """
    path, content = _read(str(name_or_path))
    said = [*(key for key in (*RENAMED, *JOINED) if _has(content, key)), *map(_key, overrides)]
    for key in dict.fromkeys(said):
        if key in RENAMED:
            warnings.warn(f"{key} is now called {RENAMED[key]}; the old name is still read", RenamedKeyWarning, 2)
        elif key in JOINED:
            message = f"{key} is now a part of {JOINED[key]}, a schedule of its weight; the old name is still read"
            warnings.warn(message, RenamedKeyWarning, 2)
    return overridden(content, path, overrides)


def overridden(content: Table, path: str, overrides: Sequence[str]) -> Recipe:
    """The recipe of a table of values, with overrides; `path` says in errors where the table is from."""
    recipe = build(content, path)
    if not overrides:
        return recipe
    deciding = [override for override in overrides if override.strip().startswith(DECIDING)]
    if deciding:  # before what follows from them is filled in
        for override in deciding:
            _override(content, override)
        recipe = build(content, path)
    changed = recipe.model_dump(mode="json")  # all of it, so that a change of one value leaves the others as they are
    for override in overrides:
        _override(changed, override)
    return build(changed, path)


def parse(text: str, where: str) -> Recipe:
    """A recipe from its text, as cards and other files quote it; `where` says in errors which file."""
    try:
        return build(tomllib.loads(text), where)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"the recipe in {where} is not valid TOML: {error}") from error


def load_run(run: Path) -> Recipe:
    """The recipe that a run wrote down when it began; nobody typed it, so nothing is said of old names."""
    path, content = _read(str(run / "recipe.toml"))
    return build(content, path)


def build(content: Table, where: str) -> Recipe:
    """Check a table of values, old names included; `where` says in errors which file it came from."""
    try:
        return Recipe.model_validate(_without_none(_by_new_names(content, where)))
    except ValidationError as error:
        raise UserError(explain(error, content, where)) from error


def dump(recipe: Recipe) -> str:
    """The full recipe as TOML, defaults included; it reads back as the same recipe."""
    table = recipe.model_dump(mode="json")
    if recipe.phases is not None:  # an absent key would be filled in again
        _say_none(table, {"model": MODEL} | recipe.phases.plan({"foreground": 0.1, "background": 0.1}))
    return _arrays_on_a_line(tomli_w.dumps(_without_null(table)))


def _read(name: str) -> tuple[str, Table]:
    """What errors call a recipe, and its values."""
    path, text = _find(name)
    try:
        return path, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path} is not valid TOML: {error}") from error


def _find(name: str) -> tuple[str, str]:
    files = shipped()
    if name in files:
        return f"recipe {name}", files[name].read_text(encoding="utf-8")
    if not name.endswith(".toml"):
        raise UserError(f"there is no recipe {name!r}: {nearest(name, list(files))} (a file's name ends in .toml)")
    try:
        return name, Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the recipe {name}: {error}") from error


def _override(content: Table, text: str) -> None:
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise UserError(f"--set {text!r}: write it as section.key=value, as in training.steps=500")
    if any("\ud800" <= character <= "\udfff" for character in text):  # how Python keeps bytes that are no UTF-8
        raise UserError(f"--set {text!r} is not text in UTF-8, which recipes are written in")
    *sections, last = RENAMED.get(_key(text), _key(text)).split(".")
    table = content
    for section in sections:
        table = table.setdefault(section, {})
        if not isinstance(table, dict):
            raise UserError(f"--set {text!r}: {section} is a value, not a section")
    table[last] = _value(value.strip())


def _key(override: str) -> str:
    return override.partition("=")[0].strip()


def _has(content: Table, key: str) -> bool:
    """Whether a table holds a key like training.steps."""
    section, _, last = key.partition(".")
    inner = content.get(section)
    return isinstance(inner, dict) and last in inner


def _by_new_names(content: Table, where: str) -> Table:
    """The same values, the renamed keys by their new names."""
    for old, new in RENAMED.items():
        if not _has(content, old):
            continue
        if _has(content, new):
            raise UserError(f"{where}: {old} is the old name of {new}: give only the new one")
        section, (before, now) = old.split(".")[0], (key.split(".")[1] for key in (old, new))
        inner = {now if key == before else key: value for key, value in content[section].items()}
        content = content | {section: inner}
    return content


def _value(text: str) -> Any:
    """A TOML value; whatever is none is a string, so that schedules and names need no quotes."""
    if text in (NONE, "None"):
        return None
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _say_none(table: Table, planned: Mapping[str, Any]) -> None:
    """Write "none" where a plan would fill in what a recipe leaves out on purpose."""
    for key, value in planned.items():
        if isinstance(value, Mapping):
            if isinstance(table.get(key), dict):
                _say_none(table[key], value)
        elif key in table and table[key] is None:
            table[key] = NONE


def _without_none(value: Any) -> Any:
    """A table in which the word "none" is None, as it is behind --set."""
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items()}
    return None if value == NONE else value


def _without_null(table: Table) -> Table:
    """A table without the keys that are None: TOML has no null, and an absent key is None."""
    inner = {key: _without_null(value) if isinstance(value, dict) else value for key, value in table.items()}
    return {key: value for key, value in inner.items() if value is not None}


def _arrays_on_a_line(text: str) -> str:
    """TOML whose arrays take a line each, where tomli_w gives every item one.

    A line break is never part of a string, where it is escaped; and only within an array a line ends with [ or a comma.
    """
    text = re.sub(r"\[\n *", "[", text)
    text = re.sub(r",\n *\]", "]", text)
    return re.sub(r",\n *", ", ", text)
