"""What is taken away from a recipe is gone, and an ablation of a tiny one runs, goes on, and tells what failed."""

import inspect
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import ablation
from benchmarks.ablation import minutes_to, plan
from benchmarks.pieces import WHOLE, moved, pieces_of
from helpers.sprites import few_sprites
from objectspace.errors import UserError
from objectspace.models.parts.grid import GridModel
from objectspace.ops.schedules import Schedule
from objectspace.recipes import files as recipe_files
from objectspace.recipes.recipe import Recipe
from objectspace.training.loop import DivergedError
from objectspace.training.run import RunOptions, train

FAST = [
    name
    for name in recipe_files.shipped()
    if name.startswith("space-") and name.endswith("-fast") and recipe_files.load(name).phases
]
TINY = (
    "model.image_size=32",
    "model.foreground.grid=4",
    "model.foreground.glimpse=8",
    "model.foreground.budget=4",
    "phases.background=2",
    "phases.warm=2",
    "phases.objects=2",
    "phases.sharpen=2",
    "training.batch=4",
    "training.background_repeats=0",
    "training.log_every=1",
    "training.validate_every=4",
    "training.validate_images=4",
)
RUNS = ["warm-start-seed0", "whole-seed0"]


def stages(recipe: Recipe) -> list[Any]:
    return [recipe.anneal.at(step) for step in range(recipe.training.steps)]


GONE: dict[str, Callable[[Any], bool]] = {
    "unknown": lambda recipe: not any(stage.unknown for stage in stages(recipe)),
    "warm start": lambda recipe: all(stage.warm is None for stage in stages(recipe)),
    "own objective": lambda recipe: not any(stage.own_background for stage in stages(recipe)),
    "colour by alpha": lambda recipe: recipe.model.foreground.premultiplied,
    "narrow nets": lambda recipe: recipe.model.foreground.encoder.channels == (16, 32, 64, 128, 256, 128),
    "big boxes first": lambda recipe: (
        len({(stage.scale_prior_mean, stage.scale_prior_std) for stage in stages(recipe)}) == 1
    ),
    "presence by evidence": lambda recipe: not any(stage.presence_by_evidence for stage in stages(recipe)),
    "lesson": lambda recipe: not any(stage.lesson for stage in stages(recipe)),
    "giving way": lambda recipe: recipe.model.foreground.give_way == 0,
    "margin": lambda recipe: recipe.model.foreground.margin == 0,
    "dense nets": lambda recipe: recipe.model.foreground.dense == (),
    "stills": lambda recipe: recipe.model.background.stills == 0 and recipe.model.background.components > 0,
    "palette": lambda recipe: not recipe.model.background.palette and recipe.model.background.stray == 0,
}


def test_there_are_recipes_to_take_pieces_from() -> None:
    assert {"space-rooms-small-fast", "space-spaceinvaders-fast", "space-sprites-fast"} <= set(FAST)


@pytest.mark.parametrize("name", FAST)
def test_each_piece_is_in_the_recipe_and_gone_once_it_is_taken_away(name: str, tmp_path: Path) -> None:
    whole = recipe_files.load(name)
    runs, missing = plan(name, (), (0,), None, tmp_path)
    trained = {run.piece.name: run.recipe for run in runs if not run.piece.decompose}
    background = whole.model.background  # type: ignore[attr-defined]
    has = {way: getattr(background, way) > 0 for way in ("stills", "palette")}
    assert [piece.name for piece in missing] == [way for way, there in has.items() if not there]
    assert trained.pop(WHOLE) == whole
    assert set(trained) == set(GONE) - {piece.name for piece in missing}
    for piece, recipe in trained.items():
        assert not GONE[piece](whole), piece
        assert GONE[piece](recipe), piece
        final, before = recipe.anneal.final(), whole.anneal.final()
        assert final.scale_prior_mean == before.scale_prior_mean, piece
        assert recipe_files.build(recipe.model_dump(mode="json"), piece) == recipe


@pytest.mark.parametrize("name", FAST)
def test_without_a_warm_start_all_that_came_after_it_comes_earlier(name: str) -> None:
    whole = recipe_files.load(name)
    cold = recipe_files.load(name, pieces_of(whole)["warm start"].overrides)
    begin, skipped = whole.anneal.objects_from, whole.anneal.warm_start
    assert cold.training.steps == whole.training.steps - skipped
    for key, schedule in whole.anneal:
        if isinstance(schedule, Schedule):
            after = [getattr(cold.anneal, key).at(step - skipped) for step in range(begin, whole.training.steps + 1)]
            assert after == [schedule.at(step) for step in range(begin, whole.training.steps + 1)], key


def test_only_schedules_that_a_recipe_says_itself_have_to_be_moved() -> None:
    assert moved(recipe_files.load("space-rooms-small-fast")) == []
    own = "anneal.background_sigma=(0.3 -> 0.1):(0 -> 120) then (0.1 -> 0.07):(1400 -> 1550)"
    earlier = own.replace("(1400 -> 1550)", "(900 -> 1050)")  # by the 500 steps of the warm start
    assert moved(recipe_files.load("space-rooms-small-fast", [own])) == [earlier]


def test_a_recipe_without_phases_has_nothing_to_take_away(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="space-rooms-small does not train by phases"):
        plan("space-rooms-small", (), (0,), None, tmp_path)


def test_pieces_of_taking_apart_are_what_decompose_can_leave_out() -> None:
    known = inspect.signature(GridModel.decompose).parameters
    asked = [piece.decompose for piece in pieces_of(recipe_files.load(FAST[0])).values() if piece.decompose]
    assert asked == [{"price": None}, {"leftovers": False}, {"second_look": False}]
    for each in asked:
        for key, value in each.items():
            assert known[key].default != value


def test_the_time_to_the_target_is_that_of_the_first_validation_that_reaches_it() -> None:
    times: list[dict[str, float]] = [{"step": step, "seconds": 3.0 * step} for step in (20, 40, 60)]
    validations = [
        {"step": 25, "val_ap50": float("nan")},
        {"step": 50, "val_ap50": 0.89},
        {"step": 60, "val_ap50": 0.9},
    ]
    assert minutes_to(0.89, [*times, *validations]) == pytest.approx(2.5)
    assert minutes_to(0.95, [*times, *validations]) is None


@pytest.fixture(scope="module")
def sprites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return few_sprites(tmp_path_factory.mktemp("ablation") / "sprites", train=20, val=6)


def ablate(data: Path, out: Path, *more: str) -> None:
    """The command, for two pieces and one seed."""
    given = [str(data), "--out", str(out), "--seeds", "0", "--pieces", "warm-start", "second look", "--set", *TINY]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["ablation", *given, *more])
        ablation.main()


@pytest.fixture(scope="module")
def finished(sprites: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("ablation") / "out"
    ablate(sprites, out)
    return out


@pytest.fixture
def again(finished: Path, tmp_path: Path) -> Path:
    """A copy of a finished ablation, to be changed."""
    return Path(shutil.copytree(finished, tmp_path / "out"))


def nobody(*_: object, **__: object) -> dict[str, Any]:
    raise AssertionError("nothing should be trained")


def results(out: Path) -> dict[str, Any]:
    return dict(json.loads((out / "ablation.json").read_text())["results"])


def rows(out: Path) -> dict[str, list[str]]:
    lines = (out / "ablation.md").read_text().split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in cells}


@pytest.mark.slow
def test_runs_are_ordinary_ones_and_every_piece_has_a_row(finished: Path) -> None:
    assert sorted(path.name for path in (finished / "runs").iterdir()) == RUNS
    steps = [json.loads((finished / "runs" / name / "summary.json").read_text())["state"]["step"] for name in RUNS]
    assert steps == [6, 8]
    table, numbers = rows(finished), results(finished)
    assert list(table) == ["whole", "warm start", "second look"]
    assert "`phases.warm=0`" in table["warm start"][0]
    assert "`decompose(second_look=False)`" in table["second look"][0]
    for name, piece in zip(("whole-seed0", "warm-start-seed0", "second-look-seed0"), table.values(), strict=True):
        for rule, cell in (("ours", piece[2]), ("published", piece[4])):
            ap50, ap, count_error = numbers[name][rule].values()
            assert cell == f"{ap50:.3f} / {ap:.3f} / {count_error:.3f}"
    gaps = [numbers["warm-start-seed0"]["ours"][key] - numbers["whole-seed0"]["ours"][key] for key in ablation.MEASURES]
    assert table["warm start"][6] == f"{gaps[1]:+.3f} / {gaps[2]:+.3f}"
    assert table["second look"][8:] == ["as whole", "as whole"]
    assert table["whole"][9] == "-", "eight steps do not reach the target"


@pytest.mark.slow
def test_the_same_command_again_trains_and_measures_nothing(
    sprites: Path, again: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (again / "ablation.json").read_text(), (again / "ablation.md").read_text()
    monkeypatch.setattr(ablation, "train", nobody)
    monkeypatch.setattr(ablation, "measure", nobody)
    ablate(sprites, again)
    assert ((again / "ablation.json").read_text(), (again / "ablation.md").read_text()) == before


@pytest.mark.slow
def test_with_fewer_images_finished_runs_are_only_measured_again(
    sprites: Path, again: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ablation, "train", nobody)
    ablate(sprites, again, "--images", "2")
    assert {result["measured_on"]["images"] for result in results(again).values()} == {2}


@pytest.mark.slow
def test_a_stopped_run_goes_on(
    sprites: Path, again: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = results(again)

    def stops_early(recipe: Recipe, options: RunOptions, say: Any) -> dict[str, Any]:
        return train(recipe, replace(options, minutes=0), say) | {"ended": "stopped"}

    shutil.rmtree(again / "runs" / "warm-start-seed0")
    monkeypatch.setattr(ablation, "train", stops_early)
    with pytest.raises(SystemExit) as ended:
        ablate(sprites, again)
    assert ended.value.code == 130
    assert "the same command continues" in capsys.readouterr().err
    assert json.loads((again / "runs" / "warm-start-seed0" / "summary.json").read_text())["state"]["step"] == 1
    monkeypatch.undo()
    ablate(sprites, again)
    assert results(again)["warm-start-seed0"]["ours"] == before["warm-start-seed0"]["ours"]


@pytest.mark.slow
def test_a_run_that_diverged_is_named_and_the_others_go_on(
    sprites: Path, again: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def diverges(recipe: Recipe, options: RunOptions, say: object) -> dict[str, Any]:
        options.run.mkdir()
        raise DivergedError("the gradient was not finite")

    shutil.rmtree(again / "runs" / "warm-start-seed0")
    monkeypatch.setattr(ablation, "train", diverges)
    ablate(sprites, again)
    table = rows(again)
    assert table["warm start"][2:4] == ["diverged", "- / - / -"]
    assert "diverged" not in table["whole"] + table["second look"]
    assert "warm start, seed 0, diverged: the gradient was not finite" in (again / "ablation.md").read_text()
    monkeypatch.setattr(ablation, "train", nobody)
    ablate(sprites, again)
    assert rows(again) == table


@pytest.mark.slow
def test_a_piece_that_is_looked_at_in_a_diverged_whole_is_not_trained_again(
    sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def diverges(recipe: Recipe, options: RunOptions, say: object) -> dict[str, Any]:
        tried.append(options.run.name)
        options.run.mkdir(parents=True)
        raise DivergedError("the gradient was not finite")

    monkeypatch.setattr(ablation, "train", diverges)
    ablate(sprites, tmp_path / "out")
    assert sorted(tried) == RUNS
    assert [row[2] for row in rows(tmp_path / "out").values()] == ["diverged"] * 3


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--pieces", "warm stat"], "there is no piece 'warm stat'; did you mean 'warm start'?"),
        (["--images", "0"], "at least one image"),
        (["--set", "training.batch=5"], "was begun with another recipe"),
    ],
)
def test_what_cannot_be_done_is_said(
    sprites: Path, finished: Path, capsys: pytest.CaptureFixture[str], more: list[str], reason: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        ablate(sprites, finished, *more)
    assert ended.value.code == 2
    assert reason in capsys.readouterr().err
