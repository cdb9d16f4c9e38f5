"""`objectspace demo`: the scenes that come with the package through the weights that come with it."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from objectspace.cli.shared import called
from objectspace.data.dataset import Dataset

if TYPE_CHECKING:
    from objectspace.evaluation.report import Report
    from objectspace.scene import Scene

SETS = {"rooms-small": "space-rooms-small", "rooms-large": "space-rooms-large", "sprites": "space-sprites"}
PICTURED = 3  # scenes of each set in scenes.png
COLUMNS = {
    "ap50": "AP@0.5",
    "ap": "AP",
    "count_error": "count err.",
    "f1": "F1",
    "fg_ari": "fg ARI",
}


@dataclass(frozen=True)
class Shown:
    """One set of sample scenes, taken apart and measured."""

    name: str
    model: str
    dataset: Dataset
    scenes: "list[Scene]"
    report: "Report"


def demo(
    out: Annotated[Path, typer.Option("--out", help="Where to leave page, boxes and picture.")] = Path("demo"),
) -> None:
    """Take held-out sample scenes apart with the shipped models: metrics, a page, boxes as COCO, a picture."""
    shown = [_take_apart(name, model, out) for name, model in SETS.items()]
    _print_measures({part.name: part.report for part in shown})
    _write_page(out / "report.html", shown)
    _write_boxes(out / "annotations.json", shown)
    _write_picture(out / "scenes.png", shown)
    objects = sum(len(scene.found) for part in shown for scene in part.scenes)
    print(f"{objects} objects in {sum(len(part.scenes) for part in shown)} scenes. Look at them:")
    for file in ("report.html", "scenes.png", "annotations.json"):
        print(f"  {out / file}")
    print(f"Your own images:  {called()} decompose PICTURES --model space-rooms-small --out OBJECTS")


def _take_apart(name: str, model: str, out: Path) -> Shown:
    from objectspace import load
    from objectspace.evaluation.evaluate import evaluate

    folder = out / "data" / name  # a data set keeps its decoded images beside the files, so it needs a place of its own
    with resources.as_file(resources.files("objectspace") / "samples" / name) as source:
        shutil.copytree(source, folder, dirs_exist_ok=True)
    loaded = load(model)
    dataset = Dataset(folder, "test", loaded.config.image_size)
    scenes = loaded.decompose(list(dataset.images))
    return Shown(name, model, dataset, scenes, evaluate(scenes, dataset))


def _print_measures(reports: "Mapping[str, Report]") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("scenes", "images", "objects", "found", *COLUMNS.values()):
        table.add_column(heading, no_wrap=True)
    for name, report in reports.items():
        values = report.to_dict()
        numbers = ["-" if values[key] is None else f"{values[key]:.3f}" for key in COLUMNS]
        table.add_row(name, str(report.images), str(report.objects), str(report.predicted), *numbers)
    Console().print(table)


def _write_page(path: Path, shown: list[Shown]) -> None:
    from objectspace.reports.html import ReportWriter

    with ReportWriter(path, "Sample scenes", ", ".join(part.model for part in shown)) as report:
        for part in shown:
            for number, scene in enumerate(part.scenes):
                name = f"{part.name}/{part.dataset.names[number]}"
                report.add(name, part.dataset.images[number], scene, part.dataset.visible_boxes(number))


def _write_boxes(path: Path, shown: list[Shown]) -> None:
    from objectspace.io.files import write_atomically
    from objectspace.results.coco import write_coco
    from objectspace.results.record import Record, found

    records: list[Record] = []
    for part in shown:
        for name, scene in zip(part.dataset.names, part.scenes, strict=True):
            place = f"data/{part.name}/test/images/{name}"
            size = scene.height, scene.width
            stem = f"{part.name}-{Path(name).stem}"
            write_atomically(path.parent / "scenes" / f"{stem}.json", scene.to_json().encode())
            records.append(Record(len(records) + 1, place, place, stem, None, None, *size, *found(scene)))
    write_coco(path, records, {"description": "objects found by objectspace in its sample scenes"})


def _write_picture(path: Path, shown: list[Shown]) -> None:
    import numpy as np
    from PIL import Image

    from objectspace.reports.pictures import scene_rows

    blocks = []
    for part in shown:
        images = list(part.dataset.images[:PICTURED])
        blocks.append(scene_rows(images, part.scenes[:PICTURED], factor=max(1, 128 // part.dataset.width)))
    width = max(block.shape[1] for block in blocks)
    padded = [np.pad(block, ((0, 0), (0, width - block.shape[1]), (0, 0)), constant_values=255) for block in blocks]
    Image.fromarray(np.concatenate(padded)).save(path)
