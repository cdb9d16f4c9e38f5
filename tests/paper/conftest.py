"""A tiny item, of a tiny model on tiny sprites, that goes through all stages in seconds."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from objectspace.data.sprites import SpritesSource
from objectspace.data.streams import Stream
from objectspace.paper.declared import Claim, Column, DataSet, Item
from objectspace.paper.findings import Model
from objectspace.paper.place import Place
from objectspace.paper.stages import Wanted, run_items
from objectspace.paper.verdicts import reaches
from objectspace.recipes.files import dump
from objectspace.recipes.recipe import Recipe, Training
from oracle.small import small_config

torch.set_num_threads(1)
SPRITES = "tiny-sprites"


@pytest.fixture(scope="session")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe of a few steps."""
    training = Training(steps=4, batch=2, log_every=1, validate_every=4, validate_images=2, save_every=1)
    path = tmp_path_factory.mktemp("recipe") / "tiny.toml"
    path.write_text(dump(Recipe(model=small_config(), training=training)))
    return path


@pytest.fixture
def item(recipe: Path) -> Item:
    model = Model("SPACE", SPRITES, str(recipe))
    claims = (
        Claim(
            "It <draws> badly.", "5", "a squared error of 1", reaches("squared error", model.key, "squared_error", 1, 0)
        ),
        Claim("It is everywhere.", "6", "a galaxy", reaches("recall", "SPACE on galaxy", "recall", 0.5, 0.1)),
    )
    return Item(
        name="tiny",
        title="A tiny item",
        shows="nothing much",
        measures=("models", "pictures", "samples"),
        claims=claims,
        here="seconds",
        there="an age",
        models=(model,),
        columns=(Column("squared_error", "squared error", 1), Column("published_ap50", "AP@0.5")),
        paper={(model.key, "squared_error"): "12.5 ± 0.5"},
    )


@pytest.fixture
def sets() -> dict[str, DataSet]:
    def source() -> SpritesSource:
        return SpritesSource(height=32, width=32, smallest=0.3, largest=0.4, most=2)

    streams = [Stream("train", 4), Stream("val", 2), Stream("test", 4)]
    return {SPRITES: DataSet(SPRITES, "objectspace data sprites DIR", source, lambda: streams)}


Run = Callable[..., list[str]]


@pytest.fixture
def run(item: Item, sets: dict[str, DataSet], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the item into a directory; gives what was said."""
    monkeypatch.setattr("objectspace.paper.samples.COUNT", 2)

    def call(out: Path, minutes: float | None = None, **place: Path) -> list[str]:
        said: list[str] = []
        run_items([item], Place(out, **place), Wanted(minutes, workers=1), said.append, sets)
        return said

    return call
