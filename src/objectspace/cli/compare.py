"""`objectspace compare`: the paper's comparison of models as commands."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from objectspace.cli.compare_print import (
    print_capped,
    print_caveats,
    print_convergence,
    print_latency,
    print_table,
)
from objectspace.cli.shared import resumable
from objectspace.data.dataset import Dataset, splits_of
from objectspace.errors import UserError
from objectspace.io.files import check_writable, write_atomically, write_json
from objectspace.io.progress import Progress, duration

if TYPE_CHECKING:
    from objectspace.compare.candidates import Candidate
    from objectspace.compare.convergence import Curve
    from objectspace.compare.table import MeasuredModel
    from objectspace.compare.trained import TrainedModel

app = typer.Typer(
    help="Compare models: time and memory of a step, convergence, a table, pictures.", no_args_is_help=True
)

Models = Annotated[str, typer.Option(help="Kinds of models, as in space,spair; all by default.")]
Grids = Annotated[str, typer.Option(help="Cells on a side: each gives the capacity of its cells and --components.")]
Components = Annotated[int, typer.Option(min=1, help="Background components of SPACE.")]


@app.command()
def latency(
    out: Annotated[Path, typer.Option(help="The directory to write; the same command again continues it.")] = Path(
        "latency"
    ),
    models: Models = "",
    grids: Grids = "4,8,16,32",
    components: Components = 5,
    size: Annotated[int, typer.Option(min=16, help="Side of the images.")] = 128,
    batch: Annotated[int, typer.Option(min=1, help="Images a step.")] = 12,
    objects: Annotated[
        int, typer.Option(min=0, help="Measure models of cells with so few present objects too; 0: only all cells.")
    ] = 20,
    repeats: Annotated[int, typer.Option(min=1, help="Rounds; the median counts.")] = 3,
    limit_seconds: Annotated[float, typer.Option(min=0.001, help="Take no step that should last longer.")] = 120,
    memory: Annotated[
        float | None, typer.Option(min=0.1, help="Gigabytes that a model may use; 80% of what is free by default.")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of a step; as torch decides by default.")] = None,
) -> None:
    """Time and memory of a gradient step, and the time of inference, against the decomposition capacity.

    Each is measured in a process of its own, in each model's own regime. Models of cells have a line with all cells and
    one with a budget of objects; SPAIR has both again with cells of one diagonal inferred together (`model.wavefront`).
    """
    check_writable(out / "latency.json")
    import torch

    from objectspace.compare.candidates import lines
    from objectspace.compare.charts import latency_chart
    from objectspace.compare.latency import Settings, measure_all
    from objectspace.compare.machine import available_memory, origin

    candidates = [line for each in _candidates(models, grids, size, components) for line in lines(each, objects)]
    settings = Settings(
        batch=batch,
        repeats=repeats,
        limit=limit_seconds,
        memory=int(memory * 1e9 if memory is not None else 0.8 * available_memory()),
        threads=threads or torch.get_num_threads(),
    )
    with _writing(out):
        out.mkdir(parents=True, exist_ok=True)
    with resumable(), Progress("measuring steps", len(candidates) * repeats) as progress:
        points = measure_all(candidates, settings, out / "latency.jsonl", lambda _: progress.advance())
    print_latency(points)
    content = origin({**vars(settings), "size": size, "components": components, "objects": objects})
    with _writing(out):
        write_json(out / "latency.json", content | {"points": [vars(point) for point in points]})
        latency_chart(points, out / "latency.png")
    print(f"all numbers: {out / 'latency.json'}; chart: {out / 'latency.png'}")


@app.command()
def convergence(
    data: Annotated[Path, typer.Option(help="The data set, with a split train and one of val and test.")],
    minutes: Annotated[float, typer.Option(min=0.001, help="Minutes of training for each model.")],
    out: Annotated[Path, typer.Option(help="The directory to write; the same command again continues it.")],
    models: Models = "",
    grids: Grids = "4,8,16",
    components: Components = 5,
    size: Annotated[int, typer.Option(min=16, help="Side of the images.")] = 128,
    batch: Annotated[int, typer.Option(min=1, help="Images a step.")] = 12,
    seed: Annotated[int, typer.Option(min=0, help="The seed of all runs.")] = 0,
    turns: Annotated[
        int, typer.Option(min=1, help="Slices of the time, with a validation on held-out images after each.")
    ] = 20,
    images: Annotated[int, typer.Option(min=1, help="Held-out images to validate on.")] = 64,
    most_components: Annotated[
        int | None, typer.Option(min=2, help="At most so many in models of components only, which may not fit.")
    ] = None,
) -> None:
    """Pixel error on held-out images against training time, every model at several capacities.

    Each learns by its own recipe's optimisers, schedules and clipping; the error is that of the soft reconstruction.
    """
    check_writable(out / "convergence.json")
    from objectspace.compare import convergence as races
    from objectspace.compare.candidates import on_images
    from objectspace.compare.charts import convergence_chart
    from objectspace.compare.machine import origin

    trial = races.Trial(data, races.held_out(data, size), minutes, turns, images)
    candidates, left_out = on_images(_candidates(models, grids, size, components, most_components), size)
    for word in left_out:
        print(word)
    if not candidates:
        raise UserError(f"no model is left that reads images of {size} x {size}")
    runs = [races.Run(candidate, races.recipe_for(candidate, batch, seed), out) for candidate in candidates]
    print(f"{len(runs)} runs of {minutes:g} minutes each: {duration(60 * minutes * len(runs))} of training in all")
    print_capped(candidates, components, most_components)
    print_caveats(candidates)
    with resumable():
        curves = races.race(runs, trial, say=_say)
    targets = races.targets(curves)
    print_convergence(curves, targets)
    settings = {
        "data": str(data),
        "measure": races.MEASURED,
        "minutes": minutes,
        "size": size,
        "batch": batch,
        "seed": seed,
        "images": images,
    }
    content = origin(settings | {"components": components, "most_components": most_components})
    with _writing(out):
        write_json(out / "convergence.json", content | {"runs": [_curve(curve, targets) for curve in curves]})
        convergence_chart(curves, out / "convergence.png")
    print(f"all numbers: {out / 'convergence.json'}; chart: {out / 'convergence.png'}; runs: {out / 'runs'}")


@app.command()
def table(
    runs: Annotated[list[str], typer.Argument(help="Run directories, model folders, or names of shipped models.")],
    data: Annotated[Path | None, typer.Option(help="The data set; by default the one each run was trained on.")] = None,
    split: Annotated[str, typer.Option(help="Which split.")] = "test",
    out: Annotated[Path, typer.Option(help="The directory to write; it keeps what was measured.")] = Path("table"),
    boxes: Annotated[
        Literal["visible", "projected", "published"],
        typer.Option(help="AP of visible boxes, of whole ones, or all by the published rule, as the paper's numbers."),
    ] = "visible",
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many images.")] = None,
) -> None:
    """The paper's Table 1 for trained models: mean and deviation over seeds, failed seeds named."""
    check_writable(out / "table.md")
    from objectspace.compare.table import latex, markdown, rows_of
    from objectspace.compare.trained import find_all

    with ExitStack() as stack, resumable():
        found = find_all(runs, stack)
        places = [_data_of(who, data, split) for who in found]  # all of them, before the first is measured
        entries = [_entry(who, place, split, limit, out) for who, place in zip(found, places, strict=True)]
    rows = rows_of(entries)
    print_table(rows, boxes)
    with _writing(out):
        write_atomically(out / "table.md", markdown(rows, boxes).encode())
        write_atomically(out / "table.tex", latex(rows, boxes).encode())
        write_json(out / "table.json", {"models": [_described(entry) for entry in entries]})
    print(f"the same: {out / 'table.md'}, {out / 'table.tex'}; all numbers: {out / 'table.json'}")


@app.command()
def pictures(
    models: Annotated[list[str], typer.Argument(help="Run directories, model folders, or names of shipped models.")],
    data: Annotated[Path, typer.Option(help="The data set.")],
    split: Annotated[str, typer.Option(help="Which split.")] = "test",
    images: Annotated[int, typer.Option(min=1, help="How many images.")] = 6,
    out: Annotated[Path, typer.Option(help="The page to write; a .png of the same goes beside it.")] = Path(
        "compared.html"
    ),
) -> None:
    """Models side by side on the same images: one page, and a picture of it."""
    if out.suffix != ".html":
        raise UserError(f"--out {out}: the page's name must end in .html")
    check_writable(out)
    _check_split(data, split)
    import io

    from PIL import Image

    from objectspace import load
    from objectspace.compare.page import Block, compared_page, compared_sheet
    from objectspace.compare.trained import find_all, short_names

    with ExitStack() as stack:
        found = find_all(models, stack)
        for who in found:
            if not who.has_weights:
                raise UserError(f"{who.name} {who.failure}")
        size = max(who.size for who in found)  # all scenes at one size, which loses nothing of the finest model
        dataset = Dataset(data, split, size)
        chosen = range(min(images, len(dataset)))
        inputs = [dataset.images[index] for index in chosen]
        with Progress("taking images apart", len(found)) as progress:
            scenes, names = {}, short_names([who.name for who in found])
            for who in found:
                scenes[names[who.name]] = load(who.folder).decompose(inputs)
                progress.advance()
    blocks = [
        Block(
            dataset.names[index],
            inputs[index],
            {name: made[index] for name, made in scenes.items()},
            dataset.scene(index) if dataset.object_count else None,
        )
        for index in chosen
    ]
    png = io.BytesIO()
    Image.fromarray(compared_sheet(blocks)).save(png, format="PNG")
    with _writing(out.parent):
        write_atomically(out, compared_page(f"{len(found)} models on {split} of {data.name}", blocks).encode())
        write_atomically(out.with_suffix(".png"), png.getvalue())
    print(f"{out} and {out.with_suffix('.png')}: {len(found)} models on {len(blocks)} images")


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    """Whoever writes results writes in here: a disk that is full or gone is not a programming error."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write into {out}: {error}; mend that: the same command continues") from error


def _candidates(models: str, grids: str, size: int, components: int, most: int | None = None) -> "list[Candidate]":
    """All that are asked for, the models of a grid beside one another."""
    from objectspace.compare.candidates import candidate, kinds

    wanted = kinds([name.strip() for name in models.split(",") if name.strip()])
    return [candidate(kind, size, grid, components, most) for grid in _numbers(grids) for kind in wanted]


def _numbers(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise UserError(f"--grids {text!r}: give whole numbers with commas between them, as in 4,8,16")
    return list(dict.fromkeys(int(part) for part in parts))


def _curve(curve: "Curve", targets: dict[int, float]) -> dict[str, Any]:
    """A run as JSON."""
    from objectspace.compare.convergence import to_json

    final, target = curve.final, targets.get(curve.candidate.grid)
    return {
        "model": curve.candidate.model,
        "grid": curve.candidate.grid,
        "capacity": curve.candidate.config.capacity,
        "failure": curve.failure,
        "steps": 0 if final is None else final.step,
        "minutes": 0.0 if final is None else final.seconds / 60,
        "final_squared_error": None if final is None else final.squared_error,
        "minutes_to_target": None if target is None else curve.minutes_to(target),
        "target_squared_error": target,
        "looks": to_json(*curve.validations),
    }


def _data_of(who: "TrainedModel", data: Path | None, split: str) -> Path:
    """The data set that a model is to be measured on."""
    place = data or who.data
    if place is None:
        raise UserError(f"{who.name} does not say what it was trained on: give --data")
    _check_split(place, split)
    return place


def _check_split(data: Path, split: str) -> None:
    if split not in splits_of(data):
        Dataset(data, split)  # says what is wrong, before a model is loaded


def _entry(who: "TrainedModel", data: Path, split: str, limit: int | None, out: Path) -> "MeasuredModel":
    """A model with its numbers, measured now or before."""
    from objectspace.compare.measures import measured
    from objectspace.compare.table import MeasuredModel

    numbers = measured(who, data, split, limit, out / "measured") if who.has_weights else {}
    return MeasuredModel(who, data.resolve().name, numbers)


def _described(entry: "MeasuredModel") -> dict[str, Any]:
    who = entry.who
    about = {"kind": who.kind, "capacity": who.capacity, "seed": who.seed, "recipe": who.group, "failure": who.failure}
    return {"model": who.name, "data": entry.data} | about | {"numbers": dict(entry.numbers)}


def _say(line: str) -> None:
    print(line, flush=True)
