"""What a run of the step benchmark leaves behind; the measuring itself is replaced."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import common, step


def test_a_run_leaves_a_table_json_and_a_plot(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(grid: int, batch: int, repeats: int) -> list[dict[str, object]]:
        paths = {"dense, all cells": 2.0, "fast, all cells": 1.0}
        return [{"grid": grid, "path": path, "seconds": grid * s, "peak GB": s} for path, s in paths.items()]

    monkeypatch.setattr(common, "RESULTS", tmp_path)
    monkeypatch.setattr(step, "measure", measure)
    monkeypatch.setattr(sys, "argv", ["step", "--grids", "4", "8", "--plot", str(tmp_path / "images" / "step.png")])
    step.main()
    assert "fast, all cells" in capsys.readouterr().out
    rows = json.loads((tmp_path / "step.json").read_text())["rows"]
    assert [(row["grid"], row["seconds"]) for row in rows] == [(4, 8.0), (4, 4.0), (8, 16.0), (8, 8.0)]
    assert (tmp_path / "images" / "step.png").read_bytes().startswith(b"\x89PNG")


def test_a_grid_that_does_not_fit_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["step", "--grids", "5"])
    with pytest.raises(SystemExit):
        step.main()
    assert "choose from 4, 8, 16, 32" in capsys.readouterr().err.replace("'", "")
