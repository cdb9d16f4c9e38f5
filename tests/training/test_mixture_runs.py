"""Runs of models that have nothing but components: they finish, resume with the same bits, and notice a collapse."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from objectspace.models import Genesis, load
from objectspace.recipes.files import build
from objectspace.recipes.recipe import Recipe
from objectspace.scene import Component, Scene
from objectspace.training import batches, loop
from objectspace.training.monitor import PATIENCE, Watch, vitals
from objectspace.training.run import RunOptions, train
from objectspace.training.step import take_step
from oracle.mixtures import SMALL_IODINE
from oracle.small import SMALL_BACKGROUND

QUIET = lambda line: None  # noqa: E731
TRAINING = {"steps": 8, "batch": 4, "log_every": 1, "validate_every": 4, "validate_images": 4, "save_every": 3}
MODELS: dict[str, dict[str, Any]] = {
    "genesis": {**SMALL_BACKGROUND, "kind": "genesis", "components": 3, "geco": {"goal": 0.1, "smoothing": 0.5}},
    "iodine": {**SMALL_IODINE, "kind": "iodine"},
}


@pytest.fixture(params=MODELS)
def recipe(request: pytest.FixtureRequest) -> Recipe:
    return build({"model": {**MODELS[request.param], "image_size": 32}, "training": TRAINING}, "the tests' recipe")


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "model" / "model.safetensors")


@pytest.mark.slow
def test_a_resumed_run_ends_with_the_same_bits(
    recipe: Recipe, sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    summary = train(recipe, RunOptions(sprites, whole), QUIET)
    assert (summary["ended"], summary["state"]["skipped"]) == ("finished", 0)
    lines = [json.loads(line) for line in (whole / "metrics.jsonl").read_text().splitlines()]
    assert {"val_ap50", "val_squared_error", "val_objects", "loss", "squared_error", "objects"} <= {
        key for line in lines for key in line
    }
    assert (whole / "latest.png").exists()

    def dying(*arguments: Any) -> Any:
        if arguments[4] == 5:  # between two checkpoints
            raise RuntimeError("killed")
        return take_step(*arguments)

    monkeypatch.setattr(loop, "take_step", dying)
    with pytest.raises(RuntimeError, match="killed"):
        train(recipe, RunOptions(sprites, torn), QUIET)
    monkeypatch.setattr(loop, "take_step", take_step)
    train(recipe, RunOptions(sprites, torn, resume=True), QUIET)
    first, second = weights(whole), weights(torn)
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
    model = load(whole / "model")
    if isinstance(model, Genesis):
        assert float(model.beta) < 1, "the likelihood is still short of its goal"


def test_a_skipped_step_leaves_the_weight_of_the_kl_alone(
    sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, float]] = []
    content = {"model": {**MODELS["genesis"], "image_size": 32}, "training": {**TRAINING, "steps": 3}}
    to_images, after_step = batches.to_images, Genesis.after_step

    def poisoned(dataset: Any, sampler: Any, step: int, fabric: Any) -> torch.Tensor:
        return to_images(dataset, sampler, step, fabric) * (float("nan") if step == 1 else 1.0)

    def noted(self: Genesis, terms: dict[str, float]) -> None:
        seen.append(terms)
        after_step(self, terms)

    monkeypatch.setattr(loop, "to_images", poisoned)
    monkeypatch.setattr(Genesis, "after_step", noted)
    summary = train(build(content, "poisoned"), RunOptions(sprites, tmp_path / "run"), QUIET)
    assert (summary["state"]["skipped"], len(seen)) == (1, 2)
    assert weights(tmp_path / "run")["beta"].isfinite()


def test_mixed_precision_trains_them(recipe: Recipe, sprites: Path, tmp_path: Path) -> None:
    short = recipe.model_copy(update={"training": recipe.training.model_copy(update={"steps": 2})})
    summary = train(short, RunOptions(sprites, tmp_path / "run", precision="bf16-mixed"), QUIET)
    assert (summary["ended"], summary["state"]["skipped"]) == ("finished", 0)


def test_one_component_that_draws_all_is_a_collapse(recipe: Recipe) -> None:
    everything, nothing = np.ones((8, 8), np.bool_), np.zeros((8, 8), np.bool_)
    dead = Scene(8, 8, components=(Component(everything, box=(0, 0, 8, 8)), Component(nothing), Component(nothing)))
    halves = replace(dead, components=(Component(everything.copy(), box=(0, 0, 8, 8)),) * 2)
    watch = Watch(recipe.model.cells, recipe.model.collapses, 0)
    assert not any(watch.check(step, vitals([halves])) for step in range(PATIENCE + 1))
    found = [watch.check(step, vitals([dead])) for step in range(PATIENCE)]
    assert [collapse.name for collapse in found[-1]] == ["one-component"]
    assert found[-1][0].fatal
    assert "model.sigma" in found[-1][0].advice
    assert "sigma" in type(recipe.model).model_fields, "the advice names a setting that exists"
