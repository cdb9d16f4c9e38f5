"""Models side by side on the same images, after the paper's qualitative figures: a page, and a picture of the same.

Reads images (H, W, 3) and what each model made of them as `Scene`s, all of the images' size. A row is a model, a column
is a part of its scenes; what a model does not have stays empty. The page is one file that fetches nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from objectspace import __version__
from objectspace.evaluation.pixels import squared_error
from objectspace.reports.page.markup import embedded, number, plural
from objectspace.reports.page.shell import part, policy, render
from objectspace.reports.pictures import PAPER, Tile, enlarge, segments, sheet, with_boxes
from objectspace.scene import Picture, Scene

PARTS = ("boxes", "reconstruction", "foreground", "background", "segments")
TRUTH = "truth"
SIDE = 128  # a smaller image is enlarged, so that boxes can be told apart


@dataclass(frozen=True, eq=False)
class Block:
    """One image, and what the models made of it, by their names."""

    name: str
    image: Picture
    scenes: Mapping[str, Scene]
    truth: Scene | None = None


def compared_page(title: str, blocks: Sequence[Block]) -> str:
    """The page, one section an image."""
    style = part("style.css") + part("compared.css")
    return render(
        "compared.html",
        title=title,
        policy=policy(style, ""),
        style=style,
        parts=list(PARTS),
        blocks=[_shown(block) for block in blocks],
        version=__version__,
    )


def compared_sheet(blocks: Sequence[Block]) -> Picture:
    """The same as one picture: a row a model, the input before the first row of each image."""
    tiles: list[Tile] = []
    for block in blocks:
        for index, (who, scene) in enumerate(_rows(block)):
            factor = _factor(block.image)
            empty = np.full((block.image.shape[0] * factor, block.image.shape[1] * factor, 3), PAPER, np.uint8)
            tiles.append(Tile(empty) if index else Tile(enlarge(block.image, factor), block.name))
            for name, picture in _pictures(block.image, scene).items():
                caption = who if name == PARTS[0] else name  # a row is named once, under its first picture
                tiles.append(Tile(empty) if picture is None else Tile(picture, caption))
    return sheet(tiles, columns=len(PARTS) + 1)


def _rows(block: Block) -> Iterator[tuple[str, Scene]]:
    if block.truth is not None:
        yield TRUTH, block.truth
    yield from block.scenes.items()


def _pictures(image: Picture, scene: Scene) -> dict[str, Picture | None]:
    """The parts of a scene, enlarged where the image is small; None for those it does not have."""
    factor = _factor(image)
    divided = scene.components or any(item.window is not None for item in scene.found)
    found: dict[str, Picture | None] = {
        "boxes": with_boxes(image, scene, factor),
        "reconstruction": scene.reconstruction,
        "foreground": scene.foreground,
        "background": scene.background,
        "segments": segments(scene) if divided else None,
    }
    return {
        name: picture if picture is None or name == "boxes" else enlarge(picture, factor)
        for name, picture in found.items()
    }


def _factor(image: Picture) -> int:
    return max(1, -(-SIDE // max(image.shape[:2])))


def _shown(block: Block) -> dict[str, object]:
    """What the page shows of an image."""
    rows = [
        {
            "who": who,
            "facts": _facts(block.image, scene),
            "pictures": {
                name: None if picture is None else embedded(picture)
                for name, picture in _pictures(block.image, scene).items()
            },
        }
        for who, scene in _rows(block)
    ]
    return {"name": block.name, "input": embedded(enlarge(block.image, _factor(block.image))), "rows": rows}


def _facts(image: Picture, scene: Scene) -> list[str]:
    facts = [plural(len(scene.found), "object")]
    if scene.reconstruction is not None:
        facts.append(f"squared error {number(squared_error(image, scene.reconstruction), 1)}")
    return facts
