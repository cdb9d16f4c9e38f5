"""Who may know whom: the rooms of the house, kept apart (docs/tour.md)."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "objectspace"
BASE = {"errors", "files", "images", "rle", "progress"}

# room -> the rooms of this package that it may import; a room not named here is at the top and may import all
ALLOWED = {
    "errors": set(),
    "files": {"errors"},
    "images": {"errors"},
    "inputs": {"errors", "images"},
    "rle": {"errors"},
    "progress": set(),
    "scene": {"errors", "rle"},
    "ops": set(),
    "nn": {"ops"},
    "config": {"errors", "ops"},
    "recipes": set(),
    "card": {"errors"},
    "recipe_files": {"config", "errors", "recipes"},
    "data": BASE | {"scene"},
    "models": BASE | {"config", "scene", "ops", "nn"},
    "training": BASE | {"config", "scene", "models", "data", "evaluation", "reports", "recipe_files", "card"},
    "evaluation": BASE | {"scene"},
    "reports": BASE | {"scene", "evaluation"},
    "export": BASE | {"scene"},
    "plugins": {"errors", "config", "models"},
    "comparison": BASE
    | {"config", "scene", "data", "models", "training", "evaluation", "reports", "recipe_files", "card", "plugins"},
    "tracking": set(),
    "labels": {"errors", "files", "scene", "evaluation"},
    "rl": {"errors", "scene", "data", "tracking"},
}
NOBODY_IMPORTS = {"cli", "app"}
ONLY_TORCH = {"ops", "nn"}


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """The dotted names of all modules that a file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def rooms_imported(path: Path) -> set[str]:
    inner = (name.split(".") for name in imports_of(path) if name.startswith("objectspace."))
    return {parts[1] for parts in inner} - {"__version__"}


FILES = sorted(SOURCE.rglob("*.py"))


def test_there_are_files_to_check() -> None:
    assert len(FILES) > 10


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_imports_only_what_it_may_know(path: Path) -> None:
    room = room_of(path)
    known = rooms_imported(path) - {room}
    if room in ALLOWED:
        assert known <= ALLOWED[room], f"{room} may not import {known - ALLOWED[room]}"
    if room not in NOBODY_IMPORTS | {"__main__"}:
        assert not known & NOBODY_IMPORTS


@pytest.mark.parametrize("path", [path for path in FILES if room_of(path) == "models"], ids=lambda path: path.stem)
def test_no_model_imports_another(path: Path) -> None:
    parts = path.relative_to(SOURCE / "models").parts
    if len(parts) < 2:
        return  # base and pretrained may know all
    others = {child.name for child in (SOURCE / "models").iterdir() if child.is_dir()} - {parts[0]}
    for name in imports_of(path):
        assert not any(name.startswith(f"objectspace.models.{other}.") for other in others), name


def test_training_knows_models_by_their_protocol_only() -> None:
    files = [path for path in FILES if room_of(path) == "training"]
    assert files
    for path in files:
        known = {name for name in imports_of(path) if name.startswith("objectspace.models.")}
        assert all(name.startswith(("objectspace.models.base.", "objectspace.models.create")) for name in known), path


@pytest.mark.parametrize("path", [path for path in FILES if room_of(path) in ONLY_TORCH], ids=lambda path: path.stem)
def test_tensor_functions_touch_no_files_and_print_nothing(path: Path) -> None:
    outside = {name.split(".")[0] for name in imports_of(path)} - {"objectspace", "torch"}
    assert outside <= {"collections", "dataclasses", "functools", "itertools", "math", "re", "typing"}, outside
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"print", "open"}


def test_generating_data_does_not_load_torch() -> None:
    """Workers start in a moment only because the data modules leave torch alone."""
    for path in FILES:
        if room_of(path) in {"data", "scene", "rle", "progress", "errors"}:
            assert not any(name.split(".")[0] == "torch" for name in imports_of(path)), path
