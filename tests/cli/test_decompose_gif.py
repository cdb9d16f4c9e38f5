"""`objectspace decompose --gif`: an episode with boxes, from whatever it was recorded in."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageSequence

from objectspace.errors import UserError
from objectspace.reports.pictures import color_of
from objectspace.results.record import Record, RecordedObject
from objectspace.video.episode import pictures

COUNT = 6


@pytest.fixture
def frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of numbered frames of noise, whose names are no good in alphabetical order."""
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    for number in range(COUNT):
        pixels = np.random.default_rng(number).integers(0, 255, (32, 40, 3), dtype=np.uint8)
        pixels[:8, :8] = 40 * number  # enough of them to have a colour of their own among 256
        Image.fromarray(pixels).save(f"in/{8 + number}.png")
    return Path("in")


def read(path: str) -> list[np.ndarray]:
    with Image.open(path) as image:
        return [np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(image)]


def test_frames_come_in_order_enlarged_and_at_their_pace(run, model_folder, frames):
    said, _ = run("decompose", frames, "--model", model_folder, "--out", "out", "--gif", "a.gif", "--fps", 4)
    shown = read("a.gif")
    assert [picture.shape for picture in shown] == [(6 * 32, 6 * 40, 3)] * COUNT
    for number, picture in enumerate(shown):
        assert picture[3, 3].tolist() == pytest.approx([40 * number] * 3, abs=16)  # 256 colours are near, not exact
    with Image.open("a.gif") as image:
        assert image.info["duration"] == 250
    assert "a.gif: " in said


def test_a_gif_becomes_a_gif_and_a_second_run_draws_it_without_the_model(run, model_folder, frames, monkeypatch):
    first, *rest = [Image.open(path) for path in sorted(frames.iterdir(), key=lambda path: int(path.stem))]
    first.save("film.gif", save_all=True, append_images=rest)
    command = ("decompose", "film.gif", "--model", model_folder, "--out", "out", "--no-report", "--gif")
    run(*command, "boxes.gif", "--scale", 1)
    assert len(read("boxes.gif")) == COUNT
    assert read("boxes.gif")[0].shape == (32, 40, 3)
    monkeypatch.setattr("objectspace.io.paths.ImageFile.frames", None)
    run(*command, "half.gif", "--scale", 0.5)
    assert [picture.shape for picture in read("half.gif")] == [(16, 20, 3)] * COUNT


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--gif", "a.mp4"), "ends in .gif"),
        (("--gif", "film.gif"), "would replace what is to be taken apart"),
        (("--gif", "in"), "cannot write in"),
    ],
)
def test_a_gif_that_cannot_be_written_is_refused_at_once(run, model_folder, frames, arguments, said):
    Image.new("RGB", (8, 8)).save("film.gif")
    _, errors = run("decompose", "film.gif", "--model", model_folder, "--out", "out", *arguments, code=2)
    assert said in errors
    assert not Path("out").exists()


def test_an_image_that_is_gone_is_left_out_and_named(run, model_folder, frames):
    command = ("decompose", frames, "--model", model_folder, "--out", "out", "--no-report", "--gif", "a.gif")
    run(*command)
    (frames / "9.png").unlink()
    _, errors = run(*command)
    assert "not in a.gif: in/9.png: does not exist" in errors
    assert len(read("a.gif")) == COUNT - 1


def record(*centres: float, folder: str = "one", labels: tuple[str, ...] = ()) -> Record:
    boxes = [(100 * x - 10, 40.0, 100 * x + 10, 60.0) for x in centres]
    names = labels or (None,) * len(boxes)
    objects = tuple(RecordedObject(box, box, 0.9, 0.0, None, name) for box, name in zip(boxes, names, strict=True))
    return Record(1, f"/{folder}/1.png", "1.png", "1", None, None, 100, 100, objects, np.zeros((len(boxes), 2)))


def black(_: Record) -> np.ndarray:
    return np.zeros((100, 100, 3), np.uint8)


def color_at(picture: np.ndarray, x: float) -> tuple[int, ...]:
    """The colour of the upper side of the box around x, in a picture twice as large."""
    return tuple(int(value) for value in picture[80, round(200 * x)])


def test_an_object_keeps_its_colour_whatever_order_it_comes_in() -> None:
    first, second = pictures([record(0.2, 0.7), record(0.75, 0.25)], black)
    assert color_at(first, 0.2) == color_at(second, 0.25) == color_of(0)
    assert color_at(first, 0.7) == color_at(second, 0.75) == color_of(1)


def test_another_folder_is_another_episode() -> None:
    *_, last = pictures([record(0.2, 0.7), record(0.7, folder="two")], black)
    assert color_at(last, 0.7) == color_of(0)


def test_with_labels_a_kind_has_a_colour_and_a_name() -> None:
    records = [record(0.2, 0.7, labels=("dog", "cat")), record(0.7, labels=("dog",))]
    first, second = pictures(records, black, kinds=("cat", "dog"))
    assert color_at(first, 0.2) == color_at(second, 0.7) == color_of(1)
    assert color_at(first, 0.7) == color_of(0)
    above = second[60:80, 120:180]
    assert (above.max(2) > 150).sum() > 20, "no name is written above the box"


def test_a_picture_that_is_too_large_is_refused_before_it_is_made() -> None:
    with pytest.raises(UserError, match="too much for a GIF"):
        next(pictures([record(0.5)], black, scale=1000))
