"""Recipes do what they say: the settings that their own texts and the papers name."""

import math
import re
from typing import Any, cast

import pytest

from objectspace.models.iodine import IodineConfig
from objectspace.models.space import SpaceConfig
from objectspace.models.spair import SequentialConfig
from objectspace.ops.schedules import Schedule
from objectspace.recipes import files as recipe_files
from objectspace.recipes.recipe import Recipe, Training

PAPER = sorted(name for name in recipe_files.shipped() if not name.endswith(("-fast", "-folder")))
RIVALS = [name for name in PAPER if not name.startswith("space-")]
OPTIMISER = re.compile(r"(foreground|background|all) (Adam|RMSprop) ([\d.e-]+\d)")
NORM = re.compile(r"gradient norm ([\d.]+\d|\d)|gradients (not) clipped")


def said(recipe: Recipe) -> str:
    return f"{recipe.about} {recipe.source}"


@pytest.mark.parametrize("name", [name for name in PAPER if name not in RIVALS])
def test_recipes_of_space_have_the_paper_s_optimisers(name: str) -> None:
    training = recipe_files.load(name).training
    assert (training.foreground.name, training.foreground.rate) == ("rmsprop", 1e-5)
    assert (training.background.name, training.background.rate) == ("adam", 1e-3)
    assert (training.clip, training.batch) == (1.0, 12)


@pytest.mark.parametrize("name", RIVALS)
def test_recipes_of_rivals_have_the_optimisers_that_they_name(name: str) -> None:
    recipe = recipe_files.load(name)
    named = {part: (kind.lower(), float(rate)) for part, kind, rate in OPTIMISER.findall(said(recipe))}
    parts = {"foreground", "background"} if recipe.model.cells else {"all"}
    assert named.keys() == parts
    for part, wanted in named.items():
        optimiser = recipe.training.foreground if part == "foreground" else recipe.training.background
        assert (optimiser.name, optimiser.rate) == wanted
    norm, unclipped = NORM.search(said(recipe)).groups()
    assert recipe.training.clip == (math.inf if unclipped else float(norm))


@pytest.mark.parametrize("name", PAPER)
def test_what_a_recipe_says_of_its_grid_sigma_steps_and_components_is_so(name: str) -> None:
    recipe, checked = recipe_files.load(name), 0
    text, model = said(recipe), cast(Any, recipe.model)
    for pattern, value in {
        r"sigma ([\d.]+\d)": lambda: model.sigma,
        r"grid (\d+) x": lambda: model.foreground.grid[0],
        r"(\d{5,}) updates": lambda: recipe.training.steps,
        r"batches of (\d+)": lambda: recipe.training.batch,
        r"beta1 ([\d.]+\d)": lambda: recipe.training.background.beta1,
    }.items():
        if (found := re.search(pattern, text)) is not None:
            assert float(found[1]) == value(), pattern
            checked += 1
    if "a million updates" in text:
        assert recipe.training.steps == 10**6
    if "GECO" in text:
        assert model.geco.goal is not None
    if name in RIVALS and name != "spair-p-rooms-small":
        assert checked


@pytest.mark.parametrize("name", RIVALS)
def test_the_boundary_loss_is_space_s_alone(name: str) -> None:
    recipe = recipe_files.load(name)
    if isinstance(recipe.model, SequentialConfig):
        assert not any(recipe.anneal.boundary.values)
    assert any(recipe_files.load("space-rooms-large").anneal.boundary.values)


def test_the_decay_of_iodine_s_rate_is_nearly_exponential() -> None:
    recipe = recipe_files.load("iodine-rooms-small")
    assert isinstance(recipe.model, IodineConfig)
    for step in range(0, 10**6 + 1, 50_000):
        assert recipe.training.background.decay.at(step) == pytest.approx(0.1 ** (step / 10**6), rel=0.042)


@pytest.mark.parametrize("part", ["foreground", "background"])
def test_a_table_without_an_optimiser_means_the_default_one(part: str) -> None:
    """A rate alone once turned RMSprop into Adam."""
    default = getattr(Training(), part)
    alone = getattr(recipe_files.build({"training": {part: {"rate": 0.25}}}, "mine.toml").training, part)
    assert (alone.name, alone.rate) == (default.name, 0.25)
    decayed = recipe_files.build({"training": {part: {"decay": "(1.0 -> 0.5):(2 -> 3)"}}}, "mine.toml").training
    assert getattr(decayed, part) == default.model_copy(update={"decay": Schedule(1.0, 0.5, 2, 3)})
    named = getattr(recipe_files.build({"training": {part: {"name": "adamw"}}}, "mine.toml").training, part)
    assert (named.name, named.rate) == ("adamw", 1e-3)


def test_space_s_own_recipes_are_space_s() -> None:
    assert all(isinstance(recipe_files.load(name).model, SpaceConfig) for name in PAPER if name not in RIVALS)
