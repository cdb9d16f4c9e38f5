"""`objectspace evaluate`: how well a model takes the images of a data set apart."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from objectspace.cli.shared import print_problems
from objectspace.data.dataset import Dataset, splits_of
from objectspace.errors import UserError
from objectspace.io.files import check_writable, write_json
from objectspace.measuring import Rule, measure_model, open_for

if TYPE_CHECKING:
    from objectspace.evaluation.report import Report
    from objectspace.models.base import SceneModel

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
    "count_error": "object count error rate",
}
RULES = {  # the columns of the table of boxes: keys begin with the name; what the name means
    "visible": "boxes around what can be seen",
    "projected": "the latents' boxes against whole objects",
    "published": "as the published evaluation does it: every cell above 0.5, the latents' boxes, whole objects",
    "strict": "as visible, but what is found on regions that count neither way, such as a score, is false",
    "moving": "as visible, without the categories that stand still",
}
OF_GROUPS = {  # the columns of the table of games, in 80 characters; both AP make room for others
    "objects": "objects",
    "ap50": "AP@0.5",
    "ap": "AP",
    "coco_ap": "COCO AP",
    "f1_30": "F1@0.3",
    "f1": "F1",
    "count_error": "count err.",
}
MORE_OF_GROUPS = {"strict_f1": "strict F1", "moving_f1": "moving F1"}  # where they are measured
PUBLISHED_OF_GROUPS = {"objects": "objects"} | {
    f"published_{key}": name for key, name in OF_GROUPS.items() if key != "objects"
}
SINGLE = {
    "accuracy": "images with the right number of objects",
    "overcount": "images with too many",
    "undercount": "images with too few",
    "fg_ari": "ARI of true objects' pixels",
    "ari": "ARI",
    "miou": "mIoU",
    "mbo": "mBO",
    "background_miou": "mIoU of floor, wall, ...",
    "squared_error": "squared error (sum over an image)",
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
    rule: Annotated[
        Rule,
        typer.Option(help="ours: everything. published: only what the published evaluation measures, which is quick."),
    ] = "ours",
    moving: Annotated[bool, typer.Option(help="Measure what moves by itself too, without scenery.")] = False,
) -> None:
    """Measure a model: boxes, counts, masks and pixels against the truth."""
    if split not in splits_of(data):
        Dataset(data, split)  # says what is wrong, before a model is loaded
    check_writable(json_file)
    left_out = [name.strip() for name in without.split(",") if name.strip()]
    if moving and rule == "published":
        raise UserError("--moving belongs to our rule: leave out --rule published")

    from objectspace import load

    loaded = load(model)
    dataset = open_split(data, split, loaded)
    height, width = dataset.height, dataset.width
    report = measure_model(loaded, dataset, limit, left_out, rule=rule, moving=moving)
    apart = f", without {', '.join(left_out)}" if left_out else ""
    print_report(report, f"{model} on {split} of {data}, at {height} x {width}{apart}")
    if json_file is not None:
        source = {"model": model, "data": str(data), "split": split, "size": [height, width], "without": left_out}
        source |= {"rule": rule}
        try:
            write_json(json_file, report.to_dict() | source)
        except OSError as error:
            raise UserError(f"cannot write the numbers to {json_file}: {error}") from error
        print(f"all numbers: {json_file}")


def open_split(data: Path, split: str, model: "SceneModel") -> Dataset:
    """A split as a model sees it; files that cannot be used are named."""
    dataset = open_for(model, data, split)
    print_problems(dataset.problems)
    return dataset


def print_report(report: "Report", title: str) -> None:
    """The numbers as tables: boxes by all rules that were measured side by side, then the rest."""
    values, ours = report.to_dict(), report.published is None or report.visible.f1 is not None
    found = report.predicted if ours or report.published is None else report.published.predicted
    print(f"{title}: {report.images} images, {report.objects} objects, {found} found, {report.seconds:.1f} s")
    if not report.objects:
        print("there is no true object here, so only the pixels can be measured")
    else:
        _print_boxes(values, ("visible", "projected") if ours else (), report.iou)
        print(f"({CEILING})")
        for group, names in (report.still or {}).items():
            print(f"stands still{f' in {group}' if group else ''}: {', '.join(names) or 'nothing'}")
        _print_categories(values["recall_by_category"] or values.get("published_recall_by_category") or {}, report.iou)
        _print_groups(values["groups"], values["group_means"])
    rest = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    rest.add_column()
    rest.add_column(justify="right")
    for key, name in SINGLE.items():
        if values[key] is not None:
            rest.add_row(name, _text(values[key]))
    Console().print(rest)


def _print_boxes(values: Mapping[str, Any], always: Sequence[str], iou: float) -> None:
    """A row for each measure of boxes, a column for each rule, and what the rules are."""
    shown = [name for name in RULES if name in always or (f"{name}_f1" in values and name != "projected")]
    boxes = Table("boxes", box=None, header_style="bold", padding=(0, 2, 0, 0))
    for name in shown:
        boxes.add_column(name, justify="right")
    for key, title in PAIRED.items():
        at = f" at IoU {iou:g}" if key in ("precision", "recall", "f1") else ""
        own = {"visible": values[key], "projected": values.get(f"projected_{key}", values[key])}  # counts are the same
        boxes.add_row(title + at, *(_text(own[name] if name in own else values[f"{name}_{key}"]) for name in shown))
    Console().print(boxes)
    for name in shown:
        if name not in ("visible", "projected"):
            print(f"{name}: {RULES[name]}")


def _print_categories(recalls: dict[str, float], iou: float) -> None:
    """Which kinds of things are found; nothing where there is one kind only."""
    if len(recalls) > 1:
        print(f"found at IoU {iou:g}: " + ", ".join(f"{name} {recall:.3f}" for name, recall in recalls.items()))


def _print_groups(groups: Mapping[str, Mapping[str, Any]], means: Mapping[str, float | None]) -> None:
    """A row for each game, and the mean of the rows."""
    if not groups:
        return
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("group", no_wrap=True)
    more = {key: name for key, name in MORE_OF_GROUPS.items() if any(key in values for values in groups.values())}
    columns = {key: name for key, name in OF_GROUPS.items() if not more or key not in ("ap", "coco_ap")} | more
    if all(values["f1"] is None and "published_f1" in values for values in groups.values()):
        columns = PUBLISHED_OF_GROUPS
    for name in columns.values():
        table.add_column(name, justify="right")
    for group, values in groups.items():
        table.add_row(group or "(none)", *(_text(values.get(key)) for key in columns))
    rounded = dict(means) | {"objects": round(means["objects"] or 0)}
    table.add_row("mean", *(_text(rounded.get(key)) for key in columns))
    Console().print(table)


def _text(value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.3f}"
