"""`objectspace train auto` on small folders, with nets so small that a step takes a moment."""

import json

import numpy as np
import pytest
import torch
from PIL import Image

from helpers.commands import command
from objectspace.auto import choose, guess, judge, plan
from objectspace.auto.judge import Verdict
from objectspace.recipes.files import load_run
from objectspace.training import ladder
from objectspace.training.rungs import rungs as all_rungs

torch.set_num_threads(1)
TINY = [
    f"--set={change}"
    for change in (
        "model.image_size=32",
        "model.view.scale=0",
        "model.foreground.grid=4",
        "model.foreground.glimpse=8",
        "model.foreground.what_dim=4",
        "model.foreground.budget=4",
        "model.foreground.dense=[8]",
        "model.foreground.encoder={channels=[4,4,4,4,4,4],groups=[2,2,2,2,2,2]}",
        "model.background.hidden=4",
        "model.background.encoder_channels=[4,4,4,4]",
        "training.batch=2",
    )
]
LABELLED = ("annotations.json", "labels.txt")


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(plan, "RUNG_STEPS", 2)
    monkeypatch.setattr(plan, "LEAST_STEPS", 2)
    monkeypatch.setattr(plan, "TIMED", 1)
    monkeypatch.setattr(guess, "LOOKED_AT", 6)
    monkeypatch.setattr(choose, "PLAN", {"warm": 2, "objects": 2, "sharpen": 2})
    monkeypatch.setattr(choose, "BACKGROUND", dict.fromkeys(choose.BACKGROUND, 2))


def run_auto(data, out, *more, code=0):
    return command("train", "auto", "--data", data, "--out", out, *TINY, *more, code=code)


@pytest.mark.slow
def test_a_folder_becomes_a_model_with_a_verdict_and_bad_files_are_named(draw, folder, tmp_path, short):
    data = folder(draw(16, 48, (4,), number=3))
    (data / "broken.png").write_bytes(b"no picture")
    Image.fromarray(draw(1, 80)[0]).save(data / "other-size.png")
    out = tmp_path / "run"
    said = run_auto(data, out, "--set", "phases.price=33").stdout
    assert "broken.png" in said
    assert "verdict: " in said
    assert "objectspace decompose" in said
    record = json.loads((out / "auto.json").read_text())
    assert record["verdict"]["word"] in ("good", "doubtful", "failed")
    assert record["objects"]["side"] == pytest.approx(9, rel=0.2)
    assert record["phases"]["price"] == 33
    assert set(record["reasons"]) >= {"phases.size", "model.background"}
    assert (out / "looked.png").exists()
    assert (out / "model" / "config.json").exists()
    recipe = load_run(out)
    assert recipe.phases is not None
    assert (recipe.phases.price, recipe.model.image_size) == (33, (32, 32))
    assert json.loads((out / "summary.json").read_text())["verdict"] == record["verdict"]
    assert "is not empty" in run_auto(data, out, code=2).stderr
    resumed = run_auto(data, out, "--resume").stdout  # finished: nothing is looked at again
    assert "looked at" not in resumed
    assert "verdict: " in resumed


def test_explained_it_says_what_it_would_choose_and_does_not_train(draw, folder, tmp_path, short):
    out = tmp_path / "run"
    said = run_auto(folder(draw(10, 48, (4,), number=3)), out, "--explain", "--set", "training.ladder=0").stdout
    assert "phases.size = " in said
    assert (out / "auto.json").exists()
    assert not (out / "recipe.toml").exists()


def test_time_that_is_too_short_is_said_before_the_first_step(draw, folder, tmp_path, short, monkeypatch):
    monkeypatch.setattr(choose, "PLAN", {"warm": 10_000, "objects": 10_000, "sharpen": 10_000})
    data = folder(draw(10, 48, (4,), number=3))
    said = run_auto(data, tmp_path / "run", "--explain", "--set", "training.ladder=0", "--minutes", 0.5).stdout
    assert "of the steps that such pictures want" in said


@pytest.mark.parametrize(
    ("made", "more", "message"),
    [
        (3, [], "at least 8 are needed"),
        (0, [], "at least 8 are needed"),
        (9, ["--restarts", "2"], "take a recipe"),
        (9, ["--set", "phases.sise=0.2"], "did you mean 'size'"),
    ],
)
def test_what_cannot_be_trained_is_explained(draw, folder, tmp_path, made, more, message, short):
    data = folder(draw(made, 48, (4,), number=3))
    assert message in run_auto(data, tmp_path / "run", *more, code=2).stderr


def test_labels_are_never_read(draw, folder, tmp_path, short):
    data = folder(draw(10, 48, (4,), number=3))
    for name in LABELLED:
        (data / name).write_text("{ not even JSON")
    run_auto(data, tmp_path / "run", "--explain", "--set", "training.ladder=0")


def test_explain_is_for_auto_alone(tmp_path):
    said = command("train", "space-folder", "--data", tmp_path, "--out", tmp_path / "run", "--explain", code=2)
    assert "recipes show" in said.stderr


def test_files_that_cannot_be_read_are_too_many(folder, tmp_path, draw, short):
    data = folder(draw(2, 48, (4,), number=3))
    for number in range(10):
        (data / f"bad-{number}.png").write_bytes(np.random.default_rng(number).bytes(20))
    assert "can be read" in run_auto(data, tmp_path / "run", code=2).stderr


@pytest.mark.slow
def test_what_is_not_good_is_tried_again_with_another_background(draw, folder, tmp_path, short, monkeypatch):
    data, out = folder(draw(14, 48, (4,), number=3)), tmp_path / "run"
    monkeypatch.setattr(
        plan, "_some_rungs", lambda recipe, guessed, images: all_rungs(plan._background(recipe), images)[:2]
    )
    monkeypatch.setattr(ladder, "WORTH", -9.0)  # so that both are tried
    monkeypatch.setattr(judge, "judge", lambda seen, doubts: Verdict("doubtful", ("so it is said",), ()))
    said = run_auto(data, out, "--minutes", 5).stdout
    assert "another try" in said
    assert "verdict on the other try: " in said
    assert (out / "second" / "model" / "config.json").exists()
    kept = json.loads((out / "auto.json").read_text())["model"]
    assert ("the first one stays" in said) == (kept == ".")
    weights = [
        path.read_bytes() for path in (out / "model" / "model.safetensors", out / kept / "model" / "model.safetensors")
    ]
    assert weights[0] == weights[1]
