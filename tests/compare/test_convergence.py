"""Runs learn in turns; they are ordinary runs, and go on where they were stopped."""

import itertools
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from objectspace.compare import convergence
from objectspace.compare.candidates import candidate
from objectspace.compare.charts import convergence_chart
from objectspace.compare.convergence import (
    Curve,
    Run,
    Trial,
    Validation,
    curve_of,
    held_out,
    race,
    recipe_for,
    soft_error,
    targets,
)
from objectspace.compare.regimes import regime
from objectspace.data.generate import generate
from objectspace.data.sprites import SpritesSource
from objectspace.data.streams import Stream
from objectspace.errors import UserError
from objectspace.evaluation.pixels import squared_error
from objectspace.models import create
from objectspace.models.genesis import GenesisConfig
from objectspace.training import loop, run
from objectspace.training.loop import DivergedError
from objectspace.training.run import RunOptions, train
from oracle.small import small_config

SHORT = 0.004  # minutes


@pytest.fixture(autouse=True)
def steady_clock(monkeypatch) -> None:
    """Time passes as steps are taken, 0.01 s at each look at the clock, so that a busy machine changes nothing."""
    ticks = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: 0.01 * next(ticks), process_time=lambda: 0.0)
    for module in (loop, run):
        monkeypatch.setattr(module, "time", clock)


@pytest.fixture
def trial(sprites: Path) -> Trial:
    return Trial(sprites, held_out(sprites, 32), SHORT, turns=2, count=4)


@pytest.fixture
def runs(tiny, tmp_path) -> list[Run]:
    candidates = [tiny, replace(tiny, model="other")]
    return [Run(candidate, recipe_for(candidate, batch=4, seed=0), tmp_path) for candidate in candidates]


def nobody(*_: object, **__: object) -> dict:
    raise AssertionError("nothing should be trained")


def test_all_runs_take_their_turns_and_are_validated_after_each(runs, trial) -> None:
    said: list[str] = []
    curves = race(runs, trial, said.append)
    assert [line.split()[1:3] for line in said[:4]] == [
        ["0/2", "tiny-grid1-seed0:"],
        ["0/2", "other-grid1-seed0:"],
        ["1/2", "tiny-grid1-seed0:"],
        ["1/2", "other-grid1-seed0:"],
    ]
    for curve in curves:
        assert curve.validations[0].step == 0
        assert len(curve.validations) == 3
        assert curve.final.seconds >= 60 * SHORT * 0.97
        assert sorted(each.seconds for each in curve.validations) == [each.seconds for each in curve.validations]


def test_every_run_is_an_ordinary_one(runs, trial) -> None:
    race(runs[:1], trial, lambda _: None)
    folder = runs[0].folder
    assert (folder / "model" / "model.safetensors").exists()
    assert 'name = "adam"\nrate = 0.001' in (folder / "recipe.toml").read_text()


@pytest.mark.parametrize("kind", ["space", "spair", "genesis", "iodine"])
def test_each_model_learns_by_its_own_recipe(kind) -> None:
    wanted = regime(kind)
    made = recipe_for(candidate(kind, 128, 8, 5, most=12), batch=3, seed=1)
    assert made.anneal == wanted.anneal
    assert (made.training.batch, made.training.seed) == (3, 1)
    assert made.training.clip == wanted.training.clip
    assert made.training.background == wanted.training.background
    assert made.training.foreground.name == wanted.training.foreground.name
    assert made.training.foreground.rate == 1e-4, "the paper's one exception"
    assert made.model.capacity == candidate(kind, 128, 8, 5, most=12).config.capacity
    if isinstance(made.model, GenesisConfig):
        assert made.model.sigma == 0.7
        assert made.model.geco.goal == 0.5655


def test_the_error_is_that_of_the_soft_reconstruction(trial) -> None:
    recipe = recipe_for(candidate("space", 32, 2, 2), batch=3, seed=0)
    model = create(small_config(grid=(2, 2)), recipe.anneal).eval()
    images = [trial.images.images[number] for number in range(3)]
    stage = recipe.anneal.at(0)
    pixels = torch.stack([torch.tensor(image).permute(2, 0, 1) / 255 for image in images])
    with torch.no_grad():
        soft = model(pixels, stage, sample=False).reconstruction
    expected = float((soft - pixels).square().flatten(1).sum(1).mean())
    assert soft_error(model, images, stage) == pytest.approx(expected, rel=1e-5)
    drawn = [scene.reconstruction for scene in model.decompose(images)]
    errors = [squared_error(*pair) for pair in zip(images, drawn, strict=True)]
    assert abs(sum(errors) / 3 - expected) > 0.01 * expected, "that of the scenes is another"


@pytest.mark.slow
def test_a_finished_comparison_is_not_trained_again(runs, trial, monkeypatch) -> None:
    first = race(runs, trial, lambda _: None)
    monkeypatch.setattr(convergence, "train", nobody)
    assert race(runs, trial, lambda _: None) == first


@pytest.mark.slow
def test_more_minutes_go_on_with_the_same_runs(runs, trial) -> None:
    before = race(runs[:1], trial, lambda _: None)[0]
    after = race(runs[:1], replace(trial, minutes=2 * SHORT), lambda _: None)[0]
    assert after.validations[: len(before.validations)] == before.validations
    assert after.final.step > before.final.step


def test_a_run_that_was_killed_before_its_validation_gets_it(runs, trial) -> None:
    race(runs[:1], trial, lambda _: None)
    content = json.loads(runs[0].measured.read_text())
    lost = content["looks"].pop()
    runs[0].measured.write_text(json.dumps(content))
    race(runs[:1], trial, lambda _: None)
    assert curve_of(runs[0]).final.step == lost["step"]


def test_other_settings_are_refused_in_the_same_directory(runs, trial) -> None:
    race(runs[:1], replace(trial, turns=1), lambda _: None)
    changed = Run(runs[0].candidate, recipe_for(runs[0].candidate, batch=5, seed=0), runs[0].out)
    with pytest.raises(UserError, match="begun with another recipe"):
        race([changed], trial, lambda _: None)
    with pytest.raises(UserError, match="begun with another images"):
        race(runs[:1], replace(trial, count=3), lambda _: None)


def test_a_comparison_that_an_earlier_version_began_goes_on(runs, trial) -> None:
    race(runs[:1], replace(trial, turns=1), lambda _: None)
    content = json.loads(runs[0].measured.read_text())
    before = content["recipe"]
    content["recipe"] = content["recipe"].replace("validate_every", "look_every")
    content["looks"] = [
        {("mse" if key == "squared_error" else key): each[key] for key in each} for each in content["looks"]
    ]
    runs[0].measured.write_text(json.dumps(content))
    assert content["recipe"] != before
    runs[0].measured.write_text(json.dumps(content))
    (curve,) = race(runs[:1], trial, lambda _: None)
    assert len(curve.validations) == 3
    runs[0].measured.write_text(json.dumps(content | {"measure": None}))  # the error was once that of scenes
    with pytest.raises(UserError, match="begun with another measure"):
        race(runs[:1], trial, lambda _: None)


def test_a_signal_stops_the_comparison(runs, trial, monkeypatch) -> None:
    def stopped(recipe: object, options: RunOptions, say: object) -> dict:
        return {"ended": "stopped"}

    monkeypatch.setattr(convergence, "train", stopped)
    with pytest.raises(KeyboardInterrupt):
        race(runs, trial, lambda _: None)


def test_without_held_out_images_there_is_nothing_to_measure(tmp_path) -> None:
    generate(SpritesSource(height=32, width=32), tmp_path, [Stream("train", 2)], workers=1)
    with pytest.raises(UserError, match="no split val or test"):
        held_out(tmp_path, 32)


def test_a_run_has_arrived_near_the_best_of_its_grid(tiny, tmp_path) -> None:
    def curve(model: str, grid: int, *errors: float) -> Curve:
        reached = tuple(Validation(number, 60.0 * number, error) for number, error in enumerate(errors))
        return Curve(replace(tiny, model=model, grid=grid), reached)

    curves = [curve("a", 4, 100, 54, 50), curve("b", 4, 100, 90, 80), curve("b", 8, 30, 20)]
    goals = targets(curves)
    assert goals == {4: pytest.approx(55), 8: pytest.approx(22)}
    assert [each.minutes_to(goals[each.candidate.grid]) for each in curves] == [1.0, None, 1.0]
    convergence_chart(curves, tmp_path / "convergence.png")
    assert (tmp_path / "convergence.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"), "out of memory"),
        (MemoryError(), "out of memory"),
        (DivergedError("the gradient was not finite"), "failed: the gradient was not finite"),
    ],
)
def test_a_run_that_fails_is_named_and_the_others_go_on(runs, trial, monkeypatch, tmp_path, error, failure) -> None:

    def fails_for_the_first(recipe, options, say):
        if options.run == runs[0].folder:
            raise error
        return train(recipe, options, say)

    monkeypatch.setattr(convergence, "train", fails_for_the_first)
    first, second = race(runs, trial, lambda _: None)
    assert first.failure == failure
    assert len(first.validations) == 1
    assert second.failure is None
    assert len(second.validations) == 3
    convergence_chart([first, second, Curve(runs[0].candidate, (), "out of memory")], tmp_path / "chart.png")
    assert targets([Curve(runs[0].candidate, (), "out of memory")]) == {}


def test_another_error_is_not_hidden(runs, trial, monkeypatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a shape does not fit")

    monkeypatch.setattr(convergence, "train", broken)
    with pytest.raises(RuntimeError, match="a shape"):
        race(runs, trial, lambda _: None)
