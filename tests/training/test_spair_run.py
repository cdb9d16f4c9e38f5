"""SPAIR and SPAIR-P train like any other model: a run can be killed, resumed and used."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import objectspace
from helpers.tiny import SINGLE
from objectspace.recipes.files import build
from objectspace.recipes.recipe import Recipe
from objectspace.training import loop
from objectspace.training.run import RunOptions, train
from objectspace.training.step import take_step

PATCH = {
    "dim": 4,
    "encoder": {"channels": [4] * 5, "groups": [2] * 5},
    "decoder": {"channels": [4] * 5, "groups": [2] * 5},
}


@pytest.fixture(params=["spair", "spair-p"])
def recipe(request: pytest.FixtureRequest, tiny: Recipe) -> Recipe:
    content = tiny.model_dump(mode="json")
    content["model"] |= {"kind": request.param, "context_dim": 4, "background": SINGLE}
    if request.param == "spair-p":
        content["model"] |= {"image_size": [64, 64], "background": PATCH}
    content["training"] |= {"steps": 6, "validate_every": 3, "save_every": 2}
    return build(content, "the tests' recipe")


@pytest.mark.slow
def test_a_run_resumed_ends_with_the_same_bits(
    recipe: Recipe, sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = list[str]().append
    assert train(recipe, RunOptions(sprites, tmp_path / "whole"), quiet)["ended"] == "finished"

    def dying(*arguments):
        if arguments[4] == 3:  # in the middle between two checkpoints
            raise RuntimeError("killed")
        return take_step(*arguments)

    monkeypatch.setattr(loop, "take_step", dying)
    with pytest.raises(RuntimeError, match="killed"):
        train(recipe, RunOptions(sprites, tmp_path / "torn"), quiet)
    monkeypatch.setattr(loop, "take_step", take_step)
    train(recipe, RunOptions(sprites, tmp_path / "torn", resume=True), quiet)
    first, second = (load_file(tmp_path / run / "model" / "model.safetensors") for run in ("whole", "torn"))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert objectspace.load(tmp_path / "whole" / "model").decompose(torch.rand(3, 50, 40))[0].width == 40
    assert (tmp_path / "whole" / "latest.png").exists()
