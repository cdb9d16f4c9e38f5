"""Which background a run chooses, and that it chooses once."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from safetensors.torch import load_file
from typer.testing import CliRunner

import objectspace
from objectspace.cli import app
from objectspace.config import ModelConfig
from objectspace.data.dataset import Dataset
from objectspace.errors import UserError
from objectspace.models.card import read_card
from objectspace.models.parts.settings import SpaceBackgroundConfig
from objectspace.models.space import SpaceConfig
from objectspace.recipes.files import build
from objectspace.recipes.recipe import Recipe
from objectspace.training import ladder, loop
from objectspace.training.ground import compact_regions
from objectspace.training.run import RunOptions, train
from objectspace.training.rungs import rungs
from objectspace.training.step import take_step

SIDE = 32
QUIET = lambda line: None  # noqa: E731
Ground = Callable[[np.random.Generator], NDArray[np.float64]]


def one_colour(random: np.random.Generator) -> NDArray[np.float64]:
    return np.broadcast_to(random.uniform(0.1, 0.5, 3), (SIDE, SIDE, 3)).copy()


def fixed_camera(random: np.random.Generator) -> NDArray[np.float64]:
    return np.kron(np.random.default_rng(7).uniform(0, 0.6, (8, 8, 3)), np.ones((4, 4, 1)))


def gradient(random: np.random.Generator) -> NDArray[np.float64]:
    """From dark to bright, each channel in a direction of its own: too many grounds for a few stills."""
    rows, columns = np.mgrid[:SIDE, :SIDE] / (SIDE - 1) - 0.5
    angles = random.uniform(0, 2 * np.pi, 3)
    return 0.35 + 0.45 * np.stack([np.cos(angle) * rows + np.sin(angle) * columns for angle in angles], axis=2)


def river(random: np.random.Generator) -> NDArray[np.float64]:
    """A soft band across the image, its colour, direction and place different in every image: no plane has a middle."""
    rows, columns = np.mgrid[:SIDE, :SIDE] / (SIDE - 1) - 0.5
    angle, place = random.uniform(0, np.pi), random.uniform(-0.2, 0.2)
    across = np.cos(angle) * rows + np.sin(angle) * columns - place
    return 0.1 + random.uniform(0.4, 0.6, 3) * np.exp(-((across / 0.2) ** 2))[..., None]


def with_discs(ground: Ground, root: Path, counts: dict[str, int]) -> Path:
    """A data set of images with two bright discs each."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    for split, count in counts.items():
        folder = root / split / "images"
        folder.mkdir(parents=True)
        random = np.random.default_rng(len(split))
        for number in range(count):
            picture = ground(random)
            for _ in range(2):
                row, column = random.uniform(4, SIDE - 4, 2)
                picture[(rows - row) ** 2 + (columns - column) ** 2 < 9] = (1.0, 0.95, 0.9)
            Image.fromarray((255 * picture).round().astype(np.uint8)).save(folder / f"{number:04d}.png")
    return root


@pytest.fixture(scope="module")
def climbing(tiny: Recipe) -> Recipe:
    """A recipe that leaves the background open, with nets that learn in a few steps."""
    content = tiny.model_dump(mode="json")
    content["model"]["background"] |= {
        "sigma": 0.1,
        "encoder_dim": 16,
        "encoder_channels": [16] * 4,
        "component_encoder_channels": [16] * 4,
        "component_decoder_channels": [16, 16],
        "component_dim": 8,
        "fraction": 4,
    }
    content["anneal"] |= {"unknown": 0.1}
    content["training"] |= {"ladder": 80, "batch": 12, "validate_images": 24, "log_every": 100}
    return build(content, "the ladder's recipe")


def background(config: ModelConfig) -> SpaceBackgroundConfig:
    assert isinstance(config, SpaceConfig)
    return config.background


def choice(ground: Ground, recipe: Recipe, root: Path) -> tuple[str, Recipe]:
    data = with_discs(ground, root, {"train": 200, "val": 24})
    said: list[str] = []
    settled, results = ladder.climb(recipe, Dataset(data, "train", SIDE), Dataset(data, "val", SIDE), said.append, 0)
    for line in said:
        print(line)
    return ladder.choose(results).rung.name, settled


@pytest.mark.slow
def test_plain_grounds_need_one_colour_an_image(climbing: Recipe, tmp_path: Path) -> None:
    name, recipe = choice(one_colour, climbing, tmp_path)
    assert name == "one colour an image"
    settled = background(recipe.model)
    assert (settled.flat, settled.components) == (True, 1)


@pytest.mark.slow
def test_a_fixed_camera_needs_a_still(climbing: Recipe, tmp_path: Path) -> None:
    name, recipe = choice(fixed_camera, climbing, tmp_path)
    assert name == "one still"
    settled = background(recipe.model)
    assert (settled.stills, settled.components) == (1, 0)


@pytest.mark.slow
def test_gradients_that_differ_need_a_plane_of_colour(climbing: Recipe, tmp_path: Path) -> None:
    name, recipe = choice(gradient, climbing, tmp_path)
    assert name == "one plane of colour an image"
    settled = background(recipe.model)
    assert (settled.plane, settled.flat, settled.components) == (True, False, 1)
    assert recipe.training.ladder == 0, "what was settled is fixed"


@pytest.mark.slow
def test_bands_that_differ_need_components(climbing: Recipe, tmp_path: Path) -> None:
    longer = climbing.model_copy(update={"training": climbing.training.model_copy(update={"ladder": 120})})
    name, recipe = choice(river, longer, tmp_path)
    assert name in ("2 colours an image", "one smooth component", "2 components")
    settled = background(recipe.model)
    assert not settled.flat
    assert not settled.plane


@pytest.mark.parametrize(
    "own", [{"flat": True}, {"plane": True}, {"palette": True, "stray": 0.1}, {"strong_decoder": True}], ids=str
)
def test_a_rung_draws_in_its_own_way_whatever_the_recipe_s(own: dict[str, Any]) -> None:
    tried = rungs(SpaceBackgroundConfig(components=1, **own), images=1000)
    ways = {
        rung.name: [
            way for way in ("flat", "plane", "palette", "stray", "strong_decoder") if getattr(rung.background, way)
        ]
        for rung in tried
    }
    assert ways == {
        "one colour an image": ["flat"],
        "one plane of colour an image": ["plane"],
        "one still": [],
        "8 stills": [],
        "5 colours an image": ["palette", "stray"],
        "one smooth component": [],
        "5 components": [],
        "a strong decoder": ["strong_decoder"],
    }
    assert list(ways)[:2] == ["one colour an image", "one plane of colour an image"], "the weakest first"
    for rung in tried:
        SpaceBackgroundConfig.model_validate(rung.background.model_dump())


def test_only_what_is_compact_may_be_an_object() -> None:
    rows, columns = np.mgrid[:64, :64]
    disc = (rows - 20) ** 2 + (columns - 40) ** 2 < 40
    noise = np.random.default_rng(0).random((64, 64)) < 0.1
    stripes, half = columns % 8 < 2, rows + columns < 64
    assert compact_regions(disc).sum() == disc.sum()
    for spread in (noise, stripes, half):
        assert compact_regions(spread).sum() < 0.1 * spread.sum()


@pytest.fixture
def quick(tiny: Recipe) -> Recipe:
    """A short run that climbs before it."""
    content = tiny.model_dump(mode="json")
    content["anneal"] |= {"unknown": 0.1}
    content["training"] |= {"ladder": 3}
    return build(content, "quick")


@pytest.mark.slow
def test_a_run_climbs_once_and_resumes_to_the_bit(
    quick: Recipe, sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    train(quick, RunOptions(sprites, tmp_path / "whole"), said.append)
    record = json.loads((tmp_path / "whole" / "ladder.json").read_text())
    assert any(line.startswith(f"background: {record['chosen']}: ") for line in said)

    def dying(*arguments):
        if arguments[4] == 7:
            raise RuntimeError("killed")
        return take_step(*arguments)

    monkeypatch.setattr(loop, "take_step", dying)
    with pytest.raises(RuntimeError, match="killed"):
        train(quick, RunOptions(sprites, tmp_path / "torn"), QUIET)
    monkeypatch.setattr(loop, "take_step", take_step)
    monkeypatch.setattr(ladder, "climb", None)  # whoever calls it now fails
    train(quick, RunOptions(sprites, tmp_path / "torn", resume=True), QUIET)
    first, second = (load_file(tmp_path / name / "model" / "model.safetensors") for name in ("whole", "torn"))
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.slow
def test_a_run_and_its_card_have_the_chosen_background(quick: Recipe, sprites: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(quick, RunOptions(sprites, run), QUIET)
    record = json.loads((run / "ladder.json").read_text())
    model = objectspace.load(run / "model")
    assert background(model.config).model_dump(mode="json") == record["background"]
    notes = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    tried = [note["ladder_rung"] for note in notes if "ladder_rung" in note]
    assert tried == [rung["rung"] for rung in record["rungs"]]
    assert "ladder = 3" in (run / "recipe.toml").read_text(), "the recipe stays as it was given"
    command = ["pack", str(run), str(tmp_path / "mine"), "--data", str(sprites), "--split", "val"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    card = read_card(tmp_path / "mine")
    assert card.background.startswith(record["chosen"])
    assert "ladder = 0" in card.recipe, "the card's recipe trains the same model again"


def test_a_recipe_may_fix_its_background(tiny: Recipe, finished: Path) -> None:
    assert not (finished / "ladder.json").exists()
    assert background(objectspace.load(finished / "model").config) == background(tiny.model)


def test_other_models_have_no_ladder() -> None:
    with pytest.raises(UserError, match="a spair has none"):
        build({"model": {"kind": "spair"}, "training": {"ladder": 10}}, "wrong")
