"""The command line as a user meets it: exit codes, texts, no tracebacks; in real processes where those matter."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from helpers.commands import command as run

SPRITES = ["--train", "8", "--val", "0", "--test", "4", "--size", "24", "--smallest", "0.3", "--largest", "0.4"]
ALONE = ("--workers", 1)  # a worker takes longer to start than a few images do


def start(*arguments: object, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """A process of its own, as a user starts it."""
    command = [sys.executable, "-m", "objectspace", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, env=os.environ | environment)


@pytest.fixture(scope="module")
def printed() -> subprocess.CompletedProcess[bytes]:
    """A recipe with an old key and letters of all kinds, printed where the terminal knows none of them."""
    changes = ("--set", "training.look_every=9", "--set", "about=Grüße 🚀")
    return start("recipes", "show", "space-sprites-fast", *changes, PYTHONIOENCODING="ascii")


@pytest.fixture(scope="module")
def sprites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("cli") / "sprites"
    run("data", "sprites", root, *SPRITES, *ALONE)
    return root


@pytest.fixture
def damaged(sprites: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return shutil.copytree(sprites, tmp_path / "set")


@pytest.mark.slow
def test_a_process_ends_with_the_code_and_the_words_of_its_command(
    printed: subprocess.CompletedProcess[bytes], tmp_path: Path
) -> None:
    assert printed.returncode == 0
    failed = start("data", "show", tmp_path / "absent")
    assert (failed.returncode, failed.stdout) == (2, b"")
    assert failed.stderr.startswith(b"error: there is no directory")


def test_help_names_the_commands() -> None:
    text = run("--help").stdout
    assert all(word in text for word in ("data", "recipes", "demo"))
    text = run("data", "--help").stdout
    assert all(word in text for word in ("rooms", "atari", "sprites", "convert", "show", "info"))
    assert run("--version").stdout.startswith("objectspace ")


def test_sprites_are_made_once(sprites: Path) -> None:
    assert "nothing to do" in run("data", "sprites", sprites, *SPRITES).stdout
    again = run("data", "sprites", sprites, *SPRITES, "--seed", 1, code=2)
    assert "--seed 0, and now --seed 1" in again.stderr


def test_show_writes_a_sheet(sprites: Path, tmp_path: Path) -> None:
    run("data", "show", sprites, "-o", tmp_path / "deep" / "sheet.png", "--split", "test")
    with Image.open(tmp_path / "deep" / "sheet.png") as sheet:
        assert np.asarray(sheet).std() > 10
    assert "cannot write the picture" in run("data", "show", sprites, "-o", tmp_path / "sheet.nonsense", code=2).stderr
    assert "--start lies beyond" in run("data", "show", sprites, "--start", 99, code=2).stderr


def test_info_counts_and_plots(sprites: Path, tmp_path: Path) -> None:
    text = run("data", "info", sprites, "-o", tmp_path / "plot.png").stdout
    assert "train" in text
    assert "24 x 24" in text
    assert (tmp_path / "plot.png").stat().st_size > 5000


def test_a_split_that_cannot_be_read_does_not_hide_the_others(damaged: Path) -> None:
    (damaged / "test" / "annotations.json").write_text("{")
    done = run("data", "info", damaged, code=1)
    assert "train" in done.stdout
    assert "annotations.json" in done.stderr


def test_a_bad_file_is_listed_with_its_reason(damaged: Path) -> None:
    (damaged / "train" / "images" / "00000003.png").write_bytes(b"")
    assert "left out: train: 00000003.png: " in run("data", "info", damaged).stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["data", "show", "absent"], "there is no directory absent"),
        (["data", "show", "."], "is not a data set"),
        (["data", "info", "."], "is not a data set"),
        (["data", "sprites", "x", "--ground", "lava"], "there is no ground 'lava'"),
        (["data", "rooms", "x", "--variant", "medium"], "medium"),
        (["data", "atari", "x", "--games", "SpaceInvader"], "SpaceInvaders"),
        (["data", "sprites", "x", "--train", "0", "--val", "0", "--test", "0"], "0 images"),
        (["data", "convert", "absent", "x", "--format", "folder"], "absent"),
        (["data", "convert", ".", "x", "--format", "foldr"], "folder"),
        (["recipes", "show", "space-room-small"], "space-rooms-small"),
        (["recipes", "show", "space-rooms-small", "--set", "training.stepz=1"], "did you mean 'steps'"),
        (["data", "sprites", "x", "--train", "-5"], "--train"),
        (["data", "nonsense"], "nonsense"),
    ],
)
def test_bad_input_is_explained_and_leaves_nothing_behind(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in run(*arguments, code=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_recipes_are_listed_and_printed(tmp_path: Path) -> None:
    assert "space-rooms-large" in run("recipes").stdout
    text = run("recipes", "show", "space-rooms-small", "--set", "training.steps=9").stdout
    assert "steps = 9" in text
    (tmp_path / "mine.toml").write_text(text)
    assert run("recipes", "show", tmp_path / "mine.toml").stdout == text


@pytest.mark.slow
def test_an_old_key_is_taken_with_a_hint_at_its_new_name(printed: subprocess.CompletedProcess[bytes]) -> None:
    assert b"validate_every = 9" in printed.stdout
    assert printed.stderr.startswith(b"hint: training.look_every is now called training.validate_every")


@pytest.mark.slow
def test_a_recipe_is_printed_in_utf_8_on_any_terminal(printed: subprocess.CompletedProcess[bytes]) -> None:
    assert printed.stdout.decode().startswith('about = "Grüße 🚀"\n')


def test_a_folder_of_pictures_becomes_a_data_set(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    for number in range(3):
        Image.new("L", (20, 10 + number), 50 * number).save(tmp_path / "pictures" / f"{number}.png")
    (tmp_path / "pictures" / "broken.png").write_bytes(b"")
    done = run("data", "convert", tmp_path / "pictures", tmp_path / "set", "--format", "folder", *ALONE, code=1)
    assert "3 images" in done.stdout
    assert "left out: " in done.stderr
    assert "broken.png" in done.stderr
    looked = run("data", "info", tmp_path / "set")
    assert "different sizes" in looked.stderr
    assert "10 x 20 to 12 x 20, seen at 128 x 128" in looked.stdout
    assert "broken.png" in looked.stderr
    run("data", "show", tmp_path / "set", "-o", tmp_path / "sheet.png")


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "objectspace", "data", "sprites", str(tmp_path / "set"), "--train", "50000"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background starts deaf to it
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
    )
    signal.signal(signal.SIGINT, before)
    deadline = time.monotonic() + 60
    while not (tmp_path / "set" / ".making" / "train.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command continues" in errors
    assert "Traceback" not in errors


def test_a_published_checkpoint_is_imported_and_a_foreign_file_explained(tmp_path: Path) -> None:
    official = Path(__file__).parent / "data" / "official"
    shapes = json.loads((official / "official_checkpoint_keys.json").read_text())
    weights = {name: torch.zeros(shape) for name, shape in shapes.items()}
    torch.save({"model": weights}, tmp_path / "model.pth")
    said = run("import-official", tmp_path / "model.pth", tmp_path / "model", "--components", 3, "--channels", "bgr")
    assert "8 x 8 and 3 components, bgr" in said.stdout
    assert {path.name for path in (tmp_path / "model").iterdir()} == {"config.json", "model.safetensors"}
    assert "is there already" in run("import-official", tmp_path / "model.pth", tmp_path / "model", code=2).stderr
    (tmp_path / "text.pth").write_text("hello")
    assert "no torch checkpoint" in run("import-official", tmp_path / "text.pth", tmp_path / "other", code=2).stderr
    assert not (tmp_path / "other").exists()
