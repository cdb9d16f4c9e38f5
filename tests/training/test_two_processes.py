"""Two processes that train together, started by torchrun."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from helpers.ranks import gradients
from objectspace.recipes.files import dump
from objectspace.recipes.recipe import Recipe
from objectspace.training.distributed import share_of

PATIENCE = 300.0  # seconds that a busy machine may take
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "model" / "model.safetensors")


def same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.fixture(scope="module")
def out(tiny: Recipe, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("together")
    (folder / "tiny.toml").write_text(dump(tiny))
    return folder


@pytest.fixture(scope="module")
def said(out: Path, sprites: Path) -> str:
    """What a command says after a signal, its run `torn` unfinished."""
    arguments = [str(out / "tiny.toml"), "--data", str(sprites), "--out", str(out / "torn"), "--resume"]
    command = [*TORCHRUN, "-m", "objectspace", "train", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("step 2/"):
                process.send_signal(signal.SIGTERM)  # torchrun hands it on
                break
        rest = process.stdout.read()
        process.wait(PATIENCE)
    (saved,) = (out / "torn" / "checkpoints").iterdir()
    assert f"stopped at step {int(saved.name)}" in rest
    return rest


@pytest.fixture(scope="module")
def together(out: Path, said: str, sprites: Path) -> Path:
    """What two processes left behind that went through `ranks.py`, where the torn run is resumed, too."""
    script = ["-m", "helpers.ranks", str(out / "tiny.toml"), str(sprites), str(out)]
    tests = Path(__file__).parents[1]
    subprocess.run([*TORCHRUN, *script], cwd=tests, env=ENVIRONMENT, timeout=PATIENCE, check=True)
    return out


@pytest.fixture(scope="module")
def reports(together: Path) -> list[dict[str, Any]]:
    return [json.loads((together / f"rank{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.slow
def test_both_end_with_the_same_parameters(together: Path) -> None:
    first, second = (load_file(together / f"weights{rank}.safetensors") for rank in range(2))
    assert first
    assert same(first, second)
    saved = weights(together / "whole")
    assert all(torch.equal(saved[name], value) for name, value in first.items())


@pytest.mark.slow
def test_the_gradient_is_that_of_one_process(together: Path, tiny: Recipe, sprites: Path) -> None:
    alone = gradients(tiny, sprites, together)
    assert {value.dtype for value in alone.values()} == {torch.float64}
    assert sum(float(value.abs().sum()) for value in alone.values()) > 1
    for rank in range(2):
        shared = load_file(together / f"gradients{rank}.safetensors")
        assert shared.keys() == alone.keys()
        for name, value in alone.items():
            torch.testing.assert_close(shared[name], value, rtol=1e-9, atol=1e-9, msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "ended", "step"), [("whole", "finished", 12), ("signal", "stopped", 3), ("late", "out of time", 1)]
)
def test_they_leave_at_the_same_step(reports: list[dict[str, Any]], case: str, ended: str, step: int) -> None:
    assert reports[0][case] == reports[1][case] | {"state": reports[1][case]["state"] | times(reports[0][case])}
    assert (reports[0][case]["ended"], reports[0][case]["state"]["step"]) == (ended, step)
    assert reports[0][case]["processes"] == 2


@pytest.mark.slow
def test_they_start_again_together_after_a_collapse(reports: list[dict[str, Any]]) -> None:
    for report in reports:
        assert report["collapse"]["failed_starts"] == [{"seed": 0, "collapse": "all-background", "step": 6}]
        assert (report["collapse"]["seed"], report["collapse"]["ended"]) == (1, "finished")


@pytest.mark.slow
def test_both_are_told_why_there_is_no_run(reports: list[dict[str, Any]]) -> None:
    for report in reports:
        assert "not empty" in report["refused"]
        assert "training.batch = 3 cannot be split evenly over 2 processes" in report["odd"]
        assert "training.batch=2 or 4" in report["odd"]


@pytest.mark.slow
def test_the_command_stops_and_resumes_with_the_same_bits(together: Path, said: str) -> None:
    assert said.count("go on with") == 1, "one process speaks"
    assert same(weights(together / "torn"), weights(together / "whole"))
    lines = (together / "torn" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 2, 3, 4, 5, 6, 6, 7, 8, 9, 10, 11, 12, 12], (
        "one process writes"
    )


@pytest.mark.parametrize(("batch", "processes", "share"), [(12, 1, 12), (12, 4, 3), (2, 2, 1)])
def test_a_batch_is_split_evenly(batch: int, processes: int, share: int) -> None:
    assert share_of(batch, processes) == share


def times(report: dict[str, Any]) -> dict[str, float]:
    """All in which two processes' states may differ."""
    return {name: report["state"][name] for name in ("seconds", "processor")}
