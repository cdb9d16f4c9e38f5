"""Training state on disk, so that the last good one survives a kill at any moment.

A checkpoint is a directory `<step>` with `state.safetensors` (weights and the optimisers' tensors) and `state.json`
(everything else, and the tensors' digest). It is written under a temporary name, flushed, and renamed; the one before
is kept. What is damaged all the same is noticed by its digest, put aside and passed over.
"""

import hashlib
import json
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from objectspace.errors import UserError

KEPT = 2  # checkpoints; the newest may be damaged, so there is always one before it


@dataclass(frozen=True)
class Checkpoint:
    """A training state: tensors by name, and plain facts."""

    step: int
    tensors: dict[str, Tensor]
    facts: dict[str, Any]


def save(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint, then remove all but the newest `KEPT`; a disk that is full leaves those there were."""
    final = folder / f"{checkpoint.step:08d}"
    temporary = folder / f".{final.name}.{os.getpid()}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for leftover in folder.glob(".*.tmp"):  # of a save that was killed
            shutil.rmtree(leftover, ignore_errors=True)
        _write(temporary, checkpoint)
        if final.exists():
            shutil.rmtree(final)
        temporary.replace(final)
        _flush(folder)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(temporary, ignore_errors=True)
        there = steps(folder)
        advice = f"the one of step {there[-1]} is whole: mend that, then go on with --resume" if there else "mend that"
        raise UserError(f"cannot write the checkpoint {final}: {error}; {advice}") from error
    for old in steps(folder)[:-KEPT]:
        shutil.rmtree(folder / f"{old:08d}", ignore_errors=True)
    return final


def _write(folder: Path, checkpoint: Checkpoint) -> None:
    folder.mkdir()
    state, facts = folder / "state.safetensors", folder / "state.json"
    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in checkpoint.tensors.items()}, state)
    content = {"step": checkpoint.step, "digest": _digest(state), "facts": checkpoint.facts}
    facts.write_text(json.dumps(content, indent=2), encoding="utf-8")
    for path in (state, facts, folder):
        _flush(path)


def steps(folder: Path) -> list[int]:
    """The steps of which there are checkpoints, rising."""
    return sorted(int(path.name) for path in folder.glob("[0-9]*") if path.is_dir() and path.name.isdecimal())


def load_newest(folder: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint that is whole, and what to tell the user about damaged ones.

    Those are renamed to `damaged-<step>`, so that they do not count among the `KEPT`.
    """
    complaints: list[str] = []
    for step in reversed(steps(folder)):
        path = folder / f"{step:08d}"
        try:
            return load(path), complaints
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            complaints.append(f"the checkpoint {path} is damaged ({error}): going back to the one before")
            aside = folder / f"damaged-{path.name}"
            shutil.rmtree(aside, ignore_errors=True)
            with suppress(OSError):  # a disk that cannot be written is found out elsewhere
                path.rename(aside)
    return None, complaints


def load(path: Path) -> Checkpoint:
    """Read one checkpoint; raises if it is not whole."""
    content = json.loads((path / "state.json").read_text())
    if _digest(path / "state.safetensors") != content["digest"]:
        raise ValueError("its tensors do not have the digest they were written with")
    return Checkpoint(content["step"], load_file(path / "state.safetensors"), content["facts"])


def flatten_optimiser(state: dict[str, Any]) -> dict[str, Tensor]:
    """An optimiser's state dict as tensors by name, `<parameter>.<value>`; its settings come from the recipe."""
    return {
        f"{parameter}.{name}": torch.as_tensor(value)
        for parameter, values in state["state"].items()
        for name, value in values.items()
    }


def unflatten_optimiser(tensors: dict[str, Tensor], groups: list[dict[str, Any]]) -> dict[str, Any]:
    """Undo `flatten_optimiser`, with the parameter groups of a fresh optimiser."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        parameter, _, name = key.partition(".")
        state.setdefault(int(parameter), {})[name] = tensor
    return {"state": state, "param_groups": groups}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
