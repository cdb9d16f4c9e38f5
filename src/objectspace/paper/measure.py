"""Measuring what was trained: boxes, counts, masks and pixels on test images, once for the same weights."""

import shlex
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from objectspace.compare import machine, trained
from objectspace.data.dataset import Dataset
from objectspace.io.files import read_json
from objectspace.measuring import measure_model
from objectspace.models import load
from objectspace.paper.findings import Finding, read_finding, write_finding
from objectspace.paper.fitting import timeless
from objectspace.paper.place import Place, has_weights
from objectspace.paper.trainings import Say, Training, failure_of
from objectspace.recipes import files as recipe_files


def measure(training: Training, place: Place, say: Say, images: int | None = None) -> Finding | None:
    """What a training reached, from its file or by measuring now; None where there is nothing to measure yet.

    `images`: only the first so many test images.
    """
    run = place.run(training.name)
    if not has_weights(run):
        failure = failure_of(run)
        if failure is None:
            return None
        finding = Finding(**_about(training, place), ended="failed", failure=failure)
        write_finding(place.measurements, finding)
        return finding
    with ExitStack() as stack:
        who = trained.find(str(run), stack)
    path = place.measurements / f"{training.name}.json"
    of = who.fingerprint if images is None else f"{who.fingerprint}, {images} images"
    if path.exists() and (known := read_finding(path)).of == of:
        return known
    test = place.tested_on(training.model.data + ("-full" if training.full else ""))
    say(f"measuring {training.name} on test images of {test}")
    model, begun = load(who.folder), time.monotonic()
    dataset = Dataset(test, "test", model.config.image_size)
    moving = "rooms" not in training.model.data and dataset.object_count > 0
    numbers = measure_model(model, dataset, images, moving=moving).to_dict()
    summary = read_json(run / "summary.json")
    finding = Finding(
        **_about(training, place),
        measured_on=f"{numbers['images']} test images of {test.name}",
        ended=str(summary["ended"]),
        failure=who.failure,
        steps=int(summary["state"]["step"]),
        planned=int(summary["steps"]),
        minutes=round(float(summary["state"]["seconds"]) / 60, 2),
        seconds=round(time.monotonic() - begun, 1),
        of=of,
        remarks=(*who.remarks, *_differences(training, run, place)),
        numbers=with_ratio(numbers),
    )
    write_finding(place.measurements, finding)
    return finding


def with_ratio(numbers: dict[str, Any]) -> dict[str, Any]:
    """The numbers, and how many objects are found for each true one by the published rule: splits show there."""
    true, found = numbers.get("published_objects"), numbers.get("published_predicted")
    return numbers | {"found_per_object": found / true if true and found is not None else None}


def machine_here() -> str:
    """What a measurement is made on, in words."""
    about = machine.machine()
    return f"{about['processor']}, {about['cores']} cores, Python {about['python']}"


def today() -> str:
    """The date of a measurement."""
    return time.strftime("%Y-%m-%d")


def command_line() -> str:
    """The command that is running."""
    return shlex.join(["objectspace", *sys.argv[1:]])


def _about(training: Training, place: Place) -> dict[str, Any]:
    """What is known of a training before it is measured."""
    data = place.data(training.model.data + ("-full" if training.full else ""))
    return {
        "name": training.name,
        "what": "models",
        "model": training.model.key,
        "recipe": training.model.recipe_name(training.full),
        "seed": training.seed,
        "data": _made(data),
        "command": training.command(data),
        "machine": machine_here(),
        "date": today(),
    }


def _made(data: Path) -> str:
    """What a data set says of itself."""
    path = data / "dataset.json"
    if not path.exists():
        return data.name
    about = read_json(path)
    settings = ", ".join(f"{key} {value}" for key, value in about.get("settings", {}).items())
    counts = ", ".join(f"{count} {split}" for split, count in about.get("splits", {}).items())
    return f"{about.get('generator', data.name)} ({settings}): {counts}"


def _differences(training: Training, run: Path, place: Place) -> list[str]:
    """How the run's recipe differs from the one of this version."""
    said = ["brought in"] if place.is_brought(run) else []
    planned, was = training.recipe(), recipe_files.load_run(run)
    if planned is None:
        return [*said, "by a recipe that this version does not have"]
    if was == planned:
        return said
    steps, whole = was.training.steps, planned.training.steps
    if steps < whole and timeless(was) == timeless(planned):
        return [*said, f"schedule shortened from {whole} to {steps} steps"]
    return [*said, "by another recipe than this version's"]
