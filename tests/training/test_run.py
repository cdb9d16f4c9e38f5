import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import objectspace
from objectspace.config import Recipe
from objectspace.errors import UserError
from objectspace.recipe_files import build
from objectspace.training import loop
from objectspace.training.run import Options, train

QUIET = lambda line: None  # noqa: E731


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "model" / "model.safetensors")


def changed(recipe: Recipe, **training: int) -> Recipe:
    content = recipe.model_dump(mode="json")
    content["training"] |= training
    return build(content, "changed")


def test_a_run_leaves_everything_it_promises(tiny: Recipe, sprites: Path, tmp_path: Path) -> None:
    said: list[str] = []
    summary = train(tiny, Options(sprites, tmp_path / "run"), said.append)
    run = tmp_path / "run"
    assert summary["ended"] == "finished"
    assert {path.name for path in run.iterdir()} >= {"recipe.toml", "metrics.jsonl", "latest.png", "summary.json"}
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "loss" in line] == list(range(1, 13))
    assert {"val_ap50", "val_count_error", "val_mse"} <= {key for line in lines for key in line}
    assert objectspace.load(run / "model").decompose(torch.rand(3, 50, 40))[0].width == 40
    assert any("objects" in line and "left" in line for line in said)


def test_the_same_seed_gives_the_same_weights(tiny: Recipe, sprites: Path, tmp_path: Path) -> None:
    for name in ("first", "second"):
        train(tiny, Options(sprites, tmp_path / name), QUIET)
    first, second = weights(tmp_path / "first"), weights(tmp_path / "second")
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_a_run_resumed_twice_ends_with_the_same_bits(
    tiny: Recipe, sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(tiny, Options(sprites, tmp_path / "whole"), QUIET)
    take_step, calls = loop.take_step, 0

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
            train(tiny, Options(sprites, torn, resume=resume), QUIET)
    train(tiny, Options(sprites, torn, resume=True), QUIET)
    first, second = weights(tmp_path / "whole"), weights(torn)
    assert all(torch.equal(first[name], second[name]) for name in first)
    metrics = [(run / "metrics.jsonl").read_text().splitlines() for run in (tmp_path / "whole", torn)]
    steps = [[json.loads(line)["step"] for line in lines] for lines in metrics]
    assert steps[0] == steps[1], "the journal has the same lines"


def test_a_damaged_checkpoint_falls_back_to_the_one_before(tiny: Recipe, sprites: Path, tmp_path: Path) -> None:
    run, said = tmp_path / "run", list[str]()
    train(tiny, Options(sprites, run), QUIET)
    expected = weights(run)
    newest = run / "checkpoints" / "00000012" / "state.safetensors"
    newest.write_bytes(newest.read_bytes()[:-50])
    train(tiny, Options(sprites, run, resume=True), said.append)
    assert any("00000012 is damaged" in line for line in said)
    assert "going on from step 8" in said
    assert all(torch.equal(expected[name], value) for name, value in weights(run).items())


def test_a_changed_recipe_is_refused_and_named(tiny: Recipe, sprites: Path, tmp_path: Path) -> None:
    train(tiny, Options(sprites, tmp_path / "run"), QUIET)
    with pytest.raises(UserError, match=r"training\.batch: 4 -> 5"):
        train(changed(tiny, batch=5), Options(sprites, tmp_path / "run", resume=True), QUIET)


def test_a_run_does_not_overwrite_another(tiny: Recipe, sprites: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("")
    with pytest.raises(UserError, match="not empty"):
        train(tiny, Options(sprites, tmp_path), QUIET)
    with pytest.raises(UserError, match="no run"):
        train(tiny, Options(sprites, tmp_path, resume=True), QUIET)


def test_it_stops_after_the_minutes_it_was_given(tiny: Recipe, sprites: Path, tmp_path: Path) -> None:
    summary = train(changed(tiny, steps=10**6), Options(sprites, tmp_path / "run", minutes=0.02), QUIET)
    assert summary["ended"] == "out of time"
    assert objectspace.load(tmp_path / "run" / "model")


def test_steps_without_a_finite_gradient_change_nothing_and_end_the_run(
    tiny: Recipe, sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to_images = loop.to_images
    monkeypatch.setattr(loop, "to_images", lambda *arguments: to_images(*arguments) * float("nan"))
    with pytest.raises(UserError, match="not finite in 20 steps in a row"):
        train(changed(tiny, steps=50, look_every=1000), Options(sprites, tmp_path / "run"), QUIET)
