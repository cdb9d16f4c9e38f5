"""One schedule says what four keys said before: the same weight at every step, whoever still uses the old ones."""

import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from objectspace.config import Anneal
from objectspace.errors import UserError
from objectspace.ops.schedules import Schedule, constant, parse
from objectspace.recipes import files as recipe_files
from objectspace.recipes.files import RenamedKeyWarning

NONE = {"boundary_stop": 0}
OLD: dict[str, dict[str, Any]] = {  # what shipped recipes said; others followed the defaults, or had phases
    **dict.fromkeys(("spair-p-rooms-small", "spair-rooms-large", "spair-rooms-small"), NONE),  # on until 0.2
    "space-airraid": NONE,
    "space-atari-joint10": NONE,
    "space-montezuma": NONE,
    "space-riverraid": NONE,
    "space-spaceinvaders": NONE,
    "spair-sprites-fast": NONE,
}


def before(
    step: int,
    boundary_weight: Schedule = constant(1.0),  # noqa: B008 (it is frozen)
    boundary_start: int = 0,
    boundary_ramp: int = 0,
    boundary_stop: int = 100_000,
) -> float:
    """The weight at a step, as it was computed from four keys."""
    if not boundary_start <= step < boundary_stop:
        return 0.0
    share = min(1.0, (step - boundary_start) / boundary_ramp) if boundary_ramp else 1.0
    return boundary_weight.at(step) * share


def weights(anneal: Anneal, steps: range) -> list[float]:
    return [anneal.at(step).boundary_weight for step in steps]


@pytest.mark.parametrize("name", sorted(recipe_files.shipped()))
def test_a_shipped_recipe_has_the_weights_it_had(name: str) -> None:
    recipe = recipe_files.load(name)
    old = NONE if recipe.phases is not None else OLD.get(name, {})
    for steps in (range(2000), range(99_990, 100_010), range(0, recipe.training.steps, 97)):
        assert weights(recipe.anneal, steps) == [before(step, **old) for step in steps]


COUNTS = st.integers(0, 30)


@given(st.sampled_from([0.5, 1.0, 2.0]), COUNTS, COUNTS, st.integers(0, 80))
@settings(deadline=None)
def test_old_keys_give_the_old_weights(weight: float, start: int, ramp: int, stop: int) -> None:
    old = {"boundary_start": start, "boundary_ramp": ramp, "boundary_stop": stop}
    if ramp and start < stop < start + ramp:
        with pytest.raises(ValueError, match=f"boundary_stop = {stop} cuts the ramp"):
            Anneal.model_validate(old)
        return
    anneal = Anneal.model_validate({"boundary_weight": weight} | old)
    expected = [before(step, constant(weight), **old) for step in range(100)]
    assert weights(anneal, range(100)) == pytest.approx(expected, abs=1e-12)


@given(st.lists(COUNTS, min_size=4, max_size=4).map(sorted), COUNTS, st.integers(0, 80))
@settings(deadline=None)
def test_a_weight_that_moves_is_cut_to_its_time(moves: list[int], start: int, stop: int) -> None:
    p, q, r, s = moves
    weight = parse(f"(1 -> 0.25):({p} -> {q}) then (0.25 -> 3):({r} -> {s})")
    old = {"boundary_weight": weight, "boundary_start": start, "boundary_stop": stop}
    expected = [before(step, **old) for step in range(100)]
    assert weights(Anneal.model_validate(old), range(100)) == pytest.approx(expected, abs=1e-12)


SOME_STEPS = "(0 -> 1):(500 -> 500) then (1 -> 0):(600 -> 600)"


def test_one_old_key_changes_only_what_it_means(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(f'anneal.boundary = "{SOME_STEPS}"\n')
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RenamedKeyWarning)
        later = recipe_files.load(mine, ["anneal.boundary_stop=900"])
        heavier = recipe_files.load(mine, ["anneal.boundary_weight=3", "anneal.boundary_ramp=50"])
        on = recipe_files.load("space-airraid", ["anneal.boundary_stop=70"])
        planned = recipe_files.load("space-sprites-fast", ["anneal.boundary_stop=70"])
    steps = range(1000)
    assert weights(later.anneal, steps) == [before(step, boundary_start=500, boundary_stop=900) for step in steps]
    expected = [before(step, constant(3.0), 500, 50, 600) for step in steps]
    assert weights(heavier.anneal, steps) == pytest.approx(expected)
    for recipe in (on, planned):
        assert weights(recipe.anneal, steps) == [before(step, boundary_stop=70) for step in steps]


def test_a_run_of_an_earlier_version_is_read_and_written_by_the_new_key(tmp_path: Path) -> None:
    keys = "boundary_weight = 1.0\nboundary_start = 500\nboundary_ramp = 0\nboundary_stop = 600\n"
    (tmp_path / "recipe.toml").write_text(f"[anneal]\n{keys}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recipe = recipe_files.load_run(tmp_path)
    assert recipe.anneal.boundary == parse(SOME_STEPS)
    text = recipe_files.dump(recipe)
    assert "boundary_" not in text
    assert recipe_files.parse(text, "a test") == recipe


def test_the_new_name_is_said(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[anneal]\nboundary_start = 5\n")
    with pytest.warns(RenamedKeyWarning, match=r"anneal\.boundary_start is now a part of anneal\.boundary, a schedule"):
        recipe_files.load(tmp_path / "mine.toml")
    with pytest.warns(RenamedKeyWarning, match=r"anneal\.boundary_stop is now a part of anneal\.boundary"):
        recipe_files.load("space-rooms-small", ["anneal.boundary_stop=0"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"boundary_ramp": 10, "boundary_stop": 5}, "boundary_stop = 5 cuts the ramp"),
        ({"boundary_start": -1}, "boundary_start is a number of steps, at least 0, not -1"),
        ({"boundary_weight": "(1 -> 2):(0 -> 9)", "boundary_ramp": 5}, "set anneal.boundary instead"),
        ({"boundary_weight": "much"}, "'much' is no schedule"),
        ({"boundary": "much", "boundary_stop": 5}, "'much' is no schedule"),
    ],
)
def test_what_cannot_be_read_is_explained(content: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match="a recipe: anneal") as error:
        recipe_files.build({"anneal": content}, "a recipe")
    assert said in str(error.value)
