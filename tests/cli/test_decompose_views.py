"""`objectspace decompose` in tiles and with stretched brightness, what it says aloud, and rows one can use."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from objectspace.config import View
from objectspace.io.view import stretched
from objectspace.models import Space, create, load
from objectspace.models.card import Unexplained, read_card
from objectspace.scene import Scene
from oracle.mixtures import small_genesis


@pytest.fixture
def photo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """A picture larger than any model here, in a file, and tmp_path as the working directory."""
    monkeypatch.chdir(tmp_path)
    pixels = np.random.default_rng(0).integers(0, 255, (90, 120, 3), dtype=np.uint8)
    Image.fromarray(pixels).save("photo.png")
    return pixels


def test_tiles_are_what_the_model_gives_in_tiles(run, model_folder, photo):
    _, said = run("decompose", "photo.png", "--model", model_folder, "--out", "out", "--tile", "--tile-scale", "0.8")
    assert "shrunk" not in said
    model = load(model_folder)
    assert isinstance(model, Space)
    expected = model.decompose(photo, tile=True, scale=0.8)[0]
    scene = Scene.from_json(Path("out/scenes/photo.json").read_text())
    assert np.array_equal(scene.boxes, expected.boxes)
    assert Path("out/report.html").exists()
    _, refused = run("decompose", "photo.png", "--model", model_folder, "--out", "out", code=2)
    assert "--tile was True" in refused


def test_a_shrunk_picture_is_said_once(run, model_folder, photo):
    Image.fromarray(photo[:80]).save("other.png")
    _, said = run("decompose", "photo.png", "other.png", "--model", model_folder, "--out", "out")
    assert said.count("were shrunk") == 1
    assert "120 x 90" in said


def test_nothing_found_is_a_warning(run, model_folder, photo):
    _, said = run(
        "decompose", "photo.png", "--model", model_folder, "--out", "out", "--price", "1000", "--no-leftovers"
    )
    assert "warning: 0 objects in the image" in said
    assert "--tile" in said


def test_images_unlike_the_training_images_are_named(run, photo, monkeypatch):
    card = read_card(Path(load.__code__.co_filename).parents[1] / "weights" / "space-sprites")
    usual = Unexplained(images=9, median=0.001, most=0.002)
    monkeypatch.setattr("objectspace.models.card.shipped", lambda: [replace(card, unexplained=usual)])
    _, said = run("decompose", "photo.png", "--model", "space-sprites", "--out", "out", "--no-report")
    assert "unlike those that the model was trained on" in said
    assert "photo.png: " in said
    shares = {
        image["file_name"]: image["unexplained"]
        for image in json.loads(Path("out/annotations.json").read_text())["images"]
    }
    assert shares["photo.png"] > 0.052


def test_a_stretch_is_applied_at_full_depth_and_shown_on_the_page(run, model_folder, photo, tmp_path):
    model, view = load(model_folder).seeing(View(stretch="each")), View(stretch="each")
    model.save_pretrained("stretching")
    dark = photo[..., 0].astype(np.uint16) * 8 + 300
    Image.fromarray(dark).save("dark.png")
    run("decompose", "dark.png", "--model", "stretching", "--out", "out", "--crops")
    _, said = run("decompose", "dark.png", "--model", model_folder, "--out", "plain")
    assert "no image is brighter than" in said
    bright = stretched(np.repeat(dark[..., None], 3, axis=2), view)
    assert bright.std() > 50
    expected = load(model_folder).decompose(bright)[0]
    scene = Scene.from_json(Path("out/scenes/dark.json").read_text())
    assert np.array_equal(scene.boxes, expected.boxes)
    assert np.array_equal(scene.boxes, load("stretching").decompose("dark.png")[0].boxes)


def test_rows_for_spreadsheets_and_yolo_agree_with_the_annotations(run, model_folder, photo):
    run("decompose", "photo.png", "--model", model_folder, "--out", "out", "--csv", "n.csv", "--yolo")
    known = json.loads(Path("out/annotations.json").read_text())["annotations"]
    rows = list(csv.DictReader(Path("n-objects.csv").read_text().splitlines()))
    lines = Path("out/yolo/labels/photo.txt").read_text().splitlines()
    assert len(known) == len(rows) == len(lines) > 0
    for annotation, row, line in zip(known, rows, lines, strict=True):
        x, y, width, height = annotation["bbox"]
        assert [float(row[name]) for name in ("x0", "y0", "x1", "y1")] == [x, y, x + width, y + height]
        kind, *shares = map(float, line.split())
        assert kind == 0
        assert np.allclose(shares, [(x + width / 2) / 120, (y + height / 2) / 90, width / 120, height / 90], atol=1e-6)
    assert Path("out/yolo/classes.txt").read_text() == "object\n"


def test_frames_of_an_animation_have_tracks(run, model_folder, photo):
    frames = [photo[:48, :48].copy() for _ in range(3)]
    for number, frame in enumerate(frames):
        frame[0, number] = 0  # so that they are not joined into one that is shown longer
    first, *others = [Image.fromarray(frame) for frame in frames]
    first.save("a.gif", save_all=True, append_images=others, duration=50)
    run("decompose", "a.gif", "photo.png", "--model", model_folder, "--out", "out")
    content = json.loads(Path("out/annotations.json").read_text())
    frame_of = {image["id"]: image.get("frame") for image in content["images"]}
    tracks: dict[int, list[int]] = {}
    for annotation in content["annotations"]:
        frame = frame_of[annotation["image_id"]]
        assert ("track_id" in annotation) == (frame is not None)
        if frame is not None:
            tracks.setdefault(frame, []).append(annotation["track_id"])
    assert len(set(tracks[0]) & set(tracks[1]) & set(tracks[2])) > len(tracks[0]) / 2, "nearly the same picture again"
    assert all(len(set(numbers)) == len(numbers) for numbers in tracks.values())


def test_tiles_are_for_models_of_cells(run, photo):
    create(small_genesis()).save_pretrained("genesis")
    _, said = run("decompose", "photo.png", "--model", "genesis", "--out", "out", "--tile", code=2)
    assert "--tile is for models of cells" in said
