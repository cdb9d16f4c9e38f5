import sys
from pathlib import Path

import pytest
import torch

from helpers.sprites import few_sprites
from objectspace import plugins
from objectspace.compare.candidates import Candidate
from objectspace.config import ModelConfig

torch.set_num_threads(1)
EXAMPLE = Path(__file__).parents[2] / "examples" / "tiny_model.py"


@pytest.fixture(scope="session")
def sprites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return few_sprites(tmp_path_factory.mktemp("comparison") / "sprites", train=20, test=6)


@pytest.fixture(scope="session")
def tiny_config() -> type[ModelConfig]:
    """The config of the example model, as `--with` makes it known."""
    plugins.load_file(EXAMPLE)
    return ModelConfig.kinds["tiny"]


@pytest.fixture
def tiny(tiny_config: type[ModelConfig]) -> Candidate:
    config = tiny_config.model_validate({"image_size": (32, 32), "slots": 3, "width": 4, "slot_dim": 4})
    return Candidate("tiny", 1, config)


@pytest.fixture(autouse=True)
def _command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["objectspace", "compare"])
