"""Schedules are shortened as a whole: every step by one factor, no value changed."""

import pytest

from objectspace.paper.fitting import shortened, timeless
from objectspace.recipes import files as recipe_files


def test_all_steps_of_a_plan_are_scaled() -> None:
    whole = recipe_files.load("space-rooms-small-fast")
    half = shortened(whole, 0.5)
    assert half.phases is not None
    assert (half.phases.background, half.phases.warm, half.training.steps) == (150, 250, 900)
    assert (half.anneal.background_first, half.anneal.warm_start, half.anneal.evidence_from) == (150, 250, 400)
    assert half.training.background.warmup == 20
    assert whole.anneal.at(1000) == half.anneal.at(500)
    assert whole.anneal.at(0) == half.anneal.at(0)
    assert whole.anneal.final() == half.anneal.final()


@pytest.mark.parametrize("name", sorted(recipe_files.shipped()))
def test_every_recipe_can_be_shortened_and_is_still_itself(name: str) -> None:
    whole = recipe_files.load(name)
    short = shortened(whole, 0.4)
    assert short.training.steps == round(0.4 * whole.training.steps)
    assert timeless(short) == timeless(whole)
    assert short.anneal.final() == whole.anneal.final()
    assert recipe_files.build(short.model_dump(mode="json"), "again") == short


def test_another_recipe_is_not_the_same_one_shortened() -> None:
    whole = recipe_files.load("space-rooms-small-fast")
    other = recipe_files.load("space-rooms-small-fast", ["model.foreground.grid=4"])
    assert timeless(shortened(other, 0.5)) != timeless(whole)
    assert shortened(whole, 1.0) is whole
