import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from pycocotools.coco import COCO

from objectspace.data.dataset import Dataset
from objectspace.data.generate import generate
from objectspace.data.sample import Problem, Sample, TrueObject
from objectspace.data.sprites import SpritesSource
from objectspace.data.store import to_record
from objectspace.data.streams import Stream
from objectspace.data.workers import only_one
from objectspace.errors import UserError

SOURCE = SpritesSource(height=16, width=16, smallest=0.3, largest=0.5, least=1, most=2)
STREAMS = [Stream("train", 150), Stream("val", 70), Stream("test", 0)]


def contents(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file() and path.name != "log.jsonl")
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made") / "set"
    generate(SOURCE, root, STREAMS, workers=1)
    return root


def test_the_number_of_workers_does_not_change_a_byte(made: Path, tmp_path: Path) -> None:
    generate(SOURCE, tmp_path / "set", STREAMS, workers=2)
    assert contents(tmp_path / "set") == contents(made)


def test_the_annotations_are_coco(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    coco = COCO(str(made / "train" / "annotations.json"))
    assert len(coco.imgs) == 150
    for annotation in coco.anns.values():
        mask = coco.annToMask(annotation)
        x, y, width, height = annotation["visible_bbox"]
        assert mask.sum() == annotation["area"] == mask[int(y) : int(y + height), int(x) : int(x + width)].sum()


def test_a_split_of_zero_images_is_left_out(made: Path) -> None:
    assert sorted(path.name for path in made.iterdir()) == ["dataset.json", "log.jsonl", "train", "val"]
    assert json.loads((made / "dataset.json").read_text())["splits"] == {"train": 150, "val": 70}


def test_a_finished_set_is_recognised(made: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in made.rglob("*")}
    again = generate(SOURCE, made, STREAMS, workers=2)
    assert (again.new, again.images) == (0, 220)
    assert {path: path.stat().st_mtime_ns for path in made.rglob("*")} == before


def test_other_settings_are_refused_and_named(made: Path) -> None:
    with pytest.raises(UserError, match=r"--seed 0, and now --seed 5"):
        generate(
            SpritesSource(height=16, width=16, smallest=0.3, largest=0.5, least=1, most=2, seed=5), made, STREAMS, 1
        )


def test_a_foreign_directory_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("do not touch")
    with pytest.raises(UserError, match="not empty"):
        generate(SOURCE, tmp_path, STREAMS, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_nothing_asked_for_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="0 images"):
        generate(SOURCE, tmp_path / "set", [Stream("train", 0)], 1)


MANY = [Stream("train", 1500), Stream("val", 100)]
MAKE_MANY = """
from pathlib import Path
from objectspace.data.generate import generate
from objectspace.data.sprites import SpritesSource
from objectspace.data.streams import Stream
"""


@pytest.mark.slow
def test_killed_again_and_again_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    torn, whole = tmp_path / "torn", tmp_path / "whole"
    journal = torn / ".making" / "train.jsonl"
    for _ in range(3):
        size = journal.stat().st_size if journal.exists() else 0
        code = f"{MAKE_MANY}generate({SOURCE!r}, Path({str(torn)!r}), {MANY!r}, workers=2)"
        with subprocess.Popen([sys.executable, "-c", code]) as process:
            deadline = time.monotonic() + 120
            while not (journal.exists() and journal.stat().st_size > size):  # until it has done something new
                assert process.poll() is None, "it ended by itself"
                assert time.monotonic() < deadline
                time.sleep(0.01)
            process.kill()
        assert process.returncode == -signal.SIGKILL
    for root in (torn, whole):
        generate(SOURCE, root, MANY, workers=1)
    assert contents(torn) == contents(whole)


def test_a_torn_last_line_of_the_journal_is_made_again(made: Path, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="stopped"):
        generate(StoppingSource(**SETTINGS), tmp_path / "set", STREAMS, 1)
    journal = tmp_path / "set" / ".making" / "train.jsonl"
    os.truncate(journal, journal.stat().st_size - 7)
    assert generate(SOURCE, tmp_path / "set", STREAMS, 1).new == 220 - 64
    assert contents(tmp_path / "set") == contents(made)


@dataclass(frozen=True)
class Numbers:
    """A source of grey images: unit u holds 4 u to 4 u + 3, all modulo `period`; it ends after `units` units."""

    period: int = 1000
    units: int | None = None
    distinct: bool = True

    generator, version, licence = "numbers", 1, "none"

    def settings(self) -> dict:
        return {"period": self.period}

    def make(self, split: str, group: str, unit: int) -> list[Sample | Problem] | None:
        if self.units is not None and unit >= self.units:
            return None
        values = [(4 * unit + offset) % self.period for offset in range(4)]
        samples = [Sample(np.full((4, 4, 3), value, np.uint8), (TrueObject("spot", (0, 0, 2, 2)),)) for value in values]
        return [*samples, Problem(f"unit {unit}", "is a number")]

    def summary(self, records: Iterable[dict]) -> dict:
        return {"images": sum(1 for _ in records)}


def test_no_image_occurs_twice_in_any_split(tmp_path: Path) -> None:
    generate(Numbers(), tmp_path / "set", [Stream("train", 10, "a"), Stream("train", 6, "b"), Stream("test", 6)], 1)
    images = [path.read_bytes() for path in (tmp_path / "set").rglob("*.png")]
    assert len(images) == len(set(images)) == 22
    assert (tmp_path / "set" / "train" / "images" / "b_00000005.png").exists()


def test_a_source_that_repeats_itself_is_found_out(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="only 12 distinct images, 13 were asked for"):
        generate(Numbers(period=12), tmp_path / "set", [Stream("train", 13)], 1)


def test_a_finite_source_is_taken_whole_with_its_problems(tmp_path: Path) -> None:
    made = generate(Numbers(units=3), tmp_path / "set", [Stream("train", None)], 2)
    assert made.images == 12
    assert [str(problem) for problem in made.problems] == [f"unit {unit}: is a number" for unit in range(3)]
    assert made.summary == {"images": 12}


def test_what_was_left_out_is_remembered(tmp_path: Path) -> None:
    source, streams = Numbers(units=3), [Stream("train", None)]
    first, again = (generate(source, tmp_path / "set", streams, 1) for _ in range(2))
    assert again.problems == first.problems != ()


def test_a_finished_set_that_has_lost_images_is_not_called_finished(tmp_path: Path) -> None:
    generate(SOURCE, tmp_path / "set", STREAMS, 1)
    (tmp_path / "set" / "val" / "images" / "00000003.png").write_bytes(b"")
    with pytest.raises(UserError, match="of the 70 images of val only 69 are left"):
        generate(SOURCE, tmp_path / "set", STREAMS, 1)


class StoppingSource(SpritesSource):
    """Makes two units, then stops."""

    def make(self, split: str, group: str, unit: int) -> list[Sample]:
        if unit == 2:
            raise RuntimeError("stopped")
        return super().make(split, group, unit)


SETTINGS = {"height": 16, "width": 16, "smallest": 0.3, "largest": 0.5, "least": 1, "most": 2}


def test_images_that_an_unfinished_set_has_lost_are_made_again(made: Path, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="stopped"):
        generate(StoppingSource(**SETTINGS), tmp_path / "set", STREAMS, 1)
    (tmp_path / "set" / "train" / "images" / "00000070.png").unlink()
    assert generate(SOURCE, tmp_path / "set", STREAMS, 1).new == 220 - 64
    assert contents(tmp_path / "set") == contents(made)


def test_an_unfinished_set_cannot_be_mistaken_for_a_finished_one(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="stopped"):
        generate(StoppingSource(**SETTINGS), tmp_path / "set", STREAMS, 1)
    with pytest.raises(UserError, match="is not finished"):
        Dataset(tmp_path / "set", "train")


def test_a_set_without_any_image_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing could be made"):
        generate(Numbers(units=0), tmp_path / "set", [Stream("train", None)], 1)
    assert list(tmp_path.iterdir()) == []


def test_two_processes_do_not_work_on_one_set(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="stopped"):
        generate(StoppingSource(**SETTINGS), tmp_path / "set", STREAMS, 1)
    with only_one(tmp_path / "set" / ".making"), pytest.raises(UserError, match="another process"):
        generate(SOURCE, tmp_path / "set", STREAMS, 1)


def test_an_attribute_may_not_take_the_name_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="may not be called ground"):
        to_record(Sample(np.zeros((2, 2, 3), np.uint8), attributes={"ground": "green"}))


def test_progress_is_logged_as_json_lines(made: Path) -> None:
    lines = [json.loads(line) for line in (made / "log.jsonl").read_text().splitlines()]
    assert lines[-1]["done"] == lines[-1]["total"] == 220


def test_a_full_disk_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UserError, match=r"No space left on device.*same command continues"):
        generate(SOURCE, tmp_path / "set", STREAMS, 1)
