"""The diary of a directory of results: whole batches, stable numbers, names that never clash."""

import contextlib
import os
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from objectspace.errors import UserError
from objectspace.io.files import shown
from objectspace.results.journal import Journal, safe_name
from objectspace.scene import Object, Scene

SCENE = Scene(8, 8, (Object((0, 0, 2, 3), (0, 0, 2, 3), 0.75, what=np.ones(4, np.float32)),))


def note(journal: Journal, key: str, frame: int | None = None, stamp: str = "1", scene: Scene = SCENE) -> int:
    return journal.add(key, frame, stamp, journal.name_for(key, frame), shown(key), None, scene)


def open_journal(folder: Path, **settings) -> Journal:
    return Journal(folder / "journal", settings)


def test_a_batch_is_kept_whole_or_not_at_all(tmp_path):
    with open_journal(tmp_path) as journal:
        with journal.batch():
            note(journal, "/a.png")
        with contextlib.suppress(KeyboardInterrupt), journal.batch():
            note(journal, "/b.png")
            raise KeyboardInterrupt
    with open_journal(tmp_path) as journal:
        assert [record.key for record in journal] == ["/a.png"]
        assert journal.has_frame("/a.png", None, "1")
        assert not journal.has_frame("/b.png", None, "1")


def test_an_image_that_changed_keeps_its_number(tmp_path):
    with open_journal(tmp_path) as journal:
        assert [note(journal, f"/{letter}.png") for letter in "abc"] == [1, 2, 3]
        assert not journal.has_frame("/b.png", None, "2")
        assert note(journal, "/b.png", stamp="2", scene=Scene(5, 6)) == 2
        assert [len(record.objects) for record in journal] == [1, 0, 1]
        assert journal.totals == (3, 2)


def test_records_hold_what_was_found(tmp_path):
    with open_journal(tmp_path) as journal:
        note(journal, "/clip.gif", frame=7)
        note(journal, "/plain.png", scene=replace(SCENE, unexplained=np.tri(8, dtype=np.bool_)))
        record, other = journal
    assert (record.unexplained, other.unexplained) == (None, 36 / 64)
    assert (record.name, record.frame, record.height) == ("clip-000007", 7, 8)
    assert record.objects[0].box == (0, 0, 2, 3)
    assert record.objects[0].area == 6
    assert np.array_equal(record.what, np.ones((1, 4)))


@pytest.mark.parametrize(
    "keys",
    [
        ["/a/x.png", "/b/x.png", "/c/b/x.png", "/d/b/x.jpg"],
        ["/x.png", "/X.png", "/x.PNG", "/É.png", "/é.png"],
        ["/a:b.png", "/a?b.png", "/a*b.png", "/.png", "/...png", "/ .png"],
        [f"/{'long' * 60}{number}.png" for number in range(3)],
        [os.fsdecode(b"/\xff.png"), os.fsdecode(b"/\xfe.png")],
        ["/a\nb.png", "/a\tb.png"],
    ],
)
def test_two_images_never_share_a_name(tmp_path, keys):
    with open_journal(tmp_path) as journal:
        for key in keys:
            note(journal, key)
        names = [record.name for record in journal]
        assert [record.key for record in journal] == keys
        assert [journal.name_for(key, None) for key in keys] == names
    assert len({name.casefold() for name in names}) == len(keys)
    for name in names:
        (tmp_path / f".{name}.json.1234567.tmp").write_text("a file can be called so")


def test_names_stay_readable():
    assert safe_name("Küche (2).final") == "Küche (2).final"
    assert safe_name("../../etc/passwd") == "_.._etc_passwd"
    assert safe_name("...") == "image"


def test_other_settings_are_refused(tmp_path):
    open_journal(tmp_path, threshold=0.5, crops=False).__exit__(None, None, None)
    with pytest.raises(UserError, match=r"threshold was 0\.5, and now is 0\.7"):
        open_journal(tmp_path, threshold=0.7, crops=False)
    with open_journal(tmp_path, threshold=0.5, crops=False):
        pass


def test_two_commands_at_a_time_are_refused(tmp_path):
    with open_journal(tmp_path) as journal:
        note(journal, "/a.png")
        with pytest.raises(UserError, match="another command is working there"):
            open_journal(tmp_path)


def test_a_damaged_journal_is_explained(tmp_path):
    (tmp_path / "journal").write_bytes(b"no data base, but long enough to be looked at" * 100)
    with pytest.raises(UserError, match=r"cannot be used .*not a database"):
        open_journal(tmp_path)


def test_problems_are_forgotten_the_next_time(tmp_path):
    odd = os.fsdecode(b"\xff.png")
    with open_journal(tmp_path) as journal:
        journal.add_problem(odd, "is empty")
        assert list(journal.problems()) == [(odd, "is empty")]
    with open_journal(tmp_path) as journal:
        assert list(journal.problems()) == []
    assert sqlite3.connect(tmp_path / "journal").execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_numbers_are_known_before_images_are_added(tmp_path):
    with open_journal(tmp_path) as journal:
        note(journal, "/a")
        note(journal, "/b", 0)
        asked = [("/b", 1), ("/a", None), ("/c", None), ("/b", 0)]
        expected = journal.numbers_for(asked)
        assert expected == [3, 1, 4, 2]
        assert [note(journal, key, frame, stamp="2") for key, frame in asked] == expected
