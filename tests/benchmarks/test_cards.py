"""Shipped weights are measured again: the figures change, the weights and their history do not."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import cards
from objectspace.data.generate import generate
from objectspace.data.sprites import SpritesSource
from objectspace.data.streams import Stream
from objectspace.errors import UserError
from objectspace.models import create, from_pretrained
from objectspace.models.card import CARD, Card, Unexplained, read_card
from objectspace.scene import Object, Scene
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


def test_weights_of_before_note_what_their_training_images_are_like(
    sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tiny"
    model = create(small_config(), seed=1)
    model.save_pretrained(folder)
    (folder / CARD).write_text(HISTORY.to_json())
    weights = (folder / "model.safetensors").read_bytes()
    found = [Scene(32, 32)]
    monkeypatch.setattr(type(model), "decompose", lambda *_, **__: found)
    with pytest.raises(UserError, match="finds no object"):
        cards.add_seen(folder, sprites)
    box = (0.0, 0.0, 8.0, 8.0)
    half = np.arange(32 * 32).reshape(32, 32) % 2 == 0
    found[:] = [Scene(32, 32, (Object(box, box, what=np.ones(3, np.float32)),), unexplained=half)]
    cards.add_seen(folder, sprites)
    seen = from_pretrained(folder).seen
    assert seen is not None
    assert (seen.counts, seen.means) == ((0.0, 1.0), ((1.0, 1.0, 1.0),))
    assert read_card(folder).unexplained == Unexplained(images=1, median=0.5, most=0.5)
    assert (folder / "model.safetensors").read_bytes() == weights
