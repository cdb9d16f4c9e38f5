"""`objectspace demo`: two dozen generated scenes on a contact sheet."""

from pathlib import Path
from typing import Annotated

import typer

from objectspace.cli.data import resumable, save_sheet
from objectspace.data.dataset import Dataset
from objectspace.data.generate import generate
from objectspace.data.journal import Stream

COUNT = 24


def demo(
    out: Annotated[Path, typer.Option("--out", help="Where to leave the scenes and the picture.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Generate two dozen 3D-Room scenes with their truth and lay them out on a contact sheet."""
    from objectspace.data.rooms import RoomsSource

    with resumable():
        generate(RoomsSource(variant="small", size=128, seed=seed), out / f"rooms-{seed}", [Stream("test", COUNT)], 2)
    dataset = Dataset(out / f"rooms-{seed}", "test")
    save_sheet(dataset, out / "scenes.png", range(COUNT), columns=4)
    print(f"{out / 'scenes.png'}: {COUNT} scenes with the boxes and masks of their {dataset.object_count} objects")
