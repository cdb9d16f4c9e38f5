"""Models of one's own: from a file, or from an installed package."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from objectspace import plugins
from objectspace.config import ModelConfig, installed
from objectspace.errors import UserError
from objectspace.models import create, load
from objectspace.recipes import files as recipe_files

DECLARED = """
from typing import Literal
from objectspace.config import ModelConfig
class Config(ModelConfig):
    kind: Literal["{kind}"] = "{kind}"
"""
WITH_MODEL = DECLARED + "from objectspace.models.space import Space\nclass Model(Space, config=Config): pass\n"


@pytest.fixture(autouse=True)
def _forget(monkeypatch):
    """Whatever a test declares is gone after it."""
    monkeypatch.setattr(ModelConfig, "kinds", dict(ModelConfig.kinds))
    monkeypatch.setattr(plugins, "_loaded", {})


def file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(text)
    return path


def test_a_file_makes_its_kind_known_and_is_executed_once(tmp_path) -> None:
    path = file(tmp_path, WITH_MODEL.format(kind="mine"))
    module = plugins.load_file(path)
    assert ModelConfig.kinds["mine"] is module.Config
    assert ModelConfig.model_validate({"kind": "mine"}).kind == "mine"
    assert plugins.load_file(path) is module
    assert plugins.loaded_files() == [path]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import os\nclass 3:\n", r"mine\.py, line 2: SyntaxError"),
        ("x = 1\n\ny = 1 / 0\n", r"mine\.py, line 3: ZeroDivisionError"),
        ("import nothing_of_that_name\n", r"mine\.py, line 1: ModuleNotFoundError"),
        ("raise SystemExit(3)\n", r"mine\.py, line 1: SystemExit"),
        ("x = 1\n", "declares no model"),
        (DECLARED.format(kind="half"), r"no model: declare  class ConfigModel\(SceneModel, config=Config\)"),
        (WITH_MODEL.format(kind="space"), "there is a kind of model 'space' already"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line_and_nothing_stays(tmp_path, text, message) -> None:
    before = dict(ModelConfig.kinds)
    with pytest.raises(UserError, match=message):
        plugins.load_file(file(tmp_path, text))
    assert ModelConfig.kinds == before
    assert plugins.loaded_files() == []


def test_a_file_that_is_none_is_refused(tmp_path) -> None:
    for path in (tmp_path, tmp_path / "absent.py", file(tmp_path, "").rename(tmp_path / "mine.txt")):
        with pytest.raises(UserError, match="no such Python file"):
            plugins.load_file(path)


def test_recipes_and_weights_of_an_unknown_kind_say_how_to_make_it_known(tmp_path) -> None:
    plugins.load_file(file(tmp_path, WITH_MODEL.format(kind="mine")))
    config = ModelConfig.kinds["space"].model_validate({"image_size": 32, "foreground": {"grid": 4}})
    create(config).save_pretrained(tmp_path / "model")
    weights = tmp_path / "model" / "config.json"
    weights.write_text(weights.read_text().replace('"kind": "space"', '"kind": "theirs"'))
    with pytest.raises(UserError, match=r"no kind of model 'theirs'.*objectspace --with FILE"):
        load(tmp_path / "model")
    with pytest.raises(UserError, match=r"no kind of model 'theirs'.*objectspace --with FILE"):
        recipe_files.build({"model": {"kind": "theirs"}}, "recipe")


def entry(name: str, action) -> SimpleNamespace:
    return SimpleNamespace(name=name, value="package.module", dist=SimpleNamespace(name="package"), load=action)


def test_an_installed_package_brings_a_kind_and_is_imported_only_for_it(tmp_path, monkeypatch) -> None:
    path = file(tmp_path, WITH_MODEL.format(kind="theirs"))
    asked: list[str] = []

    def refuse() -> None:
        raise AssertionError("another kind was asked for")

    def entry_points(group: str) -> list[SimpleNamespace]:
        asked.append(group)
        return [entry("theirs", lambda: plugins.load_file(path)), entry("other", refuse)]

    monkeypatch.setattr(installed, "entry_points", entry_points)
    assert ModelConfig.model_validate({"kind": "theirs"}).kind == "theirs"
    assert asked == ["objectspace.models"]


def test_a_package_that_cannot_be_imported_is_named(monkeypatch) -> None:
    monkeypatch.setattr(installed, "entry_points", lambda group: [entry("theirs", lambda: 1 / 0)])
    with pytest.raises(UserError, match=r"'theirs', which the package package brings.*ZeroDivisionError"):
        ModelConfig.model_validate({"kind": "theirs"})
