"""`objectspace evaluate`: how well a model takes the images of a data set apart."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from objectspace.cli.data import print_problems
from objectspace.data.dataset import Dataset, splits_of
from objectspace.data.store import write_json
from objectspace.errors import UserError
from objectspace.files import check_writable
from objectspace.progress import Progress

if TYPE_CHECKING:
    from objectspace.evaluation.report import Report
    from objectspace.models.base import SceneModel
    from objectspace.scene import Scene

BATCH = 16  # images taken apart at a time

CEILING = "the paper's AP looks at 11 recalls: without perfect recall it cannot pass 10/11 = 0.909"
PAIRED = {
    "ap50": "AP@0.5 (paper)",
    "ap": "AP@[0.5:0.95] (paper)",
    "coco_ap50": "AP@0.5 (COCO)",
    "coco_ap": "AP@[0.5:0.95] (COCO)",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "f1_30": "F1 at IoU 0.3",
}
OF_GROUPS = {  # the columns of the table of games, in 80 characters
    "objects": "objects",
    "ap50": "AP@0.5",
    "ap": "AP",
    "coco_ap": "COCO AP",
    "f1_30": "F1@0.3",
    "f1": "F1",
    "count_error": "count err.",
}
SINGLE = {
    "count_error": "object count error rate",
    "accuracy": "images with the right number of objects",
    "overcount": "images with too many",
    "undercount": "images with too few",
    "fg_ari": "ARI of true objects' pixels",
    "ari": "ARI",
    "miou": "mIoU",
    "mbo": "mBO",
    "background_miou": "mIoU of floor, wall, ...",
    "mse": "pixel MSE (sum over an image)",
}


def evaluate(
    data: Annotated[Path, typer.Argument(help="The data set.")],
    model: Annotated[str, typer.Option(help="A model's folder, or the name of a shipped one.")],
    split: Annotated[str, typer.Option(help="Which split.")] = "test",
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all numbers to this file.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many images.")] = None,
    without: Annotated[
        str, typer.Option(help="Categories of the truth that count neither way: Wall,Ladder. Leaves masks unmeasured.")
    ] = "",
) -> None:
    """Measure a model: boxes, counts, masks and pixels against the truth."""
    if split not in splits_of(data):
        Dataset(data, split)  # says what is wrong, before a model is loaded
    check_writable(json_file)
    left_out = [name.strip() for name in without.split(",") if name.strip()]

    from objectspace import load

    loaded = load(model)
    report = measure_model(loaded, data, split, limit, left_out)
    height, width = loaded.config.image_size
    apart = f", without {', '.join(left_out)}" if left_out else ""
    print_report(report, f"{model} on {split} of {data}, at {height} x {width}{apart}")
    if json_file is not None:
        source = {"model": model, "data": str(data), "split": split, "size": [height, width], "without": left_out}
        try:
            write_json(json_file, report.to_dict() | source)
        except OSError as error:
            raise UserError(f"cannot write the numbers to {json_file}: {error}") from error
        print(f"all numbers: {json_file}")


def measure_model(
    model: "SceneModel", data: Path, split: str, limit: int | None = None, without: Sequence[str] = ()
) -> "Report":
    """Measure a model on a split, or on its first `limit` images, read at the model's own size.

    The categories `without` count neither way.
    """
    from objectspace.evaluation.evaluate import evaluate as measure

    dataset = Dataset(data, split, model.config.image_size)
    print_problems(dataset.problems)
    _check_categories(without, dataset)
    indices = range(min(limit or len(dataset), len(dataset)))
    with Progress(f"evaluating {split}", len(indices)) as progress:
        return measure(_scenes(model, dataset, len(indices), progress), dataset, indices=indices, without=without)


def _check_categories(names: Sequence[str], dataset: Dataset) -> None:
    if names:
        known = sorted({name for index in range(len(dataset)) for name in dataset.categories(index)})
        unknown = [name for name in names if name not in known]
        if unknown:
            raise UserError(
                f"--without {', '.join(unknown)}: no such category in {dataset.split} of {dataset.root}; "
                f"there are: {', '.join(known)}"
            )


def print_report(report: "Report", title: str) -> None:
    """The numbers as tables: boxes in both pairings side by side, then the rest."""
    print(
        f"{title}: {report.images} images, {report.objects} objects, {report.predicted} found, {report.seconds:.1f} s"
    )
    values = report.to_dict()
    if not report.objects:
        print("there is no true object here, so only the pixels can be measured")
    else:
        boxes = Table("boxes", box=None, header_style="bold", padding=(0, 2, 0, 0))
        boxes.add_column("visible", justify="right")
        boxes.add_column("projected", justify="right")
        for key, name in PAIRED.items():
            at = f" at IoU {report.iou:g}" if key in ("precision", "recall", "f1") else ""
            boxes.add_row(name + at, _text(values[key]), _text(values[f"projected_{key}"]))
        Console().print(boxes)
        print(f"({CEILING})")
        _print_categories(values["recall_by_category"] or {}, report.iou)
        _print_groups(values["groups"])
    rest = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    rest.add_column()
    rest.add_column(justify="right")
    for key, name in SINGLE.items():
        if values[key] is not None:
            rest.add_row(name, _text(values[key]))
    Console().print(rest)


def _print_categories(recalls: dict[str, float], iou: float) -> None:
    """Which kinds of things are found; nothing where there is one kind only."""
    if len(recalls) > 1:
        print(f"found at IoU {iou:g}: " + ", ".join(f"{name} {recall:.3f}" for name, recall in recalls.items()))


def _print_groups(groups: dict[str, dict[str, Any]]) -> None:
    """A row for each game, and the mean of the rows."""
    if not groups:
        return
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("group", no_wrap=True)
    for name in OF_GROUPS.values():
        table.add_column(name, justify="right")
    for group, values in groups.items():
        table.add_row(group or "(none)", *(_text(values[key]) for key in OF_GROUPS))
    means = []
    for key in OF_GROUPS:
        known = [values[key] for values in groups.values() if values[key] is not None]
        means.append(_text(float(sum(known)) / len(known) if known else None))
    table.add_row("mean", *means)
    Console().print(table)


def _scenes(model: "SceneModel", dataset: Dataset, count: int, progress: Progress) -> Iterator["Scene"]:
    """The first images taken apart, a batch at a time."""
    for start in range(0, count, BATCH):
        for scene in model.decompose(list(dataset.images[start : min(start + BATCH, count)])):
            yield scene
            progress.advance()


def _text(value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.3f}"
