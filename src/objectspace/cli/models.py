"""`objectspace import-official`: weights of the published implementation, as ours."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from objectspace.errors import UserError


def import_official(
    file: Annotated[Path, typer.Argument(help="A checkpoint of the published SPACE implementation (.pth).")],
    out: Annotated[Path, typer.Argument(help="The folder to write: config.json and model.safetensors.")],
    components: Annotated[int, typer.Option(min=1, help="Background components; the file does not say.")] = 5,
    channels: Annotated[Literal["rgb", "bgr"], typer.Option(help="The order the weights were trained with.")] = "rgb",
) -> None:
    """Turn a published SPACE checkpoint into a model that `objectspace.load` reads."""
    from objectspace.models.official import import_official as read_checkpoint
    from objectspace.models.pretrained import save_pretrained

    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is there already: give a new folder")
    model = read_checkpoint(file, components=components, channels=channels)
    save_pretrained(model, out)
    rows, columns = model.config.foreground.grid
    print(f"{out}: SPACE with a grid of {rows} x {columns} and {components} components, {channels}")
