"""The directory of a run: made, found again, and kept in order whatever happens to the process."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from objectspace.errors import UserError
from objectspace.io.files import read_json, write_atomically, write_json
from objectspace.recipes import files as recipe_files
from objectspace.recipes.recipe import Recipe
from objectspace.training import checkpoint
from objectspace.training.display import Say

Failed = list[dict[str, Any]]  # starts that collapsed: seed, collapse, step

SPARE_BYTES = 500_000_000  # a run wants so much room on its disk: checkpoints, pictures, weights


def prepare(run: Path, recipe: Recipe, resume: bool, say: Say) -> tuple[checkpoint.Checkpoint | None, Failed]:
    """Make the run directory, or find the newest checkpoint to go on from, and the starts that failed before it."""
    _check_room(run)
    if not (run / "recipe.toml").exists():
        if any(not path.name.startswith(".") for path in run.iterdir()):
            advice = "give another --out" if resume else "give another --out, or an empty directory"
            raise UserError(f"there is no run in {run}, but it is not empty: {advice}")
        if resume:
            say(f"there is no run in {run} to resume yet: starting one")
        write_atomically(run / "recipe.toml", recipe_files.dump(recipe).encode())
        return None, []
    if not resume:
        raise UserError(f"{run} is not empty: continue its run with --resume, or give another --out")
    _refuse_changes(recipe_files.load_run(run), recipe)
    saved, complaints = checkpoint.load_newest(run / "checkpoints")
    for complaint in complaints:
        say(f"warning: {complaint}")
    failed = _failed_starts(run)
    if failed and (saved is None or saved.facts["seed"] != recipe.training.seed + len(failed)):
        give_up(run, failed)  # perhaps it was killed while it did so
        saved = None
    say(f"going on from step {saved.step}" if saved else "no checkpoint yet: starting from step 0")
    return saved, failed


@contextmanager
def writing(run: Path) -> Iterator[None]:
    """Whoever writes into a run writes in here: a disk that is full or gone is not a programming error."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        for half in run.glob("model/.*.part"):
            half.unlink(missing_ok=True)
        raise UserError(f"cannot write into {run}: {error}; mend that, then go on with --resume") from error


def give_up(run: Path, failed: Failed) -> None:
    """Remember a failed start and clear its checkpoints, so that the next begins anew; may be done twice."""
    with writing(run):
        write_json(run / "failed-starts.json", {"starts": failed})
        metrics, aside = run / "metrics.jsonl", run / f"metrics-seed{failed[-1]['seed']}.jsonl"
        if metrics.exists() and not aside.exists():
            metrics.rename(aside)
    shutil.rmtree(run / "checkpoints", ignore_errors=True)


def _check_room(run: Path) -> None:
    """Find out now, not after hours, that a run cannot be written."""
    try:
        run.mkdir(parents=True, exist_ok=True)
        probe = run / ".probe"
        probe.write_bytes(b"x" * 4096)
        probe.unlink()
        free = shutil.disk_usage(run).free
    except OSError as error:
        raise UserError(f"cannot write into {run}: {error}") from error
    if free < SPARE_BYTES:
        raise UserError(f"only {free / 1e6:.0f} MB are free for {run}: a run needs {SPARE_BYTES / 1e6:.0f} MB")


def _refuse_changes(before: Recipe, now: Recipe) -> None:
    old, new = _flat(before.model_dump(mode="json")), _flat(now.model_dump(mode="json"))
    changed = [key for key in new if old.get(key) != new[key]]
    if changed:
        listed = "; ".join(f"{key}: {old.get(key)!r} -> {new[key]!r}" for key in changed[:5])
        raise UserError(f"the recipe has changed since the run began ({listed}): use the old one, or start a new run")


def _flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


def _failed_starts(run: Path) -> Failed:
    path = run / "failed-starts.json"
    return list(read_json(path)["starts"]) if path.exists() else []
