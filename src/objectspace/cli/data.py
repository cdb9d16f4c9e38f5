"""`objectspace data`: generate, convert and look at data sets."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from PIL import Image
from rich.console import Console
from rich.table import Table

from objectspace.cli.shared import print_problems, resumable
from objectspace.data.dataset import Dataset, splits_of
from objectspace.data.generate import Made, generate
from objectspace.data.memory_map import MixedSizesError
from objectspace.data.sample import Problem
from objectspace.data.source import Source
from objectspace.data.statistics import statistics
from objectspace.data.streams import Stream
from objectspace.errors import UserError
from objectspace.io.files import read_json

COMMON_SIZE = 128  # at which images of different sizes are counted and drawn

app = typer.Typer(help="Data sets: generate, convert, look at.", no_args_is_help=True)

Out = Annotated[Path, typer.Argument(help="The directory of the data set; the same command again continues it.")]
Train = Annotated[int, typer.Option(min=0, help="Images in the training split.")]
Val = Annotated[int, typer.Option(min=0, help="Images in the validation split.")]
Test = Annotated[int, typer.Option(min=0, help="Images in the test split.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same data set.")]
Workers = Annotated[int, typer.Option(min=1, help="Processes; they do not change the result.")]


@app.command()
def rooms(
    out: Out,
    variant: Annotated[str, typer.Option(help="small: 4-8 objects; large: 18-24.")] = "small",
    train: Train = 63_000,
    val: Val = 7_000,
    test: Test = 7_000,
    size: Annotated[int, typer.Option(min=32, help="Height and width of an image.")] = 128,
    seed: Seed = 0,
    workers: Workers = 2,
) -> None:
    """The paper's 3D-Room: objects in a walled enclosure, rendered by MuJoCo."""
    from objectspace.data.rooms import RoomsSource

    source = RoomsSource(variant=variant, size=size, seed=seed)
    _make(source, out, _streams(train, val, test), workers)


@app.command()
def atari(
    out: Out,
    games: Annotated[str, typer.Option(help="Names joined by commas; joint10 stands for the paper's ten.")],
    train: Annotated[int, typer.Option(min=0, help="Training frames of each game.")] = 50_000,
    val: Annotated[int, typer.Option(min=0, help="Validation frames of each game.")] = 5_000,
    test: Annotated[int, typer.Option(min=0, help="Test frames of each game.")] = 5_000,
    size: Annotated[int, typer.Option(min=32, help="Height and width of an image.")] = 128,
    policy: Annotated[str, typer.Option(help="random, or package.module:factory for your own agent.")] = "random",
    consecutive: Annotated[int, typer.Option(min=1, help="Take runs of so many frames in a row.")] = 1,
    seed: Seed = 0,
    workers: Workers = 2,
) -> None:
    """Frames of Atari games with the boxes of their objects from OCAtari."""
    from objectspace.data.atari import AtariSource, parse_games, streams

    names = parse_games(games)
    source = AtariSource(games=names, size=size, seed=seed, policy=policy, consecutive=consecutive)
    wanted = streams(names, {"train": train, "val": val, "test": test}, consecutive)
    _print_agreement(_make(source, out, wanted, workers))


@app.command()
def sprites(
    out: Out,
    train: Train = 5_000,
    val: Val = 500,
    test: Test = 1_000,
    size: Annotated[int, typer.Option(min=8, help="Height of an image, and its width unless that is given.")] = 64,
    width: Annotated[int | None, typer.Option(min=8, help="Width of an image.")] = None,
    least: Annotated[int, typer.Option(min=0, help="Fewest sprites in an image.")] = 2,
    most: Annotated[int, typer.Option(min=0, help="Most sprites in an image.")] = 5,
    smallest: Annotated[float, typer.Option(help="Smallest diameter, as a fraction of the shorter side.")] = 0.14,
    largest: Annotated[float, typer.Option(help="Largest diameter.")] = 0.28,
    ground: Annotated[str, typer.Option(help="plain, gradient, textured or any.")] = "any",
    seed: Seed = 0,
    workers: Workers = 2,
) -> None:
    """Coloured shapes with exact masks: quick to make, quick to learn."""
    from objectspace.data.sprites import SpritesSource

    source = SpritesSource(size, width or size, least, most, smallest, largest, ground, seed)
    _make(source, out, _streams(train, val, test), workers)


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(help="The directory or file to convert; it is only read.")],
    out: Out,
    format_name: Annotated[
        str,
        typer.Option("--format", help="folder, coco, obj3d, space-atari, dm-tfrecord, ocl-hdf5 or emorl-hdf5."),
    ],
    val: Annotated[float, typer.Option(help="Fraction of the training images to hold out as val.")] = 0.0,
    test: Annotated[float, typer.Option(help="Fraction to hold out as test.")] = 0.0,
    split: Annotated[str, typer.Option(help="The split of a source that has none.")] = "train",
    limit: Annotated[int | None, typer.Option(help="Only the first so many images of every split.")] = None,
    variant: Annotated[
        str | None, typer.Option(help="Which of DeepMind's data sets, where the file leaves it open.")
    ] = None,
    crop: Annotated[bool, typer.Option(help="The customary crop of clevr_with_masks.")] = False,
    images: Annotated[Path | None, typer.Option(help="The directory of a COCO file's images.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Chooses which images are held out.")] = 0,
    workers: Workers = 2,
) -> None:
    """Bring a folder of pictures, or a data set of another format, into ours."""
    from objectspace.data.convert import open_source

    options = {"val": val, "test": test, "split": split, "limit": limit, "variant": variant, "crop": crop}
    opened, streams = open_source(source, format_name, images=images, seed=seed, **options)
    made = _make(opened, out, streams, workers)
    if made.problems:  # as every command that reads many files: done, but not with all of them
        typer.echo(f"{len(made.problems)} could not be used: they are listed above", err=True)
        raise typer.Exit(1)


@app.command()
def show(
    data: Annotated[Path, typer.Argument(help="A data set.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The picture to write.")] = Path("sheet.png"),
    split: Annotated[str | None, typer.Option(help="Which split; the first there is by default.")] = None,
    count: Annotated[int, typer.Option(min=1, help="How many images.")] = 24,
    columns: Annotated[int, typer.Option(min=1, help="How many in a row.")] = 4,
    start: Annotated[int, typer.Option(min=0, help="The first image.")] = 0,
) -> None:
    """A contact sheet: images with boxes, and their masks."""
    dataset = _open(data, split or _splits(data)[0])
    print_problems(dataset.problems)
    save_sheet(dataset, output, range(start, min(start + count, len(dataset))), columns)
    print(f"{output}: {dataset.split} of {data}")


@app.command()
def info(
    data: Annotated[Path, typer.Argument(help="A data set.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The plot to write; DIR/info.png by default.")
    ] = None,
) -> None:
    """Counts, sizes and numbers of objects, and what is wrong with the files."""
    from objectspace.reports.plots import object_statistics

    datasets, failed = _open_all(data)
    rows = [statistics(dataset) for dataset in datasets]
    table = Table(*rows[0], box=None, header_style="bold", padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*row.values())
    Console().print(table)
    for dataset in datasets:
        print_problems(dataset.problems, f"{dataset.split}: ")
    if (data / "dataset.json").exists():
        print_problems([Problem(*problem) for problem in read_json(data / "dataset.json").get("left_out", [])])
    target = output or data / "info.png"
    scenes = [dataset.scene(index) for dataset in datasets for index in range(min(len(dataset), 2000))]
    try:
        object_statistics(scenes, target, title=data.resolve().name)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot write the plot {target}: {error}") from error
    print(f"plot: {target}")
    if failed:
        raise typer.Exit(1)


def save_sheet(dataset: Dataset, output: Path, indices: Sequence[int], columns: int) -> None:
    """Write a contact sheet of some images of a data set."""
    from objectspace.reports.pictures import contact_sheet

    if not indices:
        raise UserError(f"{dataset.root} has {len(dataset)} images in {dataset.split!r}: --start lies beyond the last")
    sheet = contact_sheet(
        [dataset.images[index] for index in indices],
        [dataset.scene(index) for index in indices],
        [dataset.names[index] for index in indices],
        columns,
        ignored=[dataset.ignored_boxes(index).tolist() for index in indices],
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    try:
        Image.fromarray(sheet).save(output)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot write the picture {output}: {error}") from error


def _streams(train: int, val: int, test: int) -> list[Stream]:
    return [Stream("train", train), Stream("val", val), Stream("test", test)]


def _make(source: Source, out: Path, streams: Sequence[Stream], workers: int) -> Made:
    with resumable():
        made = generate(source, out, streams, workers)
    if made.new:
        print(f"{out}: {made.images} images, {made.new} new in {made.seconds:.1f} s ({made.new / made.seconds:.1f}/s)")
    else:
        print(f"{out}: {made.images} images, finished before; nothing to do")
    print_problems(made.problems)
    return made


def _open_all(data: Path) -> tuple[list[Dataset], bool]:
    """All splits that can be read, and whether one cannot: it is named, and the others are looked at."""
    datasets, failed = [], False
    for name in _splits(data):
        try:
            datasets.append(_open(data, name))
        except UserError as error:
            typer.echo(f"{name}: {error}", err=True)
            failed = True
    if not datasets:
        raise UserError(f"no split of {data} can be read")
    return datasets, failed


def _splits(data: Path) -> list[str]:
    names = splits_of(data)
    if not names:
        Dataset(data)  # says what to do with it
    return names


def _open(data: Path, split: str) -> Dataset:
    """A split to look at; images of different sizes are shown at one."""
    try:
        return Dataset(data, split)
    except MixedSizesError:
        typer.echo(
            f"the images of {data / split} have different sizes: looking at them at {COMMON_SIZE} x {COMMON_SIZE}",
            err=True,
        )
        return Dataset(data, split, COMMON_SIZE)


def _print_agreement(made: Made) -> None:
    """How far OCAtari's two modes agree, game by game."""
    titles = ("game", "images", "objects", "by RAM", "by vision", "agreed", "agreement")
    table = Table(*titles, box=None, header_style="bold", padding=(0, 2, 0, 0))
    for game, seen in made.summary["agreement"].items():
        rate = f"only {'+'.join(seen['modes'])} mode" if seen["rate"] is None else f"{seen['rate']:.3f}"
        keys = ("images", "objects", "ram_objects", "vision_objects", "agreed")
        table.add_row(game, *(str(seen[key]) for key in keys), rate)
    Console().print(table)
