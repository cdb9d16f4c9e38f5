"""Models compared as `objectspace compare` does it: the latency of a step, and convergence."""

import time
from collections.abc import Sequence
from dataclasses import asdict

from objectspace.compare import convergence as races
from objectspace.compare.candidates import Candidate, candidate, lines
from objectspace.compare.charts import convergence_chart, latency_chart
from objectspace.compare.latency import Settings, measure_all
from objectspace.compare.machine import available_memory
from objectspace.io.progress import Progress
from objectspace.paper.findings import Finding, read_finding, write_finding
from objectspace.paper.measure import command_line, machine_here, today
from objectspace.paper.place import Place
from objectspace.paper.trainings import Say
from objectspace.reports.page.markup import plural

KINDS = ("space", "spair", "genesis", "iodine")
COMPONENTS, SIZE, FEW = 5, 128, 20
STEP_GRIDS, RACE_GRIDS = (4, 8, 16, 32), (4, 8, 16)
LONGEST = 120.0  # seconds that a step may take
USUAL = 40.0  # minutes that the latency takes with that
MOST = 9  # components of models of components only, in convergence: more do not fit
SLICES, HELD_OUT, BATCH = 20, 64, 12
RACE_DATA = "rooms-small"
RACES = len(KINDS) * len(RACE_GRIDS)  # trainings of the convergence


def latency(
    place: Place,
    minutes: float | None,
    say: Say,
    size: int = SIZE,
    grids: Sequence[int] = STEP_GRIDS,
    batch: int = BATCH,
) -> Finding:
    """Seconds and memory of a gradient step of each model at each capacity."""
    path = place.measurements / "latency.json"
    if path.exists():
        return read_finding(path)
    begun = time.monotonic()
    longest = LONGEST if minutes is None else min(LONGEST, LONGEST * minutes / USUAL)
    settings = Settings(batch=batch, repeats=1, limit=longest, memory=int(0.8 * available_memory()))
    candidates = _lines(size, grids)
    place.measurements.mkdir(parents=True, exist_ok=True)
    say(f"latency: {len(candidates)} points, no step longer than {longest:.0f} s")
    with Progress("measuring steps", len(candidates)) as progress:
        log = place.measurements / "latency.jsonl"
        points = measure_all(candidates, settings, log, lambda _: progress.advance())
    place.pictures.mkdir(parents=True, exist_ok=True)
    latency_chart(points, place.pictures / "latency.png")
    finding = Finding(
        name="latency",
        what="latency",
        command=command_line(),
        seconds=round(time.monotonic() - begun, 1),
        measured_on=f"random images of {size} x {size}, {settings.batch} a step, {plural(settings.threads, 'thread')}",
        numbers={"points": [asdict(point) for point in points], "memory": settings.memory, "limit": longest},
        machine=machine_here(),
        date=today(),
    )
    write_finding(place.measurements, finding)
    return finding


def convergence(
    place: Place,
    minutes: float | None,
    say: Say,
    size: int = SIZE,
    grids: Sequence[int] = RACE_GRIDS,
    slices: int = SLICES,
) -> Finding:
    """Squared error on held-out images against time, for each model and capacity; `minutes` are of each training."""
    each = minutes or 20.0
    path = place.measurements / "convergence.json"
    if path.exists():
        return read_finding(path)
    data = place.data(RACE_DATA + ("-full" if place.full else ""))
    begun, out = time.monotonic(), place.out / "convergence"
    trial = races.Trial(data, races.held_out(data, size), each, slices, HELD_OUT)
    candidates = [candidate(kind, size, grid, COMPONENTS, MOST) for grid in grids for kind in KINDS]
    runs = [races.Run(who, races.recipe_for(who, BATCH, 0), out) for who in candidates]
    say(f"convergence: {len(runs)} trainings of {each:.1f} minutes each")
    curves = races.race(runs, trial, say)
    place.pictures.mkdir(parents=True, exist_ok=True)
    convergence_chart(curves, place.pictures / "convergence.png")
    finding = Finding(
        name="convergence",
        what="convergence",
        command=command_line(),
        seed=0,
        data=data.name,
        minutes=each,
        seconds=round(time.monotonic() - begun, 1),
        measured_on=f"{min(HELD_OUT, len(trial.images))} held-out images of {data.name}",
        numbers={"curves": [_curve(curve) for curve in curves]},
        machine=machine_here(),
        date=today(),
    )
    write_finding(place.measurements, finding)
    return finding


def _lines(size: int, grids: Sequence[int]) -> list[Candidate]:
    """All models at all capacities; those of cells with few present objects, too."""
    full = [candidate(kind, size, grid, COMPONENTS) for grid in grids for kind in KINDS]
    return [line for each in full for line in lines(each, FEW)]


def _curve(curve: races.Curve) -> dict[str, object]:
    return {
        "model": curve.candidate.model,
        "grid": curve.candidate.grid,
        "capacity": curve.candidate.config.capacity,
        "failure": curve.failure,
        "curve": [
            {"step": each.step, "minutes": each.seconds / 60, "squared_error": each.squared_error}
            for each in curve.validations
        ],
    }
