"""`objectspace compare`, and a model in a file of one's own on its whole way: docs/adding-a-model.md."""

import json
from pathlib import Path

import pytest

from helpers.commands import command
from helpers.sprites import few_sprites
from objectspace.config import ModelConfig

EXAMPLES = Path(__file__).parents[2] / "examples"
TINY = ("--with", EXAMPLES / "tiny_model.py")
SMALL = (
    "--set",
    "model.image_size=32",
    "--set",
    "model.slots=3",
    "--set",
    "model.width=4",
    "--set",
    "training.batch=4",
)


@pytest.fixture(scope="module")
def sprites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return few_sprites(tmp_path_factory.mktemp("compare") / "sprites", train=12, test=4)


@pytest.fixture(scope="module")
def trained(sprites: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of the example model, trained for a moment; tests put what they make of them beside them."""
    root = tmp_path_factory.mktemp("trained")
    for seed in range(2):
        steps = ("--set", "training.steps=3", "--set", f"training.seed={seed}")
        out = root / f"tiny-{seed}"
        command(*TINY, "train", EXAMPLES / "tiny.toml", "--data", sprites, "--out", out, *SMALL, *steps)
    return root


def test_a_model_of_ones_own_trains_evaluates_and_takes_images_apart(run, sprites, trained) -> None:
    model = trained / "tiny-0" / "model"
    out, _ = run(*TINY, "evaluate", sprites, "--model", model)
    assert "squared error" in out
    run(*TINY, "decompose", sprites / "test" / "images", "--model", model, "--out", trained / "objects")
    found = json.loads((trained / "objects" / "annotations.json").read_text())
    assert len(found["images"]) == 4
    assert found["annotations"]
    run(*TINY, "sample", "--model", model, "--count", 2, "-o", trained / "sample.png")


def test_it_appears_in_the_table_and_beside_others(run, sprites, trained, model_folder) -> None:
    seeds = [trained / f"tiny-{seed}" for seed in range(2)]
    table = (*TINY, "compare", "table", *seeds, model_folder, "--data", sprites, "--out", trained / "table")
    out, _ = run(*table)
    lines = (trained / "table" / "table.md").read_text().splitlines()
    assert lines[2].startswith("| tiny 3 | sprites | 2 | ")
    assert lines[3].startswith("| space 16+3 | sprites | 1 | ")
    assert "±" in lines[2]
    assert (trained / "table" / "table.tex").read_text().startswith(r"\begin{tabular}")
    numbers = json.loads((trained / "table" / "table.json").read_text())["models"]
    assert [each["seed"] for each in numbers] == [0, 1, None]
    assert run(*table)[0] == out  # all from what was kept
    page = trained / "pictures" / "page.html"
    run(*TINY, "compare", "pictures", seeds[0], model_folder, "--data", sprites, "--images", 2, "--out", page)
    assert page.read_text().count("<section") == 2
    assert page.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_a_run_is_measured_on_its_own_data_unless_told(run, trained) -> None:
    out, _ = run(*TINY, "compare", "table", trained / "tiny-0", "--out", trained / "own")
    assert "sprites" in out


@pytest.mark.slow
def test_it_takes_part_in_the_comparison_of_steps(run, tmp_path) -> None:
    sizes = ("--models", "tiny", "--grids", "1", "--components", 2, "--size", 32, "--batch", 3)
    steps = (*TINY, "compare", "latency", "--out", tmp_path / "steps", *sizes, "--repeats", 1, "--threads", 1)
    out, _ = run(*steps)
    points = json.loads((tmp_path / "steps" / "latency.json").read_text())["points"]
    assert [(point["model"], point["capacity"], point["status"]) for point in points] == [("tiny", 3, "measured")]
    assert (tmp_path / "steps" / "latency.png").exists()
    assert run(*steps)[0] == out  # nothing is measured again


@pytest.mark.slow
def test_it_takes_part_in_the_race_with_a_word_on_who_has_less_capacity(run, sprites, tmp_path) -> None:
    sizes = ("--models", "tiny", "--grids", "1,2", "--components", 2, "--size", 32, "--batch", 3)
    race = ("--data", sprites, "--minutes", 0.004, "--turns", 1, "--most-components", 4)
    out, _ = run(*TINY, "compare", "convergence", "--out", tmp_path / "race", *sizes, *race)
    assert "tiny at 2 x 2: 4" in out
    runs = json.loads((tmp_path / "race" / "convergence.json").read_text())["runs"]
    assert [each["capacity"] for each in runs] == ["3", "4"]
    assert (tmp_path / "race" / "convergence.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("latency", "--models", "spase"), "did you mean 'space'"),
        (("latency", "--grids", "4,x"), "give whole numbers with commas"),
        (("latency", "--size", "64", "--grids", "32"), "does not fit an image of 64 x 64"),
        (("latency", "--out", "{file}/x"), "cannot write"),
        (("convergence", "--data", "{absent}", "--minutes", "1", "--out", "{out}"), "there is no directory"),
        (("convergence", "--data", "{data}", "--minutes", "1", "--out", "{file}"), "cannot write"),
        (("table", "nothing", "--out", "{out}"), "there is no run or model 'nothing'"),
        (("table", "space-sprites", "--out", "{out}"), "does not say what it was trained on: give --data"),
        (("table", "space-sprites", "--data", "{data}", "--split", "val", "--out", "{out}"), "has no split 'val'"),
        (("pictures", "space-sprites", "--data", "{data}", "--out", "{out}.png"), "must end in .html"),
        (("pictures", "nothing", "--data", "{data}", "--out", "{out}.html"), "there is no run or model 'nothing'"),
        (("pictures", "space-sprites", "--data", "{data}", "--split", "val"), "has no split 'val'"),
    ],
)
def test_what_cannot_be_compared_is_explained(run, sprites, tmp_path, arguments, message) -> None:
    places = {"data": sprites, "absent": tmp_path / "absent", "out": tmp_path / "out", "file": tmp_path / "file"}
    places["file"].write_text("")
    _, said = run("compare", *(argument.format(**places) for argument in arguments), code=2)
    assert message in said
    assert not (tmp_path / "out").exists()


def test_weights_of_a_kind_that_nobody_declared_ask_for_its_file(run, sprites, trained, monkeypatch) -> None:
    known = {kind: config for kind, config in ModelConfig.kinds.items() if kind != "tiny"}
    monkeypatch.setattr(ModelConfig, "kinds", known)
    _, said = run("evaluate", sprites, "--model", trained / "tiny-0" / "model", code=2)
    assert "there is no kind of model 'tiny'" in said
    assert "objectspace --with FILE" in said


def test_a_broken_file_is_named_with_its_line(run, tmp_path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("import torch\n\ndef f(:\n")
    _, said = run("--with", path, "models", code=2)
    assert f"{path}, line 3: SyntaxError" in said
