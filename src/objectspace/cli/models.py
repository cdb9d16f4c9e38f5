"""`objectspace models`, `pack` and `import-official`: the weights that are there, and how weights come to be there."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import typer

from objectspace.errors import UserError

LISTED = ("ap50", "ap", "count_error")  # in a cell, by our rule and by the published one
RULES = {"": "AP@0.5/AP/count", "published_": "by published rule"}


def models(
    name: Annotated[str | None, typer.Argument(help="A model's name, for all that is known about it.")] = None,
) -> None:
    """List the trained models that come with the package, with what they were measured at."""
    from rich.console import Console
    from rich.table import Table

    from objectspace.errors import unknown
    from objectspace.models.card import shipped

    cards = {card.name: card for card in shipped()}
    if name is not None:
        if name not in cards:
            raise unknown("model", name, list(cards))
        print(cards[name].to_json(), end="")
        return
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("model", *RULES.values(), "seed", "steps", "min"):
        table.add_column(heading, no_wrap=True)
    for card in cards.values():
        values = ["/".join(_number(card.metrics.get(rule + key)) for key in LISTED) for rule in RULES]
        table.add_row(card.name, *values, str(card.seed), str(card.steps), f"{card.minutes:.0f}")
    Console().print(table)
    print("\npublished rule: every cell above 0.5, the latents' boxes, whole objects; the paper's numbers are by it")
    print("trained on:")
    for card in cards.values():
        print(f"  {card.name}: {card.data} --seed {card.data_seed}")


def pack(
    run: Annotated[Path, typer.Argument(help="A finished run of `objectspace train`.")],
    out: Annotated[Path, typer.Argument(help="The folder to write; its name is the model's.")],
    data: Annotated[Path, typer.Option(help="The data set to measure the weights on.")],
    split: Annotated[str, typer.Option(help="Which split of it.")] = "test",
    machine: Annotated[str, typer.Option(help="What the run was trained on, in words.")] = "",
) -> None:
    """Store a run's weights in half precision, measure them as stored, and write down where they come from."""
    from objectspace.cli.evaluate import open_split, print_report
    from objectspace.data.dataset import Dataset, splits_of
    from objectspace.measuring import measure_model, unexplained_in_training
    from objectspace.models.card import CARD
    from objectspace.models.pretrained import from_pretrained, save_pretrained
    from objectspace.training.history import data_of, describe, describe_seen, measured

    _refuse_existing(out)
    card = describe(run, out.name, machine)
    out.absolute().parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{out.name}.", dir=out.absolute().parent) as folder:
        part = Path(folder) / out.name
        trained = from_pretrained(run / "model")
        if trained.seen is None:  # a run of before
            describe_seen(run, trained)
        save_pretrained(trained, part, half=True)
        stored = from_pretrained(part)
        report = measure_model(stored, open_split(data, split, stored))
        card = measured(card, f"{report.images} images of split {split}", report.to_dict())
        trained_on = data_of(run) or data
        if "train" in splits_of(trained_on):
            seen = Dataset(trained_on, "train", stored.config.image_size, view=stored.config.view)
            card = replace(card, unexplained=unexplained_in_training(stored, seen))
        (part / CARD).write_text(card.to_json(), encoding="utf-8")
        part.replace(out)  # all of it, or nothing
    print_report(report, f"{out.name} on {split} of {data}")
    print(f"{out}: {sum(file.stat().st_size for file in out.iterdir()) / 1e6:.1f} MB")


def import_official(
    file: Annotated[Path, typer.Argument(help="A checkpoint of the published SPACE implementation (.pth).")],
    out: Annotated[Path, typer.Argument(help="The folder to write: config.json and model.safetensors.")],
    components: Annotated[int, typer.Option(min=1, help="Background components; the file does not say.")] = 5,
    channels: Annotated[Literal["rgb", "bgr"], typer.Option(help="The order the weights were trained with.")] = "rgb",
) -> None:
    """Turn a published SPACE checkpoint into a model that `objectspace.load` reads."""
    from objectspace.models.official import import_official as read_checkpoint
    from objectspace.models.pretrained import save_pretrained

    _refuse_existing(out)
    model = read_checkpoint(file, components=components, channels=channels)
    save_pretrained(model, out)
    rows, columns = model.config.foreground.grid
    print(f"{out}: SPACE with a grid of {rows} x {columns} and {components} components, {channels}")


def _refuse_existing(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is there already: give a new folder")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
