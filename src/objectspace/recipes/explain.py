"""What is wrong with a recipe, said so that whoever wrote it can mend it."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from objectspace.config import ModelConfig
from objectspace.errors import nearest
from objectspace.recipes.recipe import Recipe


def explain(error: ValidationError, content: Mapping[str, Any], where: str) -> str:
    """A line for everything that is wrong with a table of values; `where` says which file it came from."""
    kind = _kind_of(content)
    return "\n".join(_explain(issue, where, kind) for issue in error.errors())


def _kind_of(content: Mapping[str, Any]) -> type[BaseModel]:
    """The config class of the model that a recipe asks for, as well as it can be known."""
    model = content.get("model")
    kind = model.get("kind", "space") if isinstance(model, dict) else "space"
    return ModelConfig.kinds.get(str(kind), ModelConfig)


def _explain(issue: Any, where: str, kind: type[BaseModel]) -> str:
    path = [str(part) for part in issue["loc"]]
    key = ".".join(path) or "the recipe"
    if issue["type"] == "extra_forbidden":
        beside = _keys_beside(path, kind)
        elsewhere = [known for known in _all_keys(Recipe, kind) if known.split(".")[-1] == path[-1]]
        advice = f"did you mean {elsewhere[0]!r}?" if elsewhere else nearest(path[-1], beside)
        return f"{where}: unknown key {key}; {advice} Allowed here: {', '.join(beside)}"
    if issue["type"] == "model_type":
        return f"{where}: {key} is a section, not a value: set its keys, as in {key}.name=value"
    message = str(issue["msg"]).removeprefix("Value error, ")
    given = "" if isinstance(issue["input"], dict) else f" = {issue['input']!r}"
    return f"{where}: {key}{given}: {message}"


def _all_keys(section: type[BaseModel], kind: type[BaseModel], prefix: str = "") -> list[str]:
    """Every key of a section, with the sections in it: training.foreground.rate and so on."""
    keys = []
    for name in section.model_fields:
        keys.append(f"{prefix}{name}")
        inner = _section(section, name, kind)
        if inner is not None:
            keys += _all_keys(inner, kind, f"{prefix}{name}.")
    return keys


def _keys_beside(path: Sequence[str], kind: type[BaseModel]) -> list[str]:
    """The keys that are allowed where the unknown one stands."""
    section: type[BaseModel] = Recipe
    for part in path[:-1]:
        section = _section(section, part, kind) or section
    return list(section.model_fields)


def _section(section: type[BaseModel], name: str, kind: type[BaseModel]) -> type[BaseModel] | None:
    """The section that a key holds, if it is none of the values; a model's is of its `kind`."""
    annotation = section.model_fields[name].annotation
    for option in (annotation, *get_args(annotation)):
        if isinstance(option, type) and issubclass(option, BaseModel):
            return kind if option is ModelConfig else option
    return None
