import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from helpers.writers import convert, picture, save
from objectspace.data.convert import FORMATS, files, open_source
from objectspace.data.dataset import Dataset
from objectspace.data.generate import generate
from objectspace.data.statistics import statistics
from objectspace.errors import UserError
from objectspace.io.images import read_deep


def test_all_images_below_a_folder_are_converted(tmp_path: Path) -> None:
    for index, name in enumerate(("b/10.png", "b/9.png", "a.png")):
        save(tmp_path / "src" / name, picture(index, 8 + index, 9))
    (tmp_path / "src" / "notes.txt").write_text("nothing")
    made, splits = convert(tmp_path / "src", "folder", tmp_path / "out")
    assert made.problems == ()
    assert splits["train"].sources == ["a.png", "b/9.png", "b/10.png"]
    assert np.array_equal(splits["train"].images["b/10.png"], picture(0, 8, 9))
    assert splits["train"].objects["a.png"] == []


def test_directories_named_after_splits_are_splits(tmp_path: Path) -> None:
    for name in ("train/a.png", "validation/b.png", "test/c.png", "holdout/d.png"):
        save(tmp_path / "src" / name, picture(0))
    made, splits = convert(tmp_path / "src", "folder", tmp_path / "out")
    assert {name: split.sources for name, split in splits.items()} == {
        "train": ["train/a.png"],
        "val": ["validation/b.png"],
        "test": ["test/c.png"],
    }
    assert "holdout/d.png" in made.problems[0].reason
    with pytest.raises(UserError, match="both test"):
        open_source(tmp_path / "src", "folder", split_names={"holdout": "test"})
    (tmp_path / "src" / "test" / "c.png").unlink()
    (tmp_path / "src" / "test").rmdir()
    _, splits = convert(tmp_path / "src", "folder", tmp_path / "named", split_names={"holdout": "test"})
    assert splits["test"].sources == ["holdout/d.png"]


def test_what_is_held_out_stays_held_out_when_files_come_or_go(tmp_path: Path) -> None:
    for index in range(60):
        save(tmp_path / "src" / f"{index}.png", picture(index, 4, 4))
    _, before = convert(tmp_path / "src", "folder", tmp_path / "before", val=0.3, test=0.2, seed=5)
    for index in range(0, 60, 2):
        (tmp_path / "src" / f"{index}.png").unlink()
    _, after = convert(tmp_path / "src", "folder", tmp_path / "after", val=0.3, test=0.2, seed=5)
    assert sum(len(split.sources) for split in before.values()) == 60
    assert 8 <= len(before["val"].sources) <= 28
    for name, split in after.items():
        assert set(split.sources) <= set(before[name].sources)
    _, other = convert(tmp_path / "src", "folder", tmp_path / "other", val=0.3, test=0.2, seed=6)
    assert other["val"].sources != after["val"].sources


def test_the_number_of_workers_changes_nothing_and_a_second_call_does_nothing(tmp_path: Path) -> None:
    for index in range(20):
        save(tmp_path / "src" / f"{index}.png", picture(index, 4, 4))
    (tmp_path / "src" / "13.png").write_bytes(b"")
    one, _ = convert(tmp_path / "src", "folder", tmp_path / "one", val=0.4)
    two, _ = convert(tmp_path / "src", "folder", tmp_path / "two", workers=2, val=0.4)
    assert one.problems == two.problems
    names = [path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.*") if path.name != "log.jsonl"]
    assert len(names) > 20
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in names)
    again, _ = convert(tmp_path / "src", "folder", tmp_path / "one", val=0.4)
    assert (again.new, again.images) == (0, 19)
    save(tmp_path / "src" / "20.png", picture(20, 4, 4))
    with pytest.raises(UserError, match="has changed since it was converted"):
        convert(tmp_path / "src", "folder", tmp_path / "one", val=0.4)


def test_a_worker_notices_that_the_files_changed(tmp_path: Path) -> None:
    save(tmp_path / "src" / "1.png", picture(1))
    source, _ = open_source(tmp_path / "src", "folder")
    files._listings.clear()  # as in a new process
    assert source.make("train", "", 0)
    save(tmp_path / "src" / "0.png", picture(0))
    files._listings.clear()
    with pytest.raises(UserError, match="changed"):
        source.make("train", "", 0)


def test_images_of_every_kind_are_converted_or_listed_with_the_reason(tmp_path: Path) -> None:
    src = tmp_path / "src"
    save(src / "good.png", picture(0))
    save(src / "grey.png", picture(0)[:, :, 0])
    save(src / "deep.png", picture(0)[:, :, 0].astype(np.uint16) * 257)
    Image.new("CMYK", (8, 8)).save(src / "cmyk.jpg")
    Image.new("P", (8, 8)).save(src / "palette.gif")
    Image.new("RGBA", (8, 8)).save(src / "alpha.png")
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (8, 4)).save(src / "turned.jpg", exif=exif)
    Image.new("L", (8, 8)).save(src / "moving.gif", save_all=True, append_images=[Image.new("L", (8, 8), 255)])
    (src / "truncated.png").write_bytes((src / "good.png").read_bytes()[:200])
    (src / "empty.png").write_bytes(b"")
    (src / "foreign.jpg").write_text("hello")
    (src / "dangling.png").symlink_to("nowhere.png")
    header = b"IHDR" + struct.pack(">IIBBBBB", 70000, 70000, 8, 2, 0, 0, 0)
    (src / "enormous.png").write_bytes(
        b"\x89PNG\r\n\x1a\n\0\0\0\x0d" + header + struct.pack(">I", zlib.crc32(header)) + b"\0\0\0\0IDAT5\xaf\x06\x1e"
    )
    made, splits = convert(src, "folder", tmp_path / "out")
    good = {"good.png", "grey.png", "deep.png", "cmyk.jpg", "palette.gif", "alpha.png", "turned.jpg", "moving.gif"}
    assert set(splits["train"].sources) == good
    assert splits["train"].images["turned.jpg"].shape == (8, 4, 3)
    written = [read_deep(path) for path in (tmp_path / "out" / "train" / "images").iterdir()]
    assert [image.shape for image in written if image.dtype == np.uint16] == [picture(0).shape], "deep stays deep"
    reasons = {problem.where: problem.reason for problem in made.problems}
    assert reasons.keys() == {"truncated.png", "empty.png", "foreign.jpg", "dangling.png", "enormous.png"}
    assert "0 bytes" in reasons["empty.png"]
    assert "truncated" in reasons["truncated.png"]
    assert "enormous" in reasons["enormous.png"]


def test_if_nothing_can_be_used_the_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.png").write_bytes(b"")
    source, streams = open_source(tmp_path / "src", "folder")
    with pytest.raises(UserError, match=r"a\.png: is empty"):
        generate(source, tmp_path / "out", streams, 1)


def test_a_limit_takes_the_first(tmp_path: Path) -> None:
    for index in range(12):
        save(tmp_path / "src" / f"{index}.png", picture(index, 4, 4))
    _, splits = convert(tmp_path / "src", "folder", tmp_path / "out", limit=3, split="test")
    assert splits["test"].sources == ["0.png", "1.png", "2.png"]


def test_sources_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.png").touch()
    assert len(FORMATS) == 7
    for format in FORMATS:
        with pytest.raises(UserError, match="does not exist"):
            open_source(tmp_path / "nowhere", format)
        with pytest.raises(UserError, match=str(tmp_path / "empty")):
            open_source(tmp_path / "empty", format)
        with pytest.raises(UserError, match=r"file.png"):
            open_source(tmp_path / "file.png", format)


def test_options_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    save(tmp_path / "src" / "train" / "a.png", picture(0))
    save(tmp_path / "src" / "val" / "a.png", picture(0))
    for match, options in (
        ("own val", {"val": 0.1}),
        ("fractions", {"val": 0.6, "test": 0.6}),
        ("fractions", {"test": -0.1}),
        ("is none", {"test": 0.0001}),
        ("no split 'dev'", {"split": "dev"}),
        ("limit 0", {"limit": 0}),
        ("variant", {"variant": "tetrominoes"}),
        ("crop", {"crop": True}),
        ("images", {"images": tmp_path}),
    ):
        with pytest.raises(UserError, match=match):
            open_source(tmp_path / "src", "folder", **options)
    with pytest.raises(UserError, match="did you mean 'coco'"):
        open_source(tmp_path / "src", "cocoo")


def test_every_page_of_a_stack_is_an_image(tmp_path: Path) -> None:
    pages = [Image.fromarray(np.full((6, 9), 300 * number, np.uint16)) for number in range(4)]
    (tmp_path / "src").mkdir()
    pages[0].save(tmp_path / "src" / "stack.tif", save_all=True, append_images=pages[1:])
    made, _ = convert(tmp_path / "src", "folder", tmp_path / "out")
    assert made.images == 4
    written = [read_deep(path) for path in sorted((tmp_path / "out" / "train" / "images").iterdir())]
    assert [int(image.max()) for image in written] == [0, 300, 600, 900]
    assert "10 of 16 bit" in statistics(Dataset(tmp_path / "out", "train"))["depth"]
