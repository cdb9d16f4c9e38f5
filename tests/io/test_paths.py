"""What people point at: files, directories, patterns, data sets, animations, videos, lists."""

import io
import json
import os
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from objectspace.io import paths as inputs
from objectspace.io.images import BadImage, read_frames
from objectspace.io.paths import Gathered, ImageFile, NoImages, image_files


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def found(*paths: object, leave_out: Path = Path("nowhere"), text: str = "") -> list[str]:
    return [source.path for source in image_files(map(str, paths), leave_out, io.StringIO(text))]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_directory_gives_its_images_in_natural_order(here):
    names = ["in/10.png", "in/2.png", "in/b/1.JPG", "in/b/clip.mp4", "in/c.txt", "in/.hidden.png", "in/.git/x.png"]
    touch(*map(Path, names))
    assert found("in") == ["in/2.png", "in/10.png", "in/b/1.JPG", "in/b/clip.mp4"]


@pytest.mark.parametrize("together", [2, 3, 100])
def test_a_directory_that_is_sorted_in_parts_has_the_same_order(here, monkeypatch, together):
    monkeypatch.setattr(inputs, "_TOGETHER", together)
    odd = ["a\nb.png", "ü.png", os.fsdecode(b"\xff.png")]
    touch(*(Path("in", f"{number}.png") for number in range(11)), *(Path("in", name) for name in odd))
    listed = found("in")
    assert listed[:11] == [f"in/{number}.png" for number in range(11)]
    assert sorted(listed[11:]) == sorted(f"in/{name}" for name in odd)


def test_files_are_taken_whatever_they_are_called(here):
    touch(Path("a[1].png"), Path("scan.dat"))
    assert found("a[1].png", "scan.dat", "absent.png") == ["a[1].png", "scan.dat", "absent.png"]


def test_patterns_match_files_and_directories(here):
    touch(Path("x/2.png"), Path("x/10.png"), Path("x/notes.txt"), Path("y/sub/1.png"))
    assert found("x/*") == ["x/2.png", "x/10.png"]
    assert found("*/**/*.png") == ["x/2.png", "x/10.png", "y/sub/1.png"]
    assert found("[xy]") == ["x/2.png", "x/10.png", "y/sub/1.png"]
    (nothing,) = image_files(["z*"], Path("out"))
    assert isinstance(nothing, NoImages)


def test_a_data_set_gives_the_images_of_its_splits(here):
    for split in ("test", "train", "odd"):
        touch(Path("set", split, "images", "1.png"), Path("set", split, "annotations.json"))
    touch(Path("set/info.png"), Path("set/dataset.json"))
    assert found("set") == [f"set/{split}/images/1.png" for split in ("train", "test", "odd")]
    assert found("set/test") == ["set/test/images/1.png"]


def test_a_list_is_taken_literally(here):
    touch(Path("a*.png"), Path("aa.png"), Path("dir/1.png"))
    assert found("-", text="a*.png\n\ndir\r\n") == ["a*.png", "dir/1.png"]


def test_the_directory_of_results_is_left_out(here):
    touch(Path("in/1.png"), Path("in/out/overlays/1.png"))
    assert found("in", leave_out=Path("in/out")) == ["in/1.png"]
    assert found("in/**/*.png", leave_out=Path("in/out")) == ["in/1.png"]


def test_a_link_that_leads_back_ends(here):
    touch(Path("in/1.png"))
    Path("in/loop").symlink_to("..", target_is_directory=True)
    assert found("in") == ["in/1.png"]


def test_an_empty_directory_is_reported(here):
    Path("empty").mkdir()
    assert list(image_files(["empty"], Path("out"))) == [NoImages("empty", "holds no images")]


def test_the_same_file_has_the_same_key_and_a_changed_one_another_stamp(here):
    touch(Path("a.png"))
    assert ImageFile("a.png").key == ImageFile("./x/../a.png").key
    before = ImageFile("a.png").stamp()
    Path("a.png").write_bytes(b"longer")
    assert ImageFile("a.png").stamp() != before
    assert ImageFile("absent").stamp() == ""


def colours(count: int, size: int = 16) -> list[np.ndarray]:
    return [np.full((size, size, 3), (50 * number, 255 - 50 * number, 90), np.uint8) for number in range(count)]


@pytest.mark.parametrize("suffix", ["gif", "webp", "png", "tif"])
def test_every_frame_of_an_animation_is_read(here, suffix):
    first, *rest = [Image.fromarray(image) for image in colours(4)]
    first.save(f"a.{suffix}", save_all=True, append_images=rest, **({"lossless": True} if suffix == "webp" else {}))
    frames = list(ImageFile(f"a.{suffix}").frames())
    assert [number for number, _ in frames] == [0, 1, 2, 3]
    for (_, pixels), expected in zip(frames, colours(4), strict=True):
        assert np.abs(pixels.astype(int) - expected).max() <= 2


def test_an_image_has_one_frame_without_a_number(here):
    Image.new("LA", (5, 3), (0, 0)).save("a.png")
    ((number, pixels),) = ImageFile("a.png").frames()
    assert number is None
    assert pixels.shape == (3, 5, 3)
    assert pixels.min() == 255  # transparent is white, as everywhere


def test_the_frames_before_a_damaged_one_are_good(here):
    first, *rest = [Image.fromarray(np.random.default_rng(n).integers(0, 255, (40, 40, 3), np.uint8)) for n in range(4)]
    first.save("a.gif", save_all=True, append_images=rest)
    content = Path("a.gif").read_bytes()
    Path("a.gif").write_bytes(content[: len(content) * 2 // 3])
    frames = read_frames(Path("a.gif"))
    assert next(frames)[0] == 0
    assert next(frames)[0] == 1
    with pytest.raises(BadImage, match="truncated"):
        list(frames)


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n and no more", b"hello"])
def test_what_is_no_image_is_refused(here, content):
    Path("a.gif").write_bytes(content)
    with pytest.raises(BadImage):
        list(ImageFile("a.gif").frames())


def test_every_frame_of_a_video_is_read_as_rgb(here):
    writer = cv2.VideoWriter("a.avi", cv2.VideoWriter.fourcc(*"MJPG"), 10, (32, 32))
    for image in colours(5, 32):
        writer.write(image[:, :, ::-1])
    writer.release()
    frames = list(ImageFile("a.avi").frames())
    assert [number for number, _ in frames] == [0, 1, 2, 3, 4]
    for (_, pixels), expected in zip(frames, colours(5, 32), strict=True):
        assert np.abs(pixels.astype(int) - expected).max() < 12


def test_a_video_that_cannot_be_read_is_explained(here, monkeypatch):
    touch(Path("a.mp4"))
    with pytest.raises(BadImage, match="not a video"):
        list(ImageFile("a.mp4").frames())
    with pytest.raises(BadImage, match="does not exist"):
        list(ImageFile("absent.mp4").frames())
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(BadImage, match=r"objectspace\[video\]"):
        list(ImageFile("a.mp4").frames())


@pytest.mark.parametrize("place", ["a.png", "images/a.png", "../a.png", "../images/a.png"])
def test_coco_annotations_stand_for_the_images_they_name(place: str, tmp_path: Path) -> None:
    folder = tmp_path / "set" / "annotations"
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(exist_ok=True)
    Image.new("RGB", (4, 4)).save(folder / place)
    (folder / "instances.json").write_text(json.dumps({"images": [{"id": 1, "file_name": "a.png"}]}))
    (source,) = image_files([str(folder / "instances.json")], tmp_path / "out")
    assert isinstance(source, ImageFile)
    assert Path(source.path).samefile(folder / place)


@pytest.mark.parametrize("text", ["[]", "{", '{"images": []}', '{"images": [{"id": 1}]}'])
def test_a_json_file_that_names_no_images_is_explained(text: str, tmp_path: Path) -> None:
    (tmp_path / "some.json").write_text(text)
    (source,) = image_files([str(tmp_path / "some.json")], tmp_path / "out")
    assert isinstance(source, NoImages)
    assert "images" in source.reason


def test_what_was_gathered_is_counted_and_comes_back_in_order(here):
    odd = [Path("in/2.png"), Path("in/10.png"), Path(os.fsdecode(b"in/\xff.png")), Path("in/a\nb.png")]
    touch(*odd)
    given = ["in", "absent.png", "*.nothing"]
    gathered = Gathered(image_files(given, Path("nowhere")))
    expected = list(image_files(given, Path("nowhere")))
    assert list(gathered) == list(gathered) == expected
    assert gathered.total == sum(isinstance(each, ImageFile) for each in expected) == 5
    assert gathered.exists
    assert not Gathered(image_files(["absent.png"], Path("nowhere"))).exists
