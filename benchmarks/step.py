"""A full training step (forward, backward, both optimisers): the fast path against full canvases.

python -m benchmarks.step [--grids 4 8 16 32] [--repeats 3] [--batch 12] [--few] [--plot docs/images/step.png]

Times are taken alternately in one process; peak memory comes from a process of its own for each, less what it holds
before the first step. "n objects" is a budget of so many objects an image; the dense version always draws all cells.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import torch
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from benchmarks.common import RESULTS, report
from benchmarks.dense import DenseSpace
from objectspace.compare import machine
from objectspace.compare.steps import stepper as train_step
from objectspace.config import Anneal, Stage
from objectspace.models.parts.settings import ForegroundConfig
from objectspace.models.space import Space
from objectspace.models.space import SpaceConfig as Config
from objectspace.recipes.recipe import Training

OBJECTS = 20
GRIDS = (4, 8, 16, 32)
DENSE_GRIDS = (4, 8, 16)  # 32 would need four times the canvases of 16
SIZE = 128


def config_for(grid: int, budget: int | None) -> Config:
    return Config(image_size=(SIZE, SIZE), foreground=ForegroundConfig(grid=(grid, grid), budget=budget))


def stepper(kind: str, grid: int, batch: int) -> Callable[[], None]:
    """A function that does one training step; `kind` is dense, all or few."""
    torch.manual_seed(0)
    stage = Stage(0.01, -2.0, 0.5, boundary_weight=1.0)
    images = torch.rand(batch, 3, SIZE, SIZE)
    config = config_for(grid, OBJECTS if kind == "few" else None)
    generator = torch.Generator().manual_seed(1)
    if kind == "dense":
        dense = DenseSpace(config, stage)
        space = dense.space
        step = train_step(lambda given: dense(given, stage, True, generator), space.parameter_groups(), Training())
    else:
        space = Space.create(config, Anneal())
        loss = partial(space, stage=stage, sample=True, generator=generator)
        step = train_step(lambda given: loss(given).loss, space.parameter_groups(), Training())
    return lambda: step(images)


def peak_memory(kind: str, grid: int, batch: int) -> float:
    """Gigabytes that two steps add to a fresh process; NaN if it ran out of memory."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.step", "--memory-of", kind, str(grid), str(batch)],
        capture_output=True,
        text=True,
        check=False,
    )
    return float(done.stdout) if done.returncode == 0 else float("nan")


def print_memory(kind: str, grid: int, batch: int) -> None:
    step = stepper(kind, grid, batch)
    before = machine.peak_memory()
    step()
    step()
    print((machine.peak_memory() - before) / 1e9)


def measure(grid: int, batch: int, repeats: int) -> list[dict[str, object]]:
    """Rows of the table for one grid."""
    kinds = ["all", "few"] if grid not in DENSE_GRIDS else ["dense", "all", "few"]
    kinds = [kind for kind in kinds if kind != "few" or grid * grid > OBJECTS]
    steppers = {kind: stepper(kind, grid, batch) for kind in kinds}
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    for round_number in range(repeats + 1):
        for kind, step in steppers.items():
            start = time.perf_counter()
            step()
            if round_number:  # the first one warms up
                times[kind].append(time.perf_counter() - start)
    steppers.clear()
    dense = median(times["dense"]) if "dense" in times else float("nan")
    rows: list[dict[str, object]] = []
    for kind in kinds:
        seconds = median(times[kind])
        label = {"dense": "dense, all cells", "all": "fast, all cells", "few": f"fast, {OBJECTS} objects"}[kind]
        memory = peak_memory(kind, grid, batch)
        rows.append({"grid": grid, "path": label, "seconds": seconds, "speed-up": dense / seconds, "peak GB": memory})
    return rows


def compare_grids(grids: list[int], batch: int, repeats: int) -> list[dict[str, object]]:
    """The fast path with few objects, alternately at several grids: the cost should not follow the cells."""
    steppers = {grid: stepper("few", grid, batch) for grid in grids}
    times: dict[int, list[float]] = {grid: [] for grid in grids}
    for round_number in range(repeats + 1):
        for grid, step in steppers.items():
            start = time.perf_counter()
            step()
            if round_number:
                times[grid].append(time.perf_counter() - start)
    first = median(times[grids[0]])
    return [
        {"grid": grid, "seconds": median(times[grid]), f"against grid {grids[0]}": median(times[grid]) / first}
        for grid in grids
    ]


def plot(rows: list[dict[str, object]], path: Path) -> None:
    """Seconds and memory against the grid, a line a path."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    grids = list(dict.fromkeys(row["grid"] for row in rows))
    labels = {"seconds": "seconds a training step", "peak GB": "peak memory, GB"}
    for axes, (key, label) in zip(figure.subplots(1, 2), labels.items(), strict=True):
        for version in dict.fromkeys(row["path"] for row in rows):
            chosen = [row for row in rows if row["path"] == version]
            axes.plot([row["grid"] for row in chosen], [row[key] for row in chosen], "o-", label=version)
        axes.set(xlabel="side of the grid in cells", ylabel=label, xscale="log", yscale="log")
        axes.set_xticks(grids, [str(grid) for grid in grids])
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    figure.axes[0].legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grids", type=int, nargs="+", default=list(GRIDS), choices=GRIDS, help="cells on a side")
    parser.add_argument("--batch", type=int, default=12, help="images a step")
    parser.add_argument("--repeats", type=int, default=3, help="steps timed, after one that warms up")
    parser.add_argument("--few", action="store_true", help=f"only {OBJECTS} objects, the grids against one another")
    parser.add_argument("--plot", type=Path, default=RESULTS / "step.png", help="the file that the plot goes to")
    parser.add_argument("--memory-of", nargs=3, metavar=("KIND", "GRID", "BATCH"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.few:
        report("step-few", compare_grids(arguments.grids, arguments.batch, arguments.repeats))
        return
    if arguments.memory_of:
        kind, grid, batch = arguments.memory_of
        print_memory(kind, int(grid), int(batch))
        return
    rows: list[dict[str, object]] = []
    for grid in arguments.grids:
        for row in measure(grid, arguments.batch, arguments.repeats):
            print(row, flush=True)
            rows.append(row)
    report("step", rows)
    plot(rows, arguments.plot)


if __name__ == "__main__":
    main()
