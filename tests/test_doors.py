"""The doors of the package: what `import objectspace` offers."""

import subprocess
import sys
from pathlib import Path

import pytest

import objectspace
from objectspace.data.generate import generate
from objectspace.data.sprites import SpritesSource
from objectspace.data.streams import Stream
from objectspace.errors import UserError

FEW = ["phases.background=2", "phases.warm=1", "phases.objects=2", "phases.sharpen=1"]
FEW += ["training.background_repeats=0", "training.validate_images=2"]


@pytest.fixture(scope="module")
def sprites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("doors") / "sprites"
    generate(SpritesSource(), root, [Stream("train", 20), Stream("val", 2), Stream("test", 4)], workers=1)
    return root


def test_everything_that_is_promised_is_there() -> None:
    assert all(getattr(objectspace, name) is not None for name in objectspace.__all__)
    with pytest.raises(AttributeError, match="no attribute 'unicorn'"):
        _ = objectspace.unicorn


@pytest.mark.slow
def test_train_load_and_evaluate_are_one_way_from_images_to_numbers(sprites: Path, tmp_path: Path) -> None:
    summary = objectspace.train("space-sprites-fast", sprites, tmp_path / "run", changes=FEW)
    assert (summary["ended"], summary["state"]["step"]) == ("finished", 6)
    model = objectspace.load(tmp_path / "run" / "model")
    report = objectspace.evaluate(model, objectspace.Dataset(sprites, "test", model.config.image_size), limit=3)
    assert report.images == 3
    assert "published_ap50" in report.to_dict()


def test_create_gives_a_fresh_model_of_a_recipe_or_of_a_config() -> None:
    model = objectspace.create("space-sprites-fast", changes=["model.foreground.grid=4"], seed=3)
    assert model.config.cells == 16
    same, other = (objectspace.create(model.config, seed=seed) for seed in (3, 4))
    weights = [each.state_dict()["foreground.heads.z_pres_net.weight"] for each in (model, same, other)]
    assert weights[0].equal(weights[1])
    assert not weights[0].equal(weights[2])


def test_a_wrong_name_is_answered_kindly(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="space-sprites-fast"):
        objectspace.create("space-sprite-fast")
    with pytest.raises(UserError, match="nothing"):
        objectspace.train("space-sprites-fast", tmp_path / "nothing", tmp_path / "run")


def test_the_door_is_light() -> None:
    code = "import sys, objectspace; objectspace.Scene; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
