"""The baseline on drawn films of two rooms, in which a white square and a red one move."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import stills

ROOMS = {"cave", "field"}


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["stills", *arguments])
    stills.main()


def test_with_a_still_for_each_room_all_that_moves_is_found(
    monkeypatch: pytest.MonkeyPatch, rooms: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, str(rooms), "--stills", "2", "--json", str(tmp_path / "numbers.json"))
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert (numbers["f1"], numbers["ap50"], numbers["images"]) == (1.0, 1.0, 10)
    assert set(numbers["groups"]) == ROOMS
    printed = capsys.readouterr().out
    assert "mean F1@0.5 of 2 groups: 1.000" in printed
    assert "recall cave: ghost 1.00, player 1.00" in printed


def test_one_still_does_not_do_for_two_rooms(monkeypatch: pytest.MonkeyPatch, rooms: Path, tmp_path: Path) -> None:
    run(monkeypatch, str(rooms), "--json", str(tmp_path / "numbers.json"))
    assert json.loads((tmp_path / "numbers.json").read_text())["f1"] < 0.8


@pytest.mark.parametrize(("arguments", "reason"), [(["--stills", "99"], "99 stills"), (["--split", "x"], "no split")])
def test_what_cannot_be_done_is_said(
    monkeypatch: pytest.MonkeyPatch, rooms: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], reason: str
) -> None:
    with pytest.raises(SystemExit):
        run(monkeypatch, str(rooms), *arguments)
    assert reason in capsys.readouterr().err
