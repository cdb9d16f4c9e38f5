"""Shipped weights are measured again: the figures change, the weights and their history do not."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import cards
from objectspace.data.generate import generate
from objectspace.data.sprites import SpritesSource
from objectspace.data.streams import Stream
from objectspace.models import create
from objectspace.models.card import CARD, Card, read_card
from oracle.small import small_config

HISTORY = Card(
    name="tiny",
    about="",
    recipe="",
    data="",
    data_seed=1,
    seed=3,
    steps=7,
    minutes=0.5,
    machine="",
    failed_starts=0,
    precision="float32",
    measured_on="2 images of yesterday",
    metrics={"ap50": 0.123},
)


@pytest.fixture
def sprites(tmp_path: Path) -> Path:
    root = tmp_path / "sprites"
    generate(SpritesSource(height=32, width=32), root, [Stream("train", 1), Stream("test", 3)], workers=1)
    return root


def test_figures_are_replaced_and_nothing_else_changes(sprites: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    create(small_config()).save_pretrained(folder)
    (folder / CARD).write_text(HISTORY.to_json())
    weights = (folder / "model.safetensors").read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["cards", str(folder), "--data", str(sprites)])
        cards.main()
    after = read_card(folder)
    assert (after.seed, after.steps, after.name) == (HISTORY.seed, HISTORY.steps, HISTORY.name)
    assert after.measured_on == "3 images of split test"
    assert after.metrics["images"] == 3
    assert json.loads((folder / CARD).read_text())["metrics"].get("ap50") != HISTORY.metrics["ap50"]
    assert (folder / "model.safetensors").read_bytes() == weights


def test_weights_without_a_card_are_refused(sprites: Path, tmp_path: Path) -> None:
    create(small_config()).save_pretrained(tmp_path / "bare")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["cards", str(tmp_path / "bare"), "--data", str(sprites)])
        with pytest.raises(SystemExit, match=r"error: .*has no card"):
            cards.main()
