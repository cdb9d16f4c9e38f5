"""`objectspace decompose`: images in, a directory with their objects out."""

import glob
import io
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Annotated

import typer

from objectspace.cli.shared import resumable
from objectspace.errors import UserError
from objectspace.io.files import check_writable
from objectspace.io.paths import STANDARD_INPUT, Gathered, ImageFile, NoImages, image_files
from objectspace.labels.names import read_labels


def decompose(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATHS...",
            help="Images, directories, patterns in quotes, data sets, COCO files, GIFs, videos; - reads a list.",
        ),
    ],
    model: Annotated[str, typer.Option(help="A model's folder, or the name of a shipped one.")],
    out: Annotated[Path, typer.Option(help="The directory to write; the same command again continues it.")],
    threshold: Annotated[
        float,
        typer.Option(min=0, max=1, help="Presence that an object must have; its score, which says more, may be lower."),
    ] = 0.5,
    price: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Nats that an image must gain by an object for each pixel it draws, and 10 in all: more, and doubles "
            "go, but faint things too. 0.3 if it is not given.",
        ),
    ] = None,
    no_leftovers: Annotated[
        bool, typer.Option("--no-leftovers", help="Leave out what is found but not understood: it cannot be drawn.")
    ] = False,
    batch: Annotated[int, typer.Option(min=1, help="Images worked on at a time.")] = 16,
    crops: Annotated[bool, typer.Option("--crops", help="Cut every object out, into crops/.")] = False,
    masks: Annotated[bool, typer.Option("--masks", help="Write masks/: 0 nothing, i the i-th object.")] = False,
    pictures: Annotated[
        bool, typer.Option("--pictures", help="Keep background and all pictures in scenes/, which makes them large.")
    ] = False,
    no_overlays: Annotated[bool, typer.Option("--no-overlays", help="Leave overlays/ out.")] = False,
    latents: Annotated[Path | None, typer.Option(help="Write all objects' latents to this .safetensors.")] = None,
    label_studio: Annotated[Path | None, typer.Option(help="Write tasks for Label Studio to this .json.")] = None,
    csv: Annotated[
        Path | None,
        typer.Option(help="Write a row an image to this .csv, and a row an object to NAME-objects.csv beside it."),
    ] = None,
    yolo: Annotated[bool, typer.Option("--yolo", help="Write yolo/: labels in YOLO's format.")] = False,
    tile: Annotated[
        bool, typer.Option("--tile", help="Look at large images in overlapping tiles, in place of shrinking them.")
    ] = False,
    tile_scale: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            max=16,
            help="With --tile: look at images at so many times their size; objects should then be "
            "as large as in training.",
        ),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="A labels.json of  objectspace label: objects get the names in it.")
    ] = None,
    gif: Annotated[Path | None, typer.Option(help="Write all images, in order, with boxes, to this .gif.")] = None,
    fps: Annotated[float, typer.Option(min=0.1, max=50, help="Pictures a second in the GIF.")] = 15,
    scale: Annotated[
        float | None, typer.Option(min=0.05, max=16, help="Size of the GIF; small images are enlarged by themselves.")
    ] = None,
    report_images: Annotated[int, typer.Option(min=1, help="How many images report.html shows at the most.")] = 200,
    no_report: Annotated[bool, typer.Option("--no-report", help="Leave report.html out.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first file that cannot be used.")] = False,
) -> None:
    """Take images apart: boxes, masks, crops, counts, a page to look at, a GIF of an episode."""
    for file in (latents, label_studio, csv, gif):
        check_writable(file)
    if gif is not None and gif.suffix.lower() != ".gif":
        raise UserError(f"--gif {gif}: give a name that ends in .gif")
    if gif is not None and any(os.path.realpath(path) == os.path.realpath(gif) for path in paths):
        raise UserError(f"--gif {gif} would replace what is to be taken apart: give another name")
    if tile_scale is not None and not tile:
        raise UserError("--tile-scale is how large images are for tiles: give --tile as well")
    names = None if labels is None else read_labels(labels)
    found, total = gather(paths, out)

    from objectspace import load
    from objectspace.models.card import usual_unexplained
    from objectspace.results.decomposition import Decomposition
    from objectspace.results.options import DecomposeOptions

    options = DecomposeOptions(
        threshold=threshold,
        price=price,
        leftovers=not no_leftovers,
        batch=batch,
        overlays=not no_overlays,
        crops=crops,
        masks=masks,
        pictures=pictures,
        report_images=0 if no_report else report_images,
        latents=latents,
        label_studio=label_studio,
        csv=csv,
        yolo=yolo,
        tile=tile,
        tile_scale=tile_scale,
        gif=gif,
        fps=fps,
        scale=scale,
        labels=names,
        strict=strict,
    )
    work = Decomposition(out, load(model), model, options, usual_unexplained(model))
    with resumable():
        done = work.run(found, total, lambda line: typer.echo(line, err=True))
    if gif is not None and gif.exists():
        print(f"{gif}: {gif.stat().st_size / 1e6:.1f} MB")
    rate = f", {done.new} new in {done.seconds:.1f} s" if done.new else ", finished before"
    print(f"{out}: {done.images} images, {done.objects} objects{rate}")
    if done.problems:
        typer.echo(f"{done.problems} could not be used: they are listed above", err=True)
        raise typer.Exit(1)


def _standard_input() -> IO[str]:
    """The list of paths; names that are no text survive."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")
    return sys.stdin


def gather(paths: Sequence[str], out: Path) -> tuple[Iterable[ImageFile | NoImages], int | None]:
    """What the paths stand for, and how many files that is; None where a list of them is still to be read."""
    if STANDARD_INPUT in paths:
        return image_files(paths, out, _standard_input()), None
    found = Gathered(image_files(paths, out))
    if not found.exists:
        gone = [path for path in paths if not os.path.lexists(path) and not glob.has_magic(path)]
        if gone:
            raise UserError(f"{', '.join(gone[:5])}{' ...' if len(gone) > 5 else ''} does not exist")
        raise UserError(f"there are no images in {', '.join(paths[:5])}{' ...' if len(paths) > 5 else ''}")
    return found, found.total
