"""`objectspace train`: what it refuses, before anything is made. What it does is in tests/training."""

import pytest


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "there is no directory"),
        ({"recipe": "space-rooms-smal"}, "did you mean 'space-rooms-small"),
        ({"--set": "training.stepz=1"}, "did you mean 'steps'"),
        ({"--set": "training.background.rate=inf"}, "training.background.rate = inf: Input should be a finite number"),
        ({"--set": "model.init.presence_bias=nan"}, "model.init.presence_bias = nan: Input should be a finite number"),
        ({"--set": "anneal.temperature=nan"}, "a schedule needs finite values"),
        ({"--precision": "bf16"}, "did you mean 'bf16-mixed'"),
        ({"--accelerator": "abacus"}, "cannot train with --accelerator abacus"),
        ({"--minutes": "-1"}, "--minutes"),
    ],
)
def test_what_cannot_be_trained_is_explained_and_nothing_is_made(run, tmp_path, changes, message):
    values = {"recipe": "space-rooms-small", "--data": tmp_path / "absent", "--out": tmp_path / "run"} | changes
    recipe = values.pop("recipe")
    _, said = run("train", recipe, *(part for option in values.items() for part in option), code=2)
    assert message in said
    assert not (tmp_path / "run").exists()
