"""Real processes, really killed."""

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from helpers.commands import command
from helpers.forks import Forked, forked
from objectspace.recipes import files as recipe_files
from objectspace.training import loop
from objectspace.training.run import RunOptions, train
from objectspace.training.step import take_step

STEPS = 30  # the killed processes take a few steps in all; one may be slow to die
MOMENTS = ("before anything", "before the first save", "in a save", "between saves")
TRIES = 5  # of each: a save may be over when the kill arrives
PATIENCE = 120.0  # seconds that a busy machine may take for one thing
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
CHANGES = (
    f"training.steps={STEPS}",
    "training.save_every=1",
    "training.validate_every=15",
    "training.validate_images=2",
)


def arguments_of(recipe: Path, data: Path, run: Path, *options: str) -> list[str]:
    changes = [part for change in CHANGES for part in ("--set", change)]
    return ["train", str(recipe), "--data", str(data), "--out", str(run), *changes, *options]


@contextmanager
def training(recipe: Path, data: Path, run: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """`objectspace train` in a process of its own, which does not outlive the block."""
    command = [sys.executable, "-m", "objectspace", *arguments_of(recipe, data, run, *options)]
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


def wait_until(condition: Callable[[], bool], process: Forked) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, "it ended by itself"
        assert time.monotonic() < until
        time.sleep(0.0002)


def wait_for_lines(process: Forked | subprocess.Popen[str], count: int) -> None:
    assert process.stdout is not None
    steps = (line for line in process.stdout if line.startswith("step "))
    for _ in range(count):
        assert next(steps, None), "it ended by itself"


def in_a_save(run: Path, process: Forked) -> bool:
    """Whether this process is saving, or was when it died; others may have left something half-written too."""
    return any((run / "checkpoints").glob(f".*.{process.pid}.tmp"))


def moment(run: Path, process: Forked) -> str:
    """What a process that is dead now was doing."""
    if in_a_save(run, process):
        return "in a save"
    if any((run / "checkpoints").glob("[0-9]*")):
        return "between saves"
    return "before the first save" if (run / "recipe.toml").exists() else "before anything"


def kill(process: Forked, run: Path, aim: str, chance: random.Random, sooner: int) -> str:
    """Kill a process at a random moment of the kind aimed at; gives the kind that was hit.

    `sooner` is how often that came too late: then the moment comes sooner.
    """
    if aim == "before anything":
        time.sleep(chance.uniform(0, 0.2) / 4**sooner)
    elif aim == "before the first save":
        wait_until((run / "recipe.toml").exists, process)
        time.sleep(chance.uniform(0, 0.03) / 4**sooner)
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
def test_a_run_killed_at_every_kind_of_moment_ends_with_the_same_bits(
    tiny_file: Path, sprites: Path, tmp_path: Path
) -> None:
    whole, torn, chance = tmp_path / "whole", tmp_path / "torn", random.Random(20)
    train(recipe_files.load(tiny_file, CHANGES), RunOptions(sprites, whole), say=lambda line: None)
    for aim in MOMENTS:
        hits = list[str]()
        while aim not in hits:
            assert len(hits) < TRIES, f"meant: {aim}, hit: {hits}"
            if hits and aim.startswith("before"):
                shutil.rmtree(torn)  # too late: there is a save now
            with forked(*arguments_of(tiny_file, sprites, torn, "--resume")) as process:
                hits.append(kill(process, torn, aim, chance, len(hits)))
    assert "going on from step" in command(*arguments_of(tiny_file, sprites, torn, "--resume")).stdout
    first, second = (load_file(run / "model" / "model.safetensors") for run in (whole, torn))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert journal(torn) == journal(whole), "the journal has every line once, and the same numbers"
    assert not list((torn / "checkpoints").glob(".*")), "nothing half-written is left"


def assert_stopped(said: str, run: Path) -> None:
    """It saved, and said how to go on."""
    assert "stopped at step" in said
    again = shlex.split(said.splitlines()[-1])
    assert {"--resume", *CHANGES} <= set(again), "what it says to go on with is the same recipe"
    (saved,) = (run / "checkpoints").iterdir()
    assert 2 <= int(saved.name) < STEPS


@pytest.mark.slow
def test_a_signal_saves_and_says_how_to_go_on(tiny_file: Path, sprites: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with training(tiny_file, sprites, run, "--set", "training.save_every=1000") as process:
        wait_for_lines(process, 2)
        process.send_signal(signal.SIGTERM)
        said = what_it_says(process)
    assert_stopped(said, run)


def test_ctrl_c_does_the_same(tiny_file: Path, sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "run"

    def interrupted(*arguments: Any) -> Any:
        if arguments[4] == 2:
            signal.raise_signal(signal.SIGINT)
        return take_step(*arguments)

    monkeypatch.setattr(loop, "take_step", interrupted)
    said = command(*arguments_of(tiny_file, sprites, run, "--set", "training.save_every=1000"))
    assert_stopped(said.stdout, run)
