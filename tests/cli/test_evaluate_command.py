"""`objectspace evaluate`, with a small untrained model whose objects can be seen."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from helpers.commands import Said, command
from helpers.sprites import few_sprites
from objectspace.cli.evaluate import evaluate, print_report
from objectspace.data import Dataset
from objectspace.errors import UserError
from objectspace.evaluation.boxes import count_errors, paper_ap
from objectspace.evaluation.report import BoxMeasures, Report, RuleMeasures
from objectspace.models import create, load
from objectspace.models.genesis import GenesisConfig
from oracle.small import small_config

KEYS = (
    "ap50 ap count_error accuracy overcount undercount squared_error coco_ap50 coco_ap fg_ari ari miou mbo "
    "precision recall f1 images objects seconds model data split"
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("evaluate")


@pytest.fixture(scope="module")
def sprites(root: Path) -> Path:
    return few_sprites(root / "sprites", test=20)


@pytest.fixture(scope="module")
def model(root: Path) -> Path:
    torch.set_num_threads(1)
    made = create(small_config(), seed=1)
    with torch.no_grad():
        made.foreground.glimpse_decoder.dec_alpha.bias.fill_(4)  # opaque
    made.save_pretrained(root / "model")
    return root / "model"


def run(*arguments: object, code: int = 0) -> Said:
    return command("evaluate", *arguments, code=code)


def test_it_measures_prints_and_writes(sprites: Path, model: Path, tmp_path: Path) -> None:
    target = tmp_path / "new" / "numbers.json"
    done = run(sprites, "--model", model, "--split", "test", "--json", target)
    numbers = json.loads(target.read_text())
    assert set(KEYS.split()) <= numbers.keys()
    assert (numbers["images"], numbers["split"], numbers["data"]) == (20, "test", str(sprites))
    assert [path.name for path in target.parent.iterdir()] == ["numbers.json"]
    assert "10/11 = 0.909" in done.stdout
    assert "visible" in done.stdout
    assert "projected" in done.stdout
    assert f"{numbers['squared_error']:.3f}" in done.stdout
    assert "20/20" in done.stderr, "progress"


def test_the_numbers_are_those_of_the_models_scenes(sprites: Path, model: Path, tmp_path: Path) -> None:
    evaluate(sprites, str(model), "test", tmp_path / "numbers.json", 18)
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    dataset = Dataset(sprites, "test")
    scenes = load(model).decompose([dataset.images[index] for index in range(18)])
    assert sum(len(scene.objects) for scene in scenes) == numbers["predicted"] > 0
    visible = [(scene.boxes, scene.scores) for scene in scenes], [dataset.visible_boxes(n) for n in range(18)]
    projected = [(scene.where_boxes, scene.scores) for scene in scenes], [dataset.boxes(n) for n in range(18)]
    assert numbers["ap50"] == pytest.approx(paper_ap(*visible, 0.5), abs=1e-9)
    assert numbers["projected_ap50"] == pytest.approx(paper_ap(*projected, 0.5), abs=1e-9)
    assert numbers["count_error"] == pytest.approx(count_errors(*visible).error_rate)
    errors = [np.square(dataset.images[n] / 255 - scene.reconstruction / 255).sum() for n, scene in enumerate(scenes)]
    assert numbers["squared_error"] == pytest.approx(np.mean(errors))


def test_the_published_rule_stands_beside_ours_and_alone(sprites: Path, model: Path, tmp_path: Path) -> None:
    both = run(sprites, "--model", model, "--json", tmp_path / "both.json")
    alone = run(sprites, "--model", model, "--rule", "published", "--json", tmp_path / "alone.json")
    ours, published = (json.loads((tmp_path / name).read_text()) for name in ("both.json", "alone.json"))
    dataset = Dataset(sprites, "test")
    scenes = load(model).decompose_published(list(dataset.images))
    predictions = [(scene.where_boxes, scene.scores) for scene in scenes]
    expected = count_errors(predictions, [dataset.boxes(number) for number in range(20)]).error_rate
    assert ours["published_count_error"] == published["published_count_error"] == pytest.approx(expected)
    assert ours["published_predicted"] > ours["predicted"], "duplicates are counted"
    assert (published["ap50"], published["squared_error"], published["rule"]) == (None, None, "published")
    assert "published" in both.stdout
    assert "visible" in both.stdout
    assert "visible" not in alone.stdout
    assert "20/20" in alone.stderr, "progress"


def test_a_model_without_cells_has_no_published_rule(sprites: Path, tmp_path: Path) -> None:
    create(GenesisConfig(image_size=(32, 32), components=2)).save_pretrained(tmp_path / "model")
    with pytest.raises(UserError, match="counts cells"):
        evaluate(sprites, str(tmp_path / "model"), "test", rule="published")
    evaluate(sprites, str(tmp_path / "model"), "test", tmp_path / "numbers.json", 2)
    assert "published_ap50" not in json.loads((tmp_path / "numbers.json").read_text())


def test_what_moves_is_measured_beside_all(sprites: Path, model: Path, tmp_path: Path) -> None:
    done = run(sprites, "--model", model, "--moving", "--json", tmp_path / "numbers.json")
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert "stands still: nothing" in done.stdout
    assert numbers["moving_f1"] == numbers["f1"]
    assert numbers["still"] == {"": []}
    with pytest.raises(UserError, match="--moving belongs to our rule"):
        evaluate(sprites, str(model), "test", rule="published", moving=True)


def test_categories_may_be_left_out(sprites: Path, model: Path, tmp_path: Path) -> None:
    dataset = Dataset(sprites, "test")
    names = [name for index in range(20) for name in dataset.categories(index)]
    first = names[0]
    done = run(sprites, "--model", model, "--without", f"{first}, ", "--json", tmp_path / "numbers.json")
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert numbers["without"] == [first]
    assert numbers["objects"] == len(names) - names.count(first)
    assert first not in numbers["recall_by_category"]
    assert f"without {first}" in done.stdout
    wrong = run(sprites, "--model", model, "--without", "unicorn", code=2)
    assert "unicorn" in wrong.stderr
    assert first in wrong.stderr


def test_images_of_other_sizes_are_measured_at_the_models(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few_sprites(tmp_path / "set", (48, 64), test=3)
    evaluate(tmp_path / "set", str(model), "test", tmp_path / "numbers.json")
    assert "at 32 x 32" in capsys.readouterr().out
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert numbers["size"] == [32, 32]
    assert numbers["mbo"] > 0


def test_pictures_without_truth_of_mixed_sizes_give_the_pixel_error(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "set" / "test" / "images").mkdir(parents=True)
    for number in range(3):
        Image.new("RGB", (20 + number, 30), (50, 60, 70)).save(tmp_path / "set" / "test" / "images" / f"{number}.png")
    evaluate(tmp_path / "set", str(model), "test", tmp_path / "numbers.json", limit=99)
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert numbers["squared_error"] > 0
    assert (numbers["images"], numbers["objects"]) == (3, 0)
    assert [numbers[key] for key in ("ap50", "projected_ap", "coco_ap", "ari", "recall", "accuracy")] == [None] * 6
    said = capsys.readouterr().out
    assert "only the pixels" in said
    assert "AP" not in said


def test_bad_input_is_explained(sprites: Path, model: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no split 'tset'; it has test"):
        evaluate(sprites, str(model), "tset")
    with pytest.raises(UserError, match="no directory"):
        evaluate(tmp_path / "absent", str(model), "test")
    with pytest.raises(UserError, match="not a data set"):
        evaluate(tmp_path, str(model), "test")
    with pytest.raises(UserError, match="no model 'absent'"):
        evaluate(sprites, "absent", "test")
    with pytest.raises(UserError, match="cannot write"):
        evaluate(sprites, str(model), "test", tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        evaluate(sprites, str(model), "test", tmp_path / "file" / "numbers.json")
    assert "no model" in run(sprites, "--model", tmp_path / "absent", code=2).stderr


def test_categories_and_games_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def measured(f1: float, **more: object) -> Report:
        boxes = BoxMeasures(f1=f1, recall_by_category={"Alien": 1.0, "Bullet": 0.25})
        return Report(images=1, objects=2, predicted=2, seconds=1.0, iou=0.5, visible=boxes, **more)

    print_report(measured(0.5, groups={"Pong": measured(0.125), "MontezumaRevenge": measured(0.375)}), "games")
    said = capsys.readouterr().out
    assert "found at IoU 0.5: Alien 1.000, Bullet 0.250" in said
    rows = {line.split()[0]: line.split() for line in said.splitlines() if line}
    assert rows["MontezumaRevenge"][6] == "0.375"
    assert rows["mean"][6] == "0.250"


def test_a_row_of_games_shows_what_moves_and_what_a_display_costs(capsys: pytest.CaptureFixture[str]) -> None:
    def measured(f1: float, **more: object) -> Report:
        strict, moving = (
            RuleMeasures(2, 2, BoxMeasures(f1=value), 0.0, 1.0, 0, 0) for value in (f1 - 0.125, f1 + 0.125)
        )
        return Report(1, 2, 2, 1.0, 0.5, BoxMeasures(f1=f1), accuracy=1.0, strict=strict, moving=moving, **more)

    print_report(measured(0.5, groups={"Pong": measured(0.25), "MontezumaRevenge": measured(0.5)}), "games")
    said = capsys.readouterr().out
    rows = {line.split()[0]: line.split() for line in said.splitlines() if line}
    assert rows["Pong"][-2:] == ["0.125", "0.375"]
    assert rows["mean"][-2:] == ["0.250", "0.500"]
    assert "strict: as visible" in said
    assert max(len(line.rstrip()) for line in said.splitlines() if line.startswith(("Pong", "Montezuma"))) <= 80
