import json
import os
import shutil
import signal
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import objectspace
from objectspace.errors import UserError
from objectspace.io.files import write_json
from objectspace.models import create
from objectspace.recipes.files import build
from objectspace.recipes.recipe import Recipe
from objectspace.training import batches, checkpoint, loop, validation
from objectspace.training.directory import prepare
from objectspace.training.monitor import Vitals
from objectspace.training.run import RunOptions, train
from objectspace.training.state import save
from objectspace.training.step import take_step

QUIET = lambda line: None  # noqa: E731


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "model" / "model.safetensors")


def changed(recipe: Recipe, **training: int) -> Recipe:
    content = recipe.model_dump(mode="json")
    content["training"] |= training
    return build(content, "changed")


def test_a_run_leaves_everything_it_promises_and_the_same_weights_each_time(
    tiny: Recipe, sprites: Path, tmp_path: Path, finished: Path
) -> None:
    said: list[str] = []
    summary = train(tiny, RunOptions(sprites, tmp_path / "run"), said.append)
    run = tmp_path / "run"
    assert summary["ended"] == "finished"
    assert {path.name for path in run.iterdir()} >= {"recipe.toml", "metrics.jsonl", "latest.png", "summary.json"}
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "loss" in line] == list(range(1, 13))
    assert {"val_ap50", "val_count_error", "val_squared_error"} <= {key for line in lines for key in line}
    assert objectspace.load(run / "model").decompose(torch.rand(3, 50, 40))[0].width == 40
    assert any("objects" in line and "left" in line for line in said)
    first, second = weights(finished), weights(run)
    assert all(torch.equal(first[name], second[name]) for name in first), "they have the same seed"


def test_a_run_resumed_twice_ends_with_the_same_bits(
    tiny: Recipe, sprites: Path, tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    def dying(*arguments):
        nonlocal calls
        calls += 1
        if calls in (7, 11):  # in the middle between two checkpoints
            raise RuntimeError("killed")
        return take_step(*arguments)

    monkeypatch.setattr(loop, "take_step", dying)
    torn = tmp_path / "torn"
    for resume in (False, True):
        with pytest.raises(RuntimeError, match="killed"):
            train(tiny, RunOptions(sprites, torn, resume=resume), QUIET)
    train(tiny, RunOptions(sprites, torn, resume=True), QUIET)
    first, second = weights(finished), weights(torn)
    assert all(torch.equal(first[name], second[name]) for name in first)
    metrics = [(run / "metrics.jsonl").read_text().splitlines() for run in (finished, torn)]
    steps = [[json.loads(line)["step"] for line in lines] for lines in metrics]
    assert steps[0] == steps[1], "the journal has the same lines"


def test_a_damaged_checkpoint_falls_back_to_the_one_before(
    tiny: Recipe, sprites: Path, tmp_path: Path, finished: Path
) -> None:
    run, said = shutil.copytree(finished, tmp_path / "run"), list[str]()
    expected = weights(run)
    newest = run / "checkpoints" / "00000012" / "state.safetensors"
    newest.write_bytes(newest.read_bytes()[:-50])
    train(tiny, RunOptions(sprites, run, resume=True), said.append)
    assert any("00000012 is damaged" in line for line in said)
    assert "going on from step 8" in said
    assert all(torch.equal(expected[name], value) for name, value in weights(run).items())


def test_a_changed_recipe_is_refused_and_named(tiny: Recipe, sprites: Path, tmp_path: Path, finished: Path) -> None:
    shutil.copytree(finished, tmp_path / "run")
    with pytest.raises(UserError, match=r"training\.batch: 4 -> 5"):
        train(changed(tiny, batch=5), RunOptions(sprites, tmp_path / "run", resume=True), QUIET)


def test_a_run_does_not_overwrite_another(tiny: Recipe, sprites: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("")
    with pytest.raises(UserError, match="not empty"):
        train(tiny, RunOptions(sprites, tmp_path), QUIET)
    with pytest.raises(UserError, match="no run"):
        train(tiny, RunOptions(sprites, tmp_path, resume=True), QUIET)


def test_a_run_is_found_again_whatever_its_recipe_says_of_itself(tiny: Recipe, tmp_path: Path) -> None:
    recipe, said = tiny.model_copy(update={"about": 'a 🚀, "quoted"\nC:\\new\x1b'}), list[str]()
    assert prepare(tmp_path, recipe, resume=False, say=said.append) == (None, [])
    assert prepare(tmp_path, recipe, resume=True, say=said.append) == (None, [])
    assert said == ["no checkpoint yet: starting from step 0"]
    with pytest.raises(UserError, match="the recipe has changed since the run began \\(about"):
        prepare(tmp_path, tiny, resume=True, say=QUIET)


def test_it_stops_after_the_minutes_it_was_given(tiny: Recipe, sprites: Path, tmp_path: Path) -> None:
    summary = train(changed(tiny, steps=10**6), RunOptions(sprites, tmp_path / "run", minutes=0.02), QUIET)
    assert summary["ended"] == "out of time"
    assert objectspace.load(tmp_path / "run" / "model")


def test_a_signal_during_the_last_save_is_not_lost(
    tiny: Recipe, sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def interrupted(*arguments) -> None:
        save(*arguments)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(loop, "save", interrupted)
    assert train(tiny, RunOptions(sprites, tmp_path / "run", minutes=0), QUIET)["ended"] == "stopped"


def test_steps_without_a_finite_gradient_change_nothing_and_end_the_run(
    tiny: Recipe, sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to_images = batches.to_images
    monkeypatch.setattr(loop, "to_images", lambda *arguments: to_images(*arguments) * float("nan"))
    with pytest.raises(UserError, match="not finite in 20 steps in a row"):
        train(changed(tiny, steps=50, validate_every=1000), RunOptions(sprites, tmp_path / "run"), QUIET)
    found, _ = checkpoint.load_newest(tmp_path / "run" / "checkpoints")
    assert found is not None
    assert found.facts["state"]["skipped"] == found.step == 16
    fresh = create(tiny.model, tiny.anneal, seed=0).state_dict()
    assert all(torch.equal(found.tensors[f"model/{name}"], value) for name, value in fresh.items())


def test_a_skipped_step_is_counted_and_the_run_goes_on(
    tiny: Recipe, sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to_images = batches.to_images

    def poisoned(dataset, sampler, step, fabric):
        return to_images(dataset, sampler, step, fabric) * (float("nan") if step == 1 else 1.0)

    monkeypatch.setattr(loop, "to_images", poisoned)
    summary = train(changed(tiny, steps=4), RunOptions(sprites, tmp_path / "run"), QUIET)
    assert (summary["state"]["skipped"], summary["state"]["skipped_in_a_row"]) == (1, 0)
    assert all(value.isfinite().all() for value in weights(tmp_path / "run").values())


@pytest.mark.slow
def test_a_resumed_run_collapses_when_it_would_have(
    tiny: Recipe, sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = changed(tiny, steps=8, validate_every=2, watch_from=0, save_every=2)
    monkeypatch.setattr(validation, "vitals", lambda scenes: Vitals(0.0, 0.1, 0.0, 0.5, 2))

    def dying(*arguments):
        if arguments[4] == 4:  # after two validations
            raise RuntimeError("killed")
        return take_step(*arguments)

    run = tmp_path / "run"
    monkeypatch.setattr(loop, "take_step", dying)
    with pytest.raises(RuntimeError, match="killed"):
        train(recipe, RunOptions(sprites, run, restarts=1), QUIET)
    monkeypatch.setattr(loop, "take_step", take_step)
    summary = train(recipe, RunOptions(sprites, run, resume=True, restarts=1), QUIET)
    assert summary["failed_starts"] == [{"seed": 0, "collapse": "all-background", "step": 6}]
    assert (summary["seed"], summary["ended"]) == (1, "finished")
    assert (run / "metrics-seed0.jsonl").exists()


@pytest.mark.slow
def test_a_run_killed_while_it_gave_a_start_up_does_not_go_on_with_it(
    tiny: Recipe, sprites: Path, tmp_path: Path
) -> None:
    run, said = tmp_path / "run", list[str]()
    train(changed(tiny, steps=4), RunOptions(sprites, run), QUIET)
    write_json(run / "failed-starts.json", {"starts": [{"seed": 0, "collapse": "splitting", "step": 4}]})
    summary = train(changed(tiny, steps=4), RunOptions(sprites, run, resume=True), said.append)
    assert summary["seed"] == 1
    assert "going on from step 4" not in said
    assert (run / "metrics-seed0.jsonl").exists()


def test_resuming_what_never_began_starts_it(tiny: Recipe, sprites: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".probe").write_text("")  # killed in the middle of its first check
    said = list[str]()
    assert train(changed(tiny, steps=1), RunOptions(sprites, tmp_path / "run", resume=True), said.append)
    assert "starting one" in said[0]


def test_the_best_validation_is_remembered_and_nan_is_never_best(
    tiny: Recipe, sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = iter([0.2, float("nan"), 0.5, 0.1])
    monkeypatch.setattr(validation, "measure", lambda *measured: {"val_ap": next(values)})
    summary = train(changed(tiny, steps=4, validate_every=1), RunOptions(sprites, tmp_path / "run"), QUIET)
    assert (summary["state"]["best"], summary["state"]["best_step"]) == (0.5, 3)


def test_what_moves_is_told_to_the_model(tiny: Recipe, sprites: Path, tmp_path: Path) -> None:
    """The same images, once as runs of four successive frames: then presence is held against another prior."""
    shutil.copytree(sprites, tmp_path / "runs")
    path = tmp_path / "runs" / "train" / "annotations.json"
    content = json.loads(path.read_text())
    for number, image in enumerate(content["images"]):
        image["sequence"] = f"run {number // 4}"
    path.write_text(json.dumps(content))
    hinted = build(changed(tiny, steps=1).model_dump(mode="json") | {"anneal": {"motion_prior": 0.9}}, "hinted")
    with pytest.raises(UserError, match="nothing can be seen to move"):
        train(hinted, RunOptions(sprites, tmp_path / "none"), QUIET)
    terms = {}
    for name, recipe in (("plain", changed(tiny, steps=1)), ("hinted", hinted)):
        train(recipe, RunOptions(tmp_path / "runs", tmp_path / name), QUIET)
        terms[name] = json.loads((tmp_path / name / "metrics.jsonl").read_text().splitlines()[0])
    assert terms["hinted"]["log_likelihood"] == terms["plain"]["log_likelihood"]
    assert terms["hinted"]["kl_presence"] != terms["plain"]["kl_presence"]


@pytest.mark.slow
def test_the_background_learns_alone_first_also_across_a_resume(tiny: Recipe, sprites: Path, tmp_path: Path) -> None:
    def alone(steps: int) -> Recipe:
        return build(changed(tiny, steps=steps).model_dump(mode="json") | {"anneal": {"background_first": 6}}, "alone")

    train(alone(4), RunOptions(sprites, tmp_path / "short"), QUIET)
    fresh, short = create(tiny.model, tiny.anneal, tiny.training.seed).state_dict(), weights(tmp_path / "short")
    moved = {name.split(".")[0] for name in short if not torch.equal(short[name].float(), fresh[name].float())}
    assert moved == {"background"}
    train(alone(12), RunOptions(sprites, tmp_path / "whole"), QUIET)
    train(alone(12), RunOptions(sprites, tmp_path / "torn", minutes=0), QUIET)
    assert json.loads((tmp_path / "torn" / "summary.json").read_text())["state"]["step"] < 6
    train(alone(12), RunOptions(sprites, tmp_path / "torn", resume=True), QUIET)
    whole, torn = weights(tmp_path / "whole"), weights(tmp_path / "torn")
    assert all(torch.equal(whole[name], torn[name]) for name in whole)
    assert not torch.equal(whole["foreground.heads.z_pres_net.bias"], fresh["foreground.heads.z_pres_net.bias"])
