"""A run's weights, stored in half precision with their history."""

import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from objectspace.cli import app
from objectspace.models import load
from objectspace.models.card import read_card


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return shutil.copytree(finished, tmp_path / "run")


def test_packed_weights_are_small_and_carry_their_history(run: Path, sprites: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["pack", str(run), str(tmp_path / "mine"), "--data", str(sprites), "--split", "val", "--machine", "a toy"]
    )
    assert result.exit_code == 0, result.output
    card = read_card(tmp_path / "mine")
    assert (card.name, card.seed, card.steps, card.machine) == ("mine", 0, 12, "a toy")
    assert card.data_seed == 0
    assert card.failed_starts == 0
    seconds = json.loads((run / "summary.json").read_text())["state"]["seconds"]
    assert seconds > 0
    assert card.minutes == round(seconds / 60, 1)
    assert card.processor_minutes is not None
    assert "image_size = [32, 32]" in card.recipe
    assert {"ap50", "ap", "count_error", "squared_error", "projected_ap"} <= card.metrics.keys()
    assert {"published_ap50", "published_ap", "published_count_error"} <= card.metrics.keys()
    before, after = load(run / "model"), load(tmp_path / "mine")
    for (name, old), new in zip(before.named_parameters(), after.parameters(), strict=True):
        assert torch.equal(old.half().float(), new), name
    for (name, buffer), same in zip(before.named_buffers(), after.buffers(), strict=True):
        assert torch.equal(buffer, same), name
    sizes = [(folder / "model.safetensors").stat().st_size for folder in (run / "model", tmp_path / "mine")]
    assert sizes[1] < 0.75 * sizes[0]


def test_an_unfinished_run_is_not_packed(run: Path, sprites: Path, tmp_path: Path) -> None:
    summary = json.loads((run / "summary.json").read_text())
    (run / "summary.json").write_text(json.dumps(summary | {"ended": "out of time"}))
    result = CliRunner().invoke(app, ["pack", str(run), str(tmp_path / "mine"), "--data", str(sprites)])
    assert re.search("out of time.*--resume", str(result.exception))
    assert not (tmp_path / "mine").exists()


def test_weights_that_cannot_be_measured_leave_nothing(run: Path, sprites: Path, tmp_path: Path) -> None:
    command = ["pack", str(run), str(tmp_path / "out" / "mine"), "--data", str(sprites), "--split", "nowhere"]
    result = CliRunner().invoke(app, command)
    assert "nowhere" in str(result.exception)
    assert not any((tmp_path / "out").iterdir())


def test_the_shipped_models_are_listed_with_their_measures() -> None:
    from objectspace.models.card import shipped

    cards = shipped()
    rooms, games = (
        {"space-rooms-small", "space-rooms-large"},
        {"space-spaceinvaders", "space-riverraid", "space-atari-joint10"},
    )
    assert rooms | games | {"space-sprites"} <= {card.name for card in cards}
    listed = CliRunner().invoke(app, ["models"]).output
    for card in cards:
        assert card.name in listed
        assert load(card.name).config is not None
        assert json.loads(CliRunner().invoke(app, ["models", card.name]).output)["seed"] == card.seed
