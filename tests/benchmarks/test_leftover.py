"""What a model's background leaves, on drawn films of two rooms in which two squares move."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks import leftover
from objectspace.config import Anneal
from objectspace.data.dataset import Dataset
from objectspace.models import create
from objectspace.models.space import SpaceConfig


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["leftover", *arguments])
    leftover.main()


def save(folder: Path, rooms: Path, unknown: float) -> str:
    """A model with a still for each room, and objects that have learned nothing."""
    train = Dataset(rooms, "train")
    config = SpaceConfig.model_validate(
        {
            "image_size": 32,
            "foreground": {"grid": 4, "glimpse": 8},
            "background": {"components": 0, "stills": 2, "sigma": 0.1},
        }
    )
    model = create(config, Anneal.model_validate({"unknown": unknown}))
    images = torch.from_numpy(train.batch(np.arange(len(train)))).permute(0, 3, 1, 2)
    model.start_from(images, torch.Generator().manual_seed(0))
    model.save_pretrained(folder)
    return str(folder)


def test_all_that_the_background_does_not_explain_is_found(
    monkeypatch: pytest.MonkeyPatch, rooms: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, numbers = save(tmp_path / "model", rooms, 0.1), tmp_path / "numbers.json"
    run(monkeypatch, str(rooms), "--model", model, "--json", str(numbers))
    measured = json.loads(numbers.read_text())
    assert (measured["f1"], measured["objects"], measured["images"]) == (1.0, 20, 10)
    assert "F1@0.5" in capsys.readouterr().out


def test_a_model_without_the_unknown_is_refused(
    monkeypatch: pytest.MonkeyPatch, rooms: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(monkeypatch, str(rooms), "--model", save(tmp_path / "model", rooms, 0.0))
    assert ended.value.code == 2
    assert "does not know the unknown" in capsys.readouterr().err
