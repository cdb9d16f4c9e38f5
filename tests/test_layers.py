"""Who may know whom: the rooms of the house, kept apart (docs/tour.md).

A rule reads the whole package as source texts by file name and says what breaks it, so that it can be shown to break:
every rule is tried on the package as it is and with a forbidden import planted in it.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "objectspace"
BASE = {"errors", "io", "geometry"}

# room -> the rooms of this package that it may import
ALLOWED = {
    "errors": set(),
    "io": {"errors"},
    "geometry": {"errors"},
    "scene": {"errors", "geometry"},
    "ops": set(),
    "nn": {"ops"},
    "config": {"errors", "ops"},
    "data": BASE | {"scene"},
    "models": BASE | {"config", "scene", "ops", "nn"},
    "recipes": {"config", "errors", "models", "ops"},
    "training": BASE | {"config", "scene", "models", "recipes", "data", "evaluation", "reports"},
    "auto": BASE | {"config", "scene", "models", "recipes", "training", "data", "evaluation", "reports"},
    "evaluation": BASE | {"scene"},
    "reports": BASE | {"scene", "evaluation"},
    "measuring": BASE | {"scene", "data", "models", "evaluation"},
    "plugins": {"errors", "config", "models"},
    "compare": BASE
    | {"config", "scene", "data", "models", "training", "evaluation", "reports", "recipes", "plugins", "measuring"},
    "paper": BASE | {"config", "scene", "data", "models", "training", "reports", "recipes", "measuring", "compare"},
    "video": BASE | {"scene", "reports", "results"},
    "results": BASE | {"scene", "models", "reports", "labels", "video"},
    "labels": BASE | {"scene", "models", "reports", "results"},
    "rl": {"errors", "scene", "data", "video"},
}
TOP = {"__init__", "__main__", "cli"}  # may import all but the command line
NOBODY_IMPORTS = {"cli", "app"}
ONLY_TORCH = {"ops", "nn"}
PLAIN = {"collections", "dataclasses", "functools", "itertools", "math", "re", "typing"}
KNOW_ALL_MODELS = {"models/__init__.py", "models/official.py", "models/pretrained.py"}

Files = Mapping[str, str]  # texts by name, as in models/space.py
Breaches = Iterator[str]

PACKAGE: Files = {
    path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py"))
}


def room_of(file: str) -> str:
    return file.partition("/")[0].removesuffix(".py")


def of_rooms(files: Files, *rooms: str) -> Iterator[tuple[str, str]]:
    return ((file, text) for file, text in files.items() if room_of(file) in rooms)


@cache  # every rule reads nearly every file, again for each plant
def nodes_of(text: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(text)))


@cache
def imports_of(text: str) -> frozenset[str]:
    """The dotted names of all that a file imports, anywhere in it; a relative import begins with a dot."""
    names: set[str] = set()
    for node in nodes_of(text):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names}
    return frozenset(names)


def rooms_imported(text: str) -> set[str]:
    """The rooms that a file imports; the whole package counts as one, called objectspace."""
    ours = (name.split(".") for name in imports_of(text) if name.split(".")[0] == "objectspace")
    return {parts[1] if len(parts) > 1 else parts[0] for parts in ours} - {"__version__"}


def models_among(files: Files) -> set[str]:
    """The modules that declare a kind of model, `class Space(..., config=...)`, by their names in models/."""
    return {
        file.removeprefix("models/").removesuffix(".py")
        for file, text in of_rooms(files, "models")
        for node in nodes_of(text)
        if isinstance(node, ast.ClassDef) and any(keyword.arg == "config" for keyword in node.keywords)
    }


def every_room_has_its_rule(files: Files) -> Breaches:
    for file in files:
        if room_of(file) not in ALLOWED.keys() | TOP:
            yield f"{file}: say in ALLOWED what the room {room_of(file)} may import"


def imports_are_absolute(files: Files) -> Breaches:
    for file, text in files.items():
        for name in imports_of(text):
            if name.startswith("."):
                yield f"{file} imports {name}"


def a_room_imports_only_what_it_may_know(files: Files) -> Breaches:
    for file, text in of_rooms(files, *ALLOWED):
        for room in rooms_imported(text) - ALLOWED[room_of(file)] - {room_of(file)}:
            yield f"{file} imports {room}"


def nobody_imports_the_command_line(files: Files) -> Breaches:
    for file, text in files.items():
        if room_of(file) not in NOBODY_IMPORTS | {"__main__"}:
            for room in rooms_imported(text) & NOBODY_IMPORTS:
                yield f"{file} imports {room}"


def no_model_and_no_part_imports_a_model(files: Files) -> Breaches:
    """Only what must know all models does; the package `models` itself holds them all."""
    models = models_among(files)
    for file, text in of_rooms(files, "models"):
        if file in KNOW_ALL_MODELS:
            continue
        for name in imports_of(text):
            if name in ("objectspace", "objectspace.models"):
                yield f"{file} imports {name}"
            elif name.startswith("objectspace.models."):
                module = name.split(".")[2]
                plain = f"models/{module}.py" in files and module not in models
                if not plain and module != "parts":
                    yield f"{file} imports {name}"


def training_knows_models_by_their_protocol_only(files: Files) -> Breaches:
    for file, text in of_rooms(files, "training"):
        for name in imports_of(text):
            known = name == "objectspace.models.create" or name.startswith("objectspace.models.base.")
            known = known or name.startswith("objectspace.models.card.") or name.endswith("Config")  # what can be set
            if f"{name}.".startswith("objectspace.models.") and not known:
                yield f"{file} imports {name}"


def tensor_functions_touch_no_files_and_print_nothing(files: Files) -> Breaches:
    for file, text in of_rooms(files, *ONLY_TORCH):
        for name in imports_of(text):
            if name.split(".")[0] not in PLAIN | {"objectspace", "torch"}:
                yield f"{file} imports {name}"
        for node in nodes_of(text):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                if name in ("print", "open", "torch.load", "torch.save"):
                    yield f"{file} calls {name}"


def generating_data_does_not_load_torch(files: Files) -> Breaches:
    """Workers start in a moment only because the data modules, and what they import, leave torch alone."""
    for file, text in of_rooms(files, "data", *ALLOWED["data"]):
        for name in imports_of(text):
            if name.split(".")[0] in ("torch", "lightning_fabric", "safetensors"):
                yield f"{file} imports {name}"


Rule = Callable[[Files], Breaches]
RULES: dict[Rule, list[tuple[str, str]]] = {  # each with what breaks it: a file, and what is planted in it
    every_room_has_its_rule: [("attic.py", ""), ("cellar/__init__.py", "")],
    imports_are_absolute: [
        ("models/space.py", "from .base import Output"),
        ("data/store.py", "from . import truth"),
        ("ops/geometry.py", "def late():\n    from ..models import base"),
    ],
    a_room_imports_only_what_it_may_know: [
        *((f"{room}/planted.py", "import objectspace.cli.demo") for room in sorted(ALLOWED)),
        ("errors.py", "import objectspace"),
        ("data/store.py", "from objectspace.models.base import Output"),
        ("models/base.py", "from objectspace.data.dataset import Dataset"),
        ("evaluation/boxes.py", "from objectspace import models"),
        ("reports/html.py", "def late():\n    import objectspace.training.loop"),
        ("config/base.py", "if TYPE_CHECKING:\n    from objectspace.models import Space"),
    ],
    nobody_imports_the_command_line: [
        ("results/directory.py", "from objectspace.cli.shared import resumable"),
        ("__init__.py", "import objectspace.cli"),
        ("labels/names.py", "from objectspace import cli"),
        ("training/run.py", "from objectspace.app import page"),
    ],
    no_model_and_no_part_imports_a_model: [
        ("models/spair.py", "from objectspace.models.space import Space"),
        ("models/genesis.py", "from objectspace.models import iodine"),
        ("models/iodine.py", "from objectspace.models import Space"),
        ("models/space.py", "import objectspace.models.spair"),
        ("models/space.py", "from objectspace import models"),
        ("models/base.py", "def late():\n    from objectspace.models.space import Space"),
        ("models/inputs.py", "from objectspace.models.genesis import Genesis"),
        ("models/parts/grid.py", "if TYPE_CHECKING:\n    from objectspace.models.space import Space"),
        ("models/parts/teaching.py", "from objectspace.models.spair import Spair"),
    ],
    training_knows_models_by_their_protocol_only: [
        ("training/loop.py", "from objectspace.models.space import Space"),
        ("training/step.py", "from objectspace.models import Space"),
        ("training/run.py", "import objectspace.models"),
        ("training/state.py", "from objectspace import models"),
        ("training/monitor.py", "from objectspace.models.parts import grid"),
        ("training/validation.py", "from objectspace.models.parts.found import score"),
        ("training/ground.py", "def late():\n    import objectspace.models.parts.leftovers"),
    ],
    tensor_functions_touch_no_files_and_print_nothing: [
        ("ops/geometry.py", "import pathlib"),
        ("nn/stacks.py", "from numpy import array"),
        ("nn/stacks.py", "print('here')"),
        ("ops/stills.py", "def late(path):\n    return open(path)"),
        ("ops/stills.py", "torch.save({}, 'still.pt')"),
    ],
    generating_data_does_not_load_torch: [
        ("data/generate.py", "import torch"),
        ("data/atari/play.py", "def late():\n    from torch import nn"),
        *((f"{room}/planted.py", "import torch.nn.functional as F") for room in sorted(ALLOWED["data"])),
    ],
}
PLANTS = [(rule, file, text) for rule, plants in RULES.items() for file, text in plants]


def test_there_are_files_to_check() -> None:
    assert len(PACKAGE) > 10
    assert {"genesis", "iodine", "space", "spair"} <= models_among(PACKAGE)
    assert {room_of(file) for file in PACKAGE} >= ALLOWED.keys()
    assert all(RULES.values()), "a rule that nothing is planted for may be one that cannot break"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_holds(rule: Rule) -> None:
    assert list(rule(PACKAGE)) == []


@pytest.mark.parametrize(
    ("rule", "file", "text"), PLANTS, ids=[f"{rule.__name__}-{number}" for number, (rule, _, _) in enumerate(PLANTS)]
)
def test_a_rule_breaks_where_something_forbidden_is_planted(rule: Rule, file: str, text: str) -> None:
    planted = f"{PACKAGE.get(file, '')}\n{text}\n"
    breaches = list(rule({**PACKAGE, file: planted}))
    assert len(breaches) == 1
    assert breaches[0].startswith(file)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("models/space.py", "from objectspace.models.parts import stills\nimport objectspace.models.inputs"),
        ("models/official.py", "from objectspace.models.genesis import Genesis"),
        ("models/__init__.py", "from objectspace.models.space import Space"),
        ("training/loop.py", "from objectspace.models import create\nfrom objectspace.models.base import Output"),
        ("cli/demo.py", "from objectspace.cli.train import train\nimport objectspace"),
        ("data/store.py", "from objectspace.io.images import resize\nfrom objectspace import __version__"),
        ("ops/geometry.py", "import math\nfrom torch import nn\nfrom objectspace.ops import stills"),
        ("models/base.py", "import torch"),
    ],
)
def test_what_is_allowed_breaks_no_rule(file: str, text: str) -> None:
    files = {**PACKAGE, file: f"{PACKAGE[file]}\n{text}\n"}
    assert [breach for rule in RULES for breach in rule(files)] == []
