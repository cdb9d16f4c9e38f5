import io
import json
from pathlib import Path

import pytest

from objectspace.io import progress
from objectspace.io.progress import Progress, logged_progress


def test_without_a_terminal_there_are_plain_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PLAIN_LINE_EVERY", 0.0)
    with Progress("counting", 4) as bar:
        bar.advance(1)
        bar.advance(3)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("counting: 1/4, ")
    assert "s left" in lines[0]
    assert "/s" in lines[0]
    assert "\x1b" not in "".join(lines)


def test_on_a_terminal_there_is_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Progress("counting", 4) as bar:
        bar.advance(4)
    output = capsys.readouterr().err
    assert "4/4" in output
    assert "\u2501" in output


def test_json_lines_are_always_written(tmp_path: Path) -> None:
    for already in (0, 2):
        with logged_progress("counting", 4, tmp_path / "deep" / "log.jsonl", already) as bar:
            bar.advance(2)
    lines = [json.loads(line) for line in (tmp_path / "deep" / "log.jsonl").read_text().splitlines()]
    assert [line["done"] for line in lines if line["done"] == line["total"]][-1] == 4


def test_an_unknown_total_is_no_problem(capsys: pytest.CaptureFixture[str]) -> None:
    log = io.StringIO()
    with Progress("counting", None, log=log) as bar:
        bar.advance(2)
    assert "counting: 2, " in capsys.readouterr().err
    assert json.loads(log.getvalue().splitlines()[-1])["total"] is None
