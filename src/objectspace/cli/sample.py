"""`objectspace sample`: scenes that a model imagines."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from objectspace.errors import UserError


def sample(
    model: Annotated[str, typer.Option(help="A model's folder, or the name of a shipped one.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The picture to write.")] = Path("grid.png"),
    count: Annotated[int, typer.Option(min=1, help="How many scenes.")] = 16,
    objects: Annotated[
        float | None,
        typer.Option(min=0, help="Objects expected in a scene; as many as training images have by default."),
    ] = None,
    appearance: Annotated[
        Literal["prior", "seen"], typer.Option(help="Looks of objects: from the prior, or as seen in training.")
    ] = "prior",
    columns: Annotated[int | None, typer.Option(min=1, help="Scenes in a row; a square by default.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same scenes.")] = 0,
) -> None:
    """Draw scenes from a model's prior, on one picture."""
    import math

    import torch
    from PIL import Image

    from objectspace import load
    from objectspace.reports.pictures import Tile, sheet

    loaded = load(model)
    looks: dict[str, Any] = {} if appearance == "prior" else {"appearance": appearance}  # not all models have such
    scenes = loaded.sample(count, torch.Generator().manual_seed(seed), objects, **looks)
    tiles = [Tile(scene.reconstruction) for scene in scenes if scene.reconstruction is not None]
    picture = sheet(tiles, columns or math.ceil(math.sqrt(count)))
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(output)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot write the picture {output}: {error}") from error
    print(f"{output}: {count} scenes, {sum(len(scene.found) for scene in scenes)} objects")
