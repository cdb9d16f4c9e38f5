"""Real processes, really killed."""

import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

STEPS, KILLS = 30, 10  # the killed processes take some ten steps in all; this one may be slow to kill
PATIENCE = 120.0  # seconds that a busy machine may take for one thing
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
CHANGES = (
    f"training.steps={STEPS}",
    "training.save_every=1",
    "training.validate_every=15",
    "training.validate_images=2",
)


@contextmanager
def training(recipe: Path, data: Path, run: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """`objectspace train` in a process of its own, which does not outlive the block."""
    changes = [part for change in CHANGES for part in ("--set", change)]
    command = [sys.executable, "-m", "objectspace", "train", str(recipe), "--data", str(data), "--out", str(run)]
    command += [*changes, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        try:
            yield process
        finally:
            process.kill()


def what_it_says(process: subprocess.Popen[str]) -> str:
    """The rest of what a process says, which must end well."""
    assert process.stdout is not None
    said = process.stdout.read()
    assert process.wait(PATIENCE) == 0
    return said


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, "it ended by itself"
        assert time.monotonic() < until
        time.sleep(0.0002)


def wait_for_lines(process: subprocess.Popen[str], count: int) -> None:
    assert process.stdout is not None
    steps = (line for line in process.stdout if line.startswith("step "))
    for _ in range(count):
        assert next(steps, None), "it ended by itself"


def in_a_save(run: Path, process: subprocess.Popen[str]) -> bool:
    """Whether this process is saving, or was when it died; others may have left something half-written too."""
    return any((run / "checkpoints").glob(f".*.{process.pid}.tmp"))


def moment(run: Path, process: subprocess.Popen[str]) -> str:
    """What a process that is dead now was doing."""
    if in_a_save(run, process):
        return "in a save"
    if any((run / "checkpoints").glob("[0-9]*")):
        return "between saves"
    return "before the first save" if (run / "recipe.toml").exists() else "before anything"


def kill(process: subprocess.Popen[str], run: Path, aim: str, chance: random.Random) -> str:
    """Kill a process at a random moment of the kind aimed at; gives the kind that was hit."""
    if aim == "before anything":
        time.sleep(chance.uniform(0, 0.5))
    elif aim == "before the first save":
        wait_until((run / "recipe.toml").exists, process)
        time.sleep(chance.uniform(0, 0.03))
    else:
        wait_for_lines(process, chance.randint(1, 2))
        if aim == "in a save":
            wait_until(lambda: in_a_save(run, process), process)
            time.sleep(chance.uniform(0, 0.002))
        else:
            time.sleep(chance.uniform(0, 0.1))
            wait_until(lambda: not in_a_save(run, process), process)
    process.kill()
    assert process.wait() == -signal.SIGKILL, "it was killed, and had not ended before"
    return moment(run, process)


def journal(run: Path) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


@pytest.mark.slow
def test_a_run_killed_ten_times_ends_with_the_same_bits(tiny_file: Path, sprites: Path, tmp_path: Path) -> None:
    whole, torn, chance = tmp_path / "whole", tmp_path / "torn", random.Random(20)
    with training(tiny_file, sprites, whole) as process:
        what_it_says(process)
    later = ["in a save"] * (KILLS // 2) + ["between saves"] * (KILLS - 2 - KILLS // 2)
    aims = ["before anything", "before the first save", *chance.sample(later, len(later))]
    hits = []
    for aim in aims:
        with training(tiny_file, sprites, torn, "--resume") as process:
            hits.append(kill(process, torn, aim, chance))
    assert len(hits) == KILLS
    assert set(hits) == {"before anything", "before the first save", "in a save", "between saves"}
    with training(tiny_file, sprites, torn, "--resume") as process:
        assert "going on from step" in what_it_says(process)
    first, second = (load_file(run / "model" / "model.safetensors") for run in (whole, torn))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert journal(torn) == journal(whole), "the journal has every line once, and the same numbers"
    assert not list((torn / "checkpoints").glob(".*")), "nothing half-written is left"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_says_how_to_go_on(number: int, tiny_file: Path, sprites: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with training(tiny_file, sprites, run, "--set", "training.save_every=1000") as process:
        wait_for_lines(process, 2)
        process.send_signal(number)
        said = what_it_says(process)
    assert "stopped at step" in said
    again = shlex.split(said.splitlines()[-1])
    assert {"--resume", *CHANGES} <= set(again), "what it says to go on with is the same recipe"
    (saved,) = (run / "checkpoints").iterdir()
    assert 2 <= int(saved.name) < STEPS
