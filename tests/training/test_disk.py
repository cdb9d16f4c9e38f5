"""What happens to a run when its disk does not behave."""

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from objectspace.errors import UserError
from objectspace.recipes.recipe import Recipe
from objectspace.training import checkpoint, directory
from objectspace.training.checkpoint import Checkpoint, load_newest, save, steps
from objectspace.training.log import MetricsLog
from objectspace.training.run import RunOptions, train

QUIET = lambda line: None  # noqa: E731


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """Writing beyond `size` bytes fails in the middle, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def some(step: int, size: int = 1000) -> Checkpoint:
    return Checkpoint(step, {"x": torch.full((size,), float(step))}, {"seed": 0})


def test_a_save_that_finds_no_room_leaves_the_one_before_and_nothing_half_written(tmp_path: Path) -> None:
    save(tmp_path, some(1))
    with no_file_above(20_000), pytest.raises(UserError, match=r"00000002.*the one of step 1 is whole"):
        save(tmp_path, some(2, size=100_000))
    assert [path.name for path in tmp_path.iterdir()] == ["00000001"]
    found, complaints = load_newest(tmp_path)
    assert found is not None
    assert found.step == 1
    assert not complaints


@pytest.mark.slow
def test_a_run_that_finds_no_room_says_so_and_goes_on_later_with_the_same_bits(
    tiny: Recipe, sprites: Path, tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, run = checkpoint._write, tmp_path / "torn"

    def full(folder: Path, content: Checkpoint) -> None:
        write(folder, content)
        if content.step == 8:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "_write", full)
    with pytest.raises(UserError, match=r"No space left on device; the one of step 4 is whole.*--resume"):
        train(tiny, RunOptions(sprites, run), QUIET)
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["00000004"]
    monkeypatch.undo()
    train(tiny, RunOptions(sprites, run, resume=True), QUIET)
    first, second = (load_file(path / "model" / "model.safetensors") for path in (run, finished))
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.slow
def test_weights_that_find_no_room_leave_nothing_half_written(
    tiny: Recipe, sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "_write", lambda folder, content: folder.mkdir())
    monkeypatch.setattr(MetricsLog, "picture", lambda *arguments: None)
    with no_file_above(30_000), pytest.raises(UserError, match=r"cannot write into .*--resume"):
        train(tiny, RunOptions(sprites, tmp_path / "run"), QUIET)
    assert [path.name for path in (tmp_path / "run" / "model").iterdir()] == ["config.json"]


@pytest.mark.parametrize("resume", [False, True])
def test_a_place_that_cannot_be_written_is_refused_before_training(
    tiny: Recipe, sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resume: bool
) -> None:
    (tmp_path / "file").write_text("")
    for run in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(UserError, match="cannot write into"):
            train(tiny, RunOptions(sprites, run, resume=resume), QUIET)
    monkeypatch.setattr(directory, "SPARE_BYTES", 10**18)
    with pytest.raises(UserError, match=r"only .* MB are free"):
        train(tiny, RunOptions(sprites, tmp_path / "run", resume=resume), QUIET)


def test_damaged_checkpoints_do_not_push_out_whole_ones(tmp_path: Path) -> None:
    for step in (1, 2):
        save(tmp_path, some(step))
    (tmp_path / "00000002" / "state.json").write_text("{")
    found, complaints = load_newest(tmp_path)
    assert found is not None
    assert (found.step, len(complaints)) == (1, 1)
    save(tmp_path, some(3))
    assert steps(tmp_path) == [1, 3]


def test_the_log_goes_on_where_the_checkpoint_is(tmp_path: Path) -> None:
    with MetricsLog(tmp_path, 0) as log:
        for step in range(1, 6):
            log.write(step, {"loss": step / 2})
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 6, "lo')  # torn by a kill
    with MetricsLog(tmp_path, 3) as log:
        log.write(4, {"loss": 9.0})
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [(line["step"], line["loss"]) for line in lines] == [(1, 0.5), (2, 1.0), (3, 1.5), (4, 9.0)]
