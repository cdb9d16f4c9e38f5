"""`objectspace decompose`: whatever is pointed at, results that other programs read, and no work done twice."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pycocotools.coco import COCO
from safetensors.numpy import load_file

from objectspace.models import create
from objectspace.models.space import Space
from objectspace.scene import Scene
from oracle.mixtures import small_genesis
from oracle.small import small_config

COUNT = 30
SIZES = [(40, 56), (32, 32), (17, 120), (1, 1), (64, 20)]


def save_noise(path: Path, seed: int = 0, size: tuple[int, int] = (32, 32)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.random.default_rng(seed).integers(0, 255, (*size, 3), dtype=np.uint8)).save(path)
    return path


@pytest.fixture
def images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five images of five sizes, and tmp_path as the working directory."""
    monkeypatch.chdir(tmp_path)
    for number, size in enumerate(SIZES):
        save_noise(tmp_path / "in" / f"{number}.png", number, size)
    return Path("in")


@pytest.fixture
def taken_apart(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many images each call of `decompose` was given, for whatever they are needed."""
    calls: list[int] = []
    original = Space.decompose

    def counted(self: Space, given: list, *arguments: object, **options: object) -> list[Scene]:
        calls.append(len(given))
        return original(self, given, *arguments, **options)

    monkeypatch.setattr(Space, "decompose", counted)
    return calls


def files(folder: Path) -> dict[str, bytes]:
    """All results but the journal, by name."""
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_the_results_are_there_and_agree(run, model_folder, images):
    extra = ["--crops", "--masks", "--csv", "n.csv", "--latents", "deep/l.safetensors", "--label-studio", "tasks.json"]
    said, _ = run("decompose", images, "--model", model_folder, "--out", "out", *extra)
    assert "5 images" in said
    coco = COCO("out/annotations.json")
    assert [coco.imgs[number]["file_name"] for number in range(1, 6)] == [f"in/{number}.png" for number in range(5)]
    rows = list(csv.DictReader(io.StringIO(Path("n.csv").read_text())))
    tasks = json.loads(Path("tasks.json").read_text())
    total = 0
    for number, (height, width) in enumerate(SIZES):
        scene = Scene.from_json(Path(f"out/scenes/{number}.json").read_text())
        assert (scene.height, scene.width) == (height, width)
        assert scene.reconstruction is None
        annotations = coco.loadAnns(coco.getAnnIds([number + 1]))
        assert len(annotations) == len(scene.objects) == int(rows[number]["objects"])
        assert len(tasks[number]["predictions"][0]["result"]) == len(scene.objects)
        labels = np.asarray(Image.open(f"out/masks/{number}.png"))
        for place, (annotation, item) in enumerate(zip(annotations, scene.objects, strict=True)):
            assert np.array_equal(coco.annToMask(annotation), item.mask)
            assert np.array_equal(labels == place + 1, item.mask)
            assert Image.open(f"out/crops/{number}/{place:03d}.png").size == (
                item.box[2] - item.box[0],
                item.box[3] - item.box[1],
            )
        assert Image.open(f"out/overlays/{number}.png").height >= height
        total += len(scene.objects)
    assert total > 10
    assert len(load_file("deep/l.safetensors")["what"]) == total
    page = Path("out/report.html").read_text()
    assert all(f"in/{number}.png" in page for number in range(5))


def test_what_is_not_wanted_is_left_out(run, model_folder, images):
    run("decompose", images, "--model", model_folder, "--out", "out", "--no-overlays", "--no-report")
    assert {path.name for path in Path("out").iterdir()} == {"annotations.json", "scenes", ".journal.sqlite"}


def test_the_page_shows_the_first_images_only(run, model_folder, images):
    run("decompose", images, "--model", model_folder, "--out", "out", "--report-images", 2)
    page = Path("out/report.html").read_text()
    assert "in/1.png" in page
    assert "in/2.png" not in page


def test_the_page_needs_no_second_pass(run, model_folder, images, taken_apart):
    run("decompose", images, "--model", model_folder, "--out", "out", "--batch", 2, "--report-images", 3)
    assert sum(taken_apart) == len(SIZES)
    assert not Path("out/.page").exists(), "the page is complete, and its parts are not needed any more"


@pytest.mark.slow
def test_a_larger_page_is_made_of_what_is_there(run, model_folder, images, taken_apart):
    command = ("decompose", images, "--model", model_folder, "--out")
    run(*command, "out", "--no-report")
    taken_apart.clear()
    run(*command, "out", "--report-images", 2)
    assert sum(taken_apart) == 2
    run(*command, "out", "--report-images", 9)
    run(*command, "whole", "--report-images", 9)
    assert Path("out/report.html").read_bytes() == Path("whole/report.html").read_bytes()


def test_the_page_shows_what_the_annotations_say(run, model_folder, images):
    save_noise(images / "wide.png", size=(40, 900))
    run("decompose", images / "wide.png", "--model", model_folder, "--out", "out")
    [(_, image)] = COCO("out/annotations.json").imgs.items()
    count = len(COCO("out/annotations.json").anns)
    assert (image["width"], image["height"]) == (900, 40)
    assert f"<p>{count} object{'' if count == 1 else 's'} · 900 × 40 pixels" in Path("out/report.html").read_text()


def test_a_directory_is_walked_once(run, model_folder, images, monkeypatch):
    listed, original = [], os.scandir

    def counted(path: str) -> object:
        listed.append(os.fspath(path))
        return original(path)

    monkeypatch.setattr("objectspace.io.paths.os.scandir", counted)
    run("decompose", images, "--model", model_folder, "--out", "out", "--no-report")
    assert listed.count("in") == 1


def test_pictures_are_kept_on_request(run, model_folder, images):
    run("decompose", images / "0.png", "--model", model_folder, "--out", "out", "--pictures", "--no-report")
    scene = Scene.from_json(Path("out/scenes/0.json").read_text())
    assert scene.reconstruction is not None
    assert len(scene.components) == 3


def test_bad_files_are_skipped_and_listed(run, model_folder, images):
    (images / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    (images / "empty.jpg").write_bytes(b"")
    content = save_noise(images / "cut.png").read_bytes()
    (images / "cut.png").write_bytes(content[: len(content) // 2])
    said, errors = run("decompose", images, "absent.png", "--model", model_folder, "--out", "out", code=1)
    assert "5 images" in said
    for line in ("in/bad.png: ", "in/empty.jpg: is empty", "in/cut.png: is truncated", "absent.png: does not exist"):
        assert f"skipped: {line}" in errors
    assert "4 could not be used" in errors
    assert len(COCO("out/annotations.json").imgs) == 5


def test_a_file_that_was_mended_is_added(run, model_folder, images):
    (images / "2b.png").write_bytes(b"")
    command = ("decompose", images, "--model", model_folder, "--out", "out", "--no-report")
    run(*command, code=1)
    before = COCO("out/annotations.json").imgs
    save_noise(images / "2b.png")
    run(*command)
    after = COCO("out/annotations.json").imgs
    assert after.items() >= before.items()
    assert after[6]["file_name"] == "in/2b.png"


def test_strict_stops_at_the_first_bad_file(run, model_folder, images):
    (images / "2b.png").write_bytes(b"")
    command = ("decompose", images, "--model", model_folder, "--out", "out", "--batch", 1)
    _, errors = run(*command, "--strict", code=2)
    assert "in/2b.png is empty" in errors
    assert sorted(path.name for path in Path("out/scenes").iterdir()) == ["0.json", "1.json", "2.json"]
    assert not Path("out/annotations.json").exists()
    run(*command, code=1)


def test_a_finished_directory_is_left_alone_and_new_images_are_added(run, model_folder, images, taken_apart):
    command = ("decompose", images, "--model", model_folder, "--out", "out")
    run(*command)
    before = files(Path("out"))
    taken_apart.clear()
    said, _ = run(*command)
    assert "finished before" in said
    assert sum(taken_apart) == 0
    assert files(Path("out")) == before
    save_noise(images / "0b.png", 9)
    run(*command)
    assert sum(taken_apart) == 1
    coco = COCO("out/annotations.json")
    assert [coco.imgs[number]["file_name"] for number in (1, 2, 6)] == ["in/0.png", "in/1.png", "in/0b.png"]
    assert "in/0b.png" in Path("out/report.html").read_text()


def test_an_image_that_changed_is_taken_apart_again(run, model_folder, images, taken_apart):
    command = ("decompose", images, "--model", model_folder, "--out", "out", "--crops", "--no-report")
    run(*command)
    Image.new("RGB", (8, 9)).save(images / "1.png")
    taken_apart.clear()
    run(*command)
    assert sum(taken_apart) == 1
    coco = COCO("out/annotations.json")
    assert len(coco.imgs) == 5
    assert (coco.imgs[2]["height"], coco.imgs[2]["width"]) == (9, 8)


@pytest.mark.slow
def test_interrupted_anywhere_it_ends_with_the_same_results(run, model_folder, images, monkeypatch):
    (images / "3b.png").write_bytes(b"")
    command = ("decompose", images, "--model", model_folder, "--batch", 2, "--crops", "--report-images", 4, "--out")
    run(*command, "whole", code=1)
    assert "in/3.png" in Path("whole/report.html").read_text()
    original = Scene.to_json
    for fatal in (0, 3, 4):
        left = [fatal]

        def dies(self: Scene, left: list[int] = left) -> str:
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1
            return original(self)

        monkeypatch.setattr(Scene, "to_json", dies)
        _, errors = run(*command, f"out{fatal}", code=130)
        assert "the same command continues" in errors
        assert not Path(f"out{fatal}/annotations.json").exists()
        monkeypatch.setattr(Scene, "to_json", original)
        run(*command, f"out{fatal}", code=1)
        assert files(Path(f"out{fatal}")) == files(Path("whole"))


@pytest.mark.slow
def test_killed_it_continues_without_doing_anything_twice(run, model_folder, images, taken_apart):
    for number in range(COUNT):
        save_noise(images / f"{number}.png", number)
    options = ["--model", str(model_folder), "--batch", "2", "--no-report", "--no-overlays"]
    command = [sys.executable, "-m", "objectspace", "decompose", str(images), *options, "--out", "out"]
    one_thread = os.environ | {"OMP_NUM_THREADS": "1"}  # as in this process: nets round by threads
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=one_thread)
    deadline = time.monotonic() + 120
    while len(list(Path("out").glob("scenes/*.json"))) < 5 and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    written = len(list(Path("out").glob("scenes/*.json")))
    assert 5 <= written < COUNT
    run("decompose", images, *options, "--out", "out")
    assert COUNT - written <= sum(taken_apart) <= COUNT - written + 2
    run("decompose", images, *options, "--out", "whole")
    assert files(Path("out")) == files(Path("whole"))


def test_another_model_or_threshold_is_refused(run, model_folder, images, tmp_path):
    run("decompose", images, "--model", model_folder, "--out", "out", "--no-report")
    before = files(Path("out"))
    again = ("decompose", images, "--out", "out", "--no-report")
    _, errors = run(*again, "--model", model_folder, "--threshold", 0.7, code=2)
    assert "--threshold was 0.5, and now is 0.7" in errors
    _, errors = run(*again, "--model", model_folder, "--crops", code=2)
    assert "--crops was False, and now is True" in errors
    create(small_config(), seed=2).save_pretrained(tmp_path / "other")
    _, errors = run(*again, "--model", tmp_path / "other", code=2)
    assert "weights of --model" in errors
    assert files(Path("out")) == before


def test_a_higher_price_leaves_fewer_objects_and_what_they_are_worth(run, model_folder, images):
    worth: dict[float, list[float]] = {}
    for price in (0, 100):
        options = ("--model", model_folder, "--out", f"out{price}", "--price", price, "--no-report")
        run("decompose", images, *options)
        content = json.loads(Path(f"out{price}/annotations.json").read_text())
        assert content["info"]["price"] == price
        worth[price] = [item["evidence"] for item in content["annotations"]]
    assert len(worth[100]) < len(worth[0])
    assert min(worth[0]) >= 10
    _, errors = run("decompose", images, "--model", model_folder, "--out", "out0", "--no-report", code=2)
    assert "--price was 0.0, and now is not given" in errors


def test_leftovers_can_be_left_out_and_that_must_stay_so(run, model_folder, images):
    options = ("decompose", images, "--model", model_folder, "--out", "out", "--no-report")
    run(*options, "--no-leftovers")
    assert all(
        item.get("understood", True) for item in json.loads(Path("out/annotations.json").read_text())["annotations"]
    )
    _, errors = run(*options, code=2)
    assert "--no-leftovers was True, and now is False" in errors


def test_models_without_cells_have_no_price(run, images, tmp_path):
    create(small_genesis(), seed=0).save_pretrained(tmp_path / "genesis")
    _, errors = run("decompose", images, "--model", tmp_path / "genesis", "--out", "out", "--price", 1, code=2)
    assert "--price is for models of cells, and a genesis has none" in errors
    assert not Path("out").exists()


def test_foreign_files_are_never_written_over(run, model_folder, images):
    Path("mine").mkdir()
    Path("mine/annotations.json").write_text("precious")
    _, errors = run("decompose", images, "--model", model_folder, "--out", "mine", code=2)
    assert "is there already" in errors
    assert Path("mine/annotations.json").read_text() == "precious"


def test_images_of_one_name_and_odd_names_keep_apart(run, model_folder, images):
    odd = ["a/x.png", "b/x.png", "c/x.jpg", 'quote".png', "a\nb.png", "ü ä.png", "#?&.png", os.fsdecode(b"\xff.png")]
    for number, name in enumerate(odd):
        save_noise(Path("odd", name), number)
    said, _ = run("decompose", "odd", "odd/a/x.png", "--model", model_folder, "--out", "out", "--crops")
    assert "8 images" in said
    coco = COCO("out/annotations.json")
    assert {image["scene"] for image in coco.imgs.values()} == {
        f"scenes/{path.name}" for path in Path("out/scenes").iterdir()
    }
    assert len(list(Path("out/overlays").iterdir())) == 8
    assert "odd/b/x.png" in Path("out/report.html").read_text()


def test_every_mode_is_read(run, model_folder, images):
    picture = Image.open(images / "0.png")
    for mode in ("L", "P", "RGBA", "1", "LA"):
        picture.convert(mode).save(f"{images}/mode-{mode}.png")
    Image.fromarray(np.arange(400, dtype=np.uint16).reshape(20, 20) * 100).save(images / "sixteen.png")
    said, _ = run("decompose", images, "--model", model_folder, "--out", "out")
    assert "11 images" in said


def test_an_animation_is_taken_apart_frame_by_frame(run, model_folder, images, taken_apart):
    frames = [Image.open(save_noise(Path("f", f"{number}.png"), number)) for number in range(5)]
    frames[0].save("clip.gif", save_all=True, append_images=frames[1:])
    command = ("decompose", "clip.gif", "--model", model_folder, "--out", "out", "--batch", 2)
    run(*command)
    coco = COCO("out/annotations.json")
    assert [image["frame"] for image in coco.imgs.values()] == [0, 1, 2, 3, 4]
    assert all(Image.open(image["file_name"]).size == (32, 32) for image in coco.imgs.values())
    assert {image["source"] for image in coco.imgs.values()} == {"clip.gif"}
    taken_apart.clear()
    run(*command)
    assert sum(taken_apart) == 0


def test_a_list_of_paths_is_read_from_standard_input(run, model_folder, images, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("in/1.png\nin/3.png\n"))
    said, _ = run("decompose", "-", "--model", model_folder, "--out", "out")
    assert "2 images" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["absent.png", "--model", "MODEL"], "absent.png does not exist"),
        (["empty", "--model", "MODEL"], "there are no images in empty"),
        (["*.nothing", "--model", "MODEL"], "there are no images"),
        (["-", "--model", "MODEL"], "nothing to take apart"),
        (["in", "--model", "absent"], "there is no model 'absent'"),
        (["in", "--model", "MODEL", "--threshold", "2"], "threshold"),
        (["in", "--model", "MODEL", "--price", "-1"], "'--price': Input should be greater than or equal to 0"),
        (["in", "--model", "MODEL", "--price", "nan"], "'--price': Input should be greater than or equal to 0"),
        (["in", "--model", "MODEL", "--csv", "in"], "cannot write in"),
        (["--model", "MODEL"], "PATHS"),
    ],
)
def test_bad_input_is_explained_and_leaves_nothing_behind(
    run, model_folder, images, monkeypatch, arguments: list[str], said: str
):
    Path("empty").mkdir()
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    given = [str(model_folder) if word == "MODEL" else word for word in arguments]
    assert said in run("decompose", *given, "--out", "out", code=2)[1]
    assert not Path("out").exists()
