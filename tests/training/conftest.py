"""A tiny model, and one finished run of it for all tests that only read one."""

from pathlib import Path

import pytest
import torch

from objectspace.data.generate import generate
from objectspace.data.sprites import SpritesSource
from objectspace.data.streams import Stream
from objectspace.recipes.files import build, dump
from objectspace.recipes.recipe import Recipe
from objectspace.training.run import RunOptions, train

torch.set_num_threads(1)
TINY = {
    "model": {
        "image_size": 32,
        "foreground": {
            "grid": 4,
            "glimpse": 8,
            "what_dim": 4,
            "budget": 4,
            "encoder": {"channels": [4] * 6, "groups": [2] * 6},
            "residual": {"channels": [4], "groups": [2]},
            "residual_encoder": {"channels": [4], "groups": [2]},
            "glimpse_encoder": {"channels": [4] * 6, "groups": [2] * 6},
            "glimpse_decoder": {"channels": [4, 4], "groups": [2, 2]},
        },
        "background": {
            "components": 2,
            "fraction": 4,
            "mask_dim": 4,
            "component_dim": 4,
            "hidden": 4,
            "encoder_dim": 4,
            "encoder_channels": [4] * 4,
            "mask_decoder": {"channels": [4] * 6, "groups": [2] * 6},
            "component_encoder_channels": [4] * 4,
            "component_decoder_channels": [4],
        },
    },
    "training": {"steps": 12, "batch": 4, "log_every": 1, "validate_every": 6, "validate_images": 4, "save_every": 4},
}


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
    root = tmp_path_factory.mktemp("training") / "sprites"
    source = SpritesSource(height=32, width=32, smallest=0.3, largest=0.4, most=2)
    generate(source, root, [Stream("train", 40), Stream("val", 8)], workers=1)
    return root


@pytest.fixture(scope="session")
def finished(tiny: Recipe, sprites: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the tiny recipe from its beginning to its end, to be read only: who changes it copies it."""
    run = tmp_path_factory.mktemp("finished") / "run"
    train(tiny, RunOptions(sprites, run), say=lambda line: None)
    return run
