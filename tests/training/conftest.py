"""A tiny model, and one finished run of it for all tests that only read one."""

from pathlib import Path

import pytest
import torch

from helpers.sprites import few_sprites
from helpers.tiny import TINY
from objectspace.recipes.files import build, dump
from objectspace.recipes.recipe import Recipe
from objectspace.training.run import RunOptions, train

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny() -> Recipe:
    """A model so small that a step takes a moment."""
    return build(TINY, "the tests' recipe")


@pytest.fixture
def tiny_file(tiny: Recipe, tmp_path: Path) -> Path:
    """The same recipe as a file, for commands."""
    path = tmp_path / "tiny.toml"
    path.write_text(dump(tiny))
    return path


@pytest.fixture(scope="session")
def sprites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return few_sprites(tmp_path_factory.mktemp("training") / "sprites", train=40, val=8)


@pytest.fixture(scope="session")
def finished(tiny: Recipe, sprites: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the tiny recipe from its beginning to its end, to be read only: who changes it copies it."""
    run = tmp_path_factory.mktemp("finished") / "run"
    train(tiny, RunOptions(sprites, run), say=lambda line: None)
    return run
