"""One plan for a training, and the presets of widths: both fill in only what a recipe does not say."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch

from objectspace.config import Anneal, ModelConfig
from objectspace.errors import UserError
from objectspace.models import SceneModel
from objectspace.ops.schedules import Schedule
from objectspace.recipes import files as recipe_files
from objectspace.recipes.recipe import Recipe

PHASES = {"background": 40, "warm": 20, "objects": 100, "sharpen": 80}
PLANS: list[dict[str, int]] = [
    PHASES,
    {"objects": 1},
    {"objects": 7, "warm": 3},
    {"background": 5, "objects": 3, "sharpen": 1},
]


def build(**content: Any) -> Recipe:
    return recipe_files.build(content, "mine.toml")


def legs(schedule: Schedule) -> list[Schedule]:
    return [schedule] if schedule.then is None else [schedule, *legs(schedule.then)]


@pytest.mark.parametrize("phases", PLANS, ids=str)
def test_every_schedule_of_a_plan_goes_one_way_and_ends_within_the_steps(phases: dict[str, int]) -> None:
    recipe = build(phases=phases)
    steps = sum(phases.values())
    assert recipe.training.steps == steps
    rates = [recipe.training.foreground.decay, recipe.training.background.decay]
    said = recipe.phases.plan({"foreground": 0.15, "background": 0.15})["anneal"]
    planned = [getattr(recipe.anneal, name) for name in said]
    schedules = [value for value in planned if isinstance(value, Schedule)] + rates
    assert len(schedules) >= 7
    for schedule in schedules:
        assert legs(schedule)[-1].finish <= steps, schedule
        values = [schedule.at(step) for step in range(steps + 1)]
        assert values in (sorted(values), sorted(values, reverse=True)), schedule
    for name in ("own_background", "evidence_from", "background_first", "warm_start"):
        assert 0 <= getattr(recipe.anneal, name) <= steps
    assert recipe.anneal.objects_from == phases.get("background", 0) + phases.get("warm", 0)


def test_a_plan_s_phases_follow_one_another() -> None:
    anneal = build(phases=PHASES).anneal
    stages = [anneal.at(step) for step in range(240)]
    assert [stage.background_only for stage in stages] == [True] * 40 + [False] * 200
    assert [stage.warm is not None for stage in stages] == [False] * 40 + [True] * 20 + [False] * 180
    assert [stage.own_background for stage in stages] == [True] * 160 + [False] * 80
    assert [stage.presence_by_evidence for stage in stages] == [False] * 60 + [True] * 180
    assert [stage.unexplained_only for stage in stages] == [False] * 60 + [True] * 180
    assert [stage.explored_cells for stage in stages] == [0] * 60 + [4] * 180
    assert [stage.lesson for stage in stages] == [0.0] * 60 + [1.0] * 180
    assert {stage.unknown for stage in stages} == {0.1}
    assert {stage.explained_prior for stage in stages} == {None}
    assert stages[40].warm == 0
    assert stages[59].warm == 0.95
    final = anneal.final()
    assert (final.foreground_sigma, final.background_sigma) == (0.07, 0.07)
    assert final.presence_prior < 1e-19
    assert (final.presence_by_evidence, final.explored_cells) == (False, 0)


def test_cells_of_planned_models_give_way_and_those_of_the_paper_s_do_not() -> None:
    assert build(phases=PHASES).model.foreground.give_way == 0.45  # type: ignore[attr-defined]
    assert build().model.foreground.give_way == 0  # type: ignore[attr-defined]
    own = build(phases=PHASES, model={"foreground": {"give_way": 0.7}})
    assert own.model.foreground.give_way == 0.7  # type: ignore[attr-defined]


def test_planned_models_have_dense_glimpse_nets_unless_they_are_told_otherwise() -> None:
    assert build(phases=PHASES).model.foreground.dense == (384, 384)  # type: ignore[attr-defined]
    assert build().model.foreground.dense == ()  # type: ignore[attr-defined]
    convolutions = build(phases=PHASES, model={"foreground": {"dense": []}})
    assert convolutions.model.foreground.dense == ()  # type: ignore[attr-defined]
    assert build(**tomllib.loads(recipe_files.dump(convolutions))) == convolutions


def test_absent_cells_are_explored_only_while_presence_learns_from_evidence() -> None:
    anneal = Anneal(unknown=Schedule(0.1, 0.1), evidence_from=3, explored_cells=2)
    assert [anneal.at(step).explored_cells for step in range(5)] == [0, 0, 0, 2, 2]
    assert Anneal(unknown=Schedule(0.1, 0.1), explored_cells=2).at(9).explored_cells == 0


def test_gains_are_by_the_unexplained_only_while_presence_learns_from_evidence() -> None:
    anneal = Anneal(unknown=Schedule(0.1, 0.1), evidence_from=3, unexplained_only=True)
    assert [anneal.at(step).unexplained_only for step in range(5)] == [False, False, False, True, True]
    assert not anneal.final().unexplained_only
    assert not Anneal(unknown=Schedule(0.1, 0.1), unexplained_only=True).at(9).unexplained_only
    assert not Anneal(unknown=Schedule(0.1, 0.1), evidence_from=3).at(9).unexplained_only, "a recipe has to say so"


def test_what_a_recipe_says_itself_comes_before_the_plan() -> None:
    recipe = build(
        phases=PHASES,
        anneal={"unknown": 0.02, "presence_prior": 0.25, "evidence_from": 3},
        training={"steps": 99, "foreground": {"rate": 1e-4}, "clip_apart": False},
    )
    assert (recipe.anneal.at(0).unknown, recipe.anneal.at(0).presence_prior, recipe.anneal.evidence_from) == (
        0.02,
        0.25,
        3,
    )
    assert (recipe.training.steps, recipe.training.foreground.rate, recipe.training.clip_apart) == (99, 1e-4, False)
    assert recipe.training.foreground.name == "adam", "of a table that says something the rest is filled in"
    assert recipe.anneal.warm_start == 20


def test_sigmas_follow_from_the_model_s_and_a_background_s_is_wide_until_it_has_found_its_colours() -> None:
    recipe = build(phases=PHASES, model={"foreground": {"sigma": 0.2}, "background": {"sigma": 0.1}})
    assert (recipe.anneal.at(0).foreground_sigma, recipe.anneal.final().foreground_sigma) == (0.2, 0.14)
    assert [recipe.anneal.at(step).background_sigma for step in (0, 12, 39)] == pytest.approx([0.3, 0.1, 0.1])
    assert recipe.anneal.final().background_sigma == 0.07


def test_stills_start_from_the_data_with_the_sigma_they_keep() -> None:
    recipe = build(phases=PHASES, model={"background": {"sigma": 0.1, "components": 0, "stills": 1}})
    assert recipe.anneal.at(0).background_sigma == 0.1


@pytest.mark.parametrize(
    "content",
    [
        {"phases": PHASES},
        {"phases": {"objects": 3}, "model": {"kind": "spair"}},
        {"phases": PHASES, "model": {"init": {"what_std": None}}, "anneal": {"evidence_from": None}},
    ],
    ids=str,
)
def test_a_planned_recipe_reads_back_as_it_was(content: dict[str, Any]) -> None:
    recipe = build(**content)
    assert build(**tomllib.loads(recipe_files.dump(recipe))) == recipe


def test_phases_are_for_models_of_cells() -> None:
    with pytest.raises(UserError, match=r"mine\.toml.*phases are for models of cells, and a genesis has none"):
        build(model={"kind": "genesis"}, phases=PHASES)


def test_a_plan_needs_objects_and_knows_its_phases() -> None:
    with pytest.raises(UserError, match=r"phases\.objects"):
        build(phases={"background": 3})
    with pytest.raises(UserError, match="did you mean 'sharpen'"):
        build(phases=PHASES | {"sharpn": 3})


def test_changes_of_the_plan_or_the_width_change_what_follows_from_them(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[phases]\nobjects = 100\n[model.foreground]\nwhat_dim = 9\n")
    recipe = recipe_files.load(
        path, ["phases.warm=50", "model.width=laptop", "model.background.sigma=0.2", "training.batch=3"]
    )
    assert (recipe.training.steps, recipe.anneal.warm_start, recipe.training.batch) == (150, 50, 3)
    assert (recipe.model.foreground.what_dim, recipe.model.background.mask_dim) == (9, 16)  # type: ignore[attr-defined]
    assert recipe.anneal.at(0).background_sigma == 0.2
    assert recipe_files.load(path, ["training.steps=7"]).training.steps == 7


LAPTOP: list[dict[str, Any]] = [
    {"kind": "space", "foreground": {"grid": 8, "glimpse": 16}, "background": {"components": 4}},
    {"kind": "space", "foreground": {"grid": 16, "glimpse": 16}, "background": {"stills": 3, "components": 4}},
    {"kind": "spair", "foreground": {"grid": 8, "glimpse": 16}},
    {"kind": "spair-p", "foreground": {"grid": 8, "glimpse": 16}},
]


def size_of(config: ModelConfig) -> int:
    with torch.device("meta"):
        model = SceneModel.by_config[type(config)](config)
    return sum(each.numel() for each in model.parameters())


@pytest.mark.parametrize("content", LAPTOP, ids=str)
def test_the_laptop_s_nets_are_small(content: dict[str, Any]) -> None:
    paper, laptop = (ModelConfig.model_validate(content | {"width": width}) for width in ("paper", "laptop"))
    assert size_of(laptop) < min(2_000_000, size_of(paper) / 2)


@pytest.mark.parametrize("content", LAPTOP, ids=str)
def test_a_width_fills_in_only_what_is_not_said_and_reads_back(content: dict[str, Any]) -> None:
    own = {"what_dim": 5, "encoder": {"channels": (8,) * 6, "groups": (2,) * 6}}
    config = ModelConfig.model_validate(content | {"width": "laptop", "foreground": content["foreground"] | own})
    assert config.foreground.what_dim == 5  # type: ignore[attr-defined]
    assert config.foreground.encoder.channels == (8,) * 6  # type: ignore[attr-defined]
    assert config.foreground.residual.channels == (64, 64)  # type: ignore[attr-defined]
    assert ModelConfig.model_validate(config.model_dump(mode="json")) == config
    recipe = build(model=config.model_dump(mode="json"))
    assert recipe.model == config


def test_the_paper_s_width_changes_nothing() -> None:
    plain, paper = (ModelConfig.model_validate({"kind": "space"} | extra) for extra in ({}, {"width": "paper"}))
    assert plain == paper
    assert plain.foreground.encoder.channels == (16, 32, 64, 128, 256, 128)  # type: ignore[attr-defined]


def test_the_factor_that_sigmas_once_had_is_read_where_it_means_nothing() -> None:
    assert build(anneal={"sigma_factor": 1.0}).anneal == Anneal()
    for factor in (0.8, "(1.0 -> 0.8):(3 -> 4)"):
        with pytest.raises(UserError, match=r"foreground_sigma and background_sigma"):
            build(anneal={"sigma_factor": factor})


@pytest.mark.parametrize("unknown", [0, "(0.1 -> 0.0):(5 -> 9)"])
@pytest.mark.parametrize(
    "looks", [{"explained_prior": 0.01}, {"explored_cells": 4}, {"unexplained_only": True}, {"lesson": 0.5}], ids=str
)
def test_what_looks_at_the_unknown_needs_it(looks: dict[str, Any], unknown: Any) -> None:
    with pytest.raises(UserError, match=f"{next(iter(looks))} looks at what is unexplained: set unknown above 0"):
        build(anneal=looks | {"unknown": unknown})
