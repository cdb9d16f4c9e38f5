"""Models side by side on the same images, after the paper's qualitative figures: a page, and a picture of the same.

Reads images (H, W, 3) and what each model made of them as `Scene`s, all of the images' size. A row is a model, a column
is a part of its scenes, components one by one at the end; what a model does not have stays empty. The page is one file
that fetches nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from objectspace import __version__
from objectspace.evaluation.pixels import squared_error
from objectspace.reports.page.markup import embedded, number, plural
from objectspace.reports.page.shell import part, policy, render
from objectspace.reports.pictures import PAPER, Tile, enlarge, segments, sheet, with_boxes
from objectspace.scene import Picture, Scene

MOST = 6  # components that are shown one by one: a model of many shows the largest
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
        parts=[*PARTS, *_columns(blocks)],
        blocks=[_shown(block, _columns(blocks)) for block in blocks],
        version=__version__,
    )


def compared_sheet(blocks: Sequence[Block]) -> Picture:
    """The same as one picture: a row a model, the input before the first row of each image."""
    tiles, columns = list[Tile](), _columns(blocks)
    for block in blocks:
        for index, (who, scene) in enumerate(_rows(block)):
            factor = _factor(block.image)
            empty = np.full((block.image.shape[0] * factor, block.image.shape[1] * factor, 3), PAPER, np.uint8)
            tiles.append(Tile(empty) if index else Tile(enlarge(block.image, factor), block.name))
            for name, picture in _pictures(block.image, scene, columns).items():
                caption = who if name == PARTS[0] else name  # a row is named once, under its first picture
                tiles.append(Tile(empty) if picture is None else Tile(picture, caption))
    return sheet(tiles, columns=len(PARTS) + len(columns) + 1)


def _rows(block: Block) -> Iterator[tuple[str, Scene]]:
    if block.truth is not None:
        yield TRUTH, block.truth
    yield from block.scenes.items()


def _columns(blocks: Sequence[Block]) -> list[str]:
    """What the columns of single components are called: as many as the scene with the most has to show."""
    most = max((len(_components(scene)) for block in blocks for _, scene in _rows(block)), default=0)
    return [f"component {number}" for number in range(1, most + 1)]


def _components(scene: Scene) -> list[Picture]:
    """The components' pictures where each is seen, black elsewhere, in their order; of many the largest."""
    drawn = [(item.image, item.mask) for item in scene.components if item.image is not None and item.mask.any()]
    areas = [int(mask.sum()) for _, mask in drawn]
    largest = sorted(range(len(drawn)), key=lambda number: -areas[number])[:MOST]
    return [drawn[number][0] * drawn[number][1][:, :, None] for number in sorted(largest)]


def _pictures(image: Picture, scene: Scene, columns: Sequence[str]) -> dict[str, Picture | None]:
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
    found |= dict(zip_longest(columns, _components(scene)))
    return {
        name: picture if picture is None or name == "boxes" else enlarge(picture, factor)
        for name, picture in found.items()
    }


def _factor(image: Picture) -> int:
    return max(1, -(-SIDE // max(image.shape[:2])))


def _shown(block: Block, columns: Sequence[str]) -> dict[str, object]:
    """What the page shows of an image."""
    rows = [
        {
            "who": who,
            "facts": _facts(block.image, scene),
            "pictures": {
                name: None if picture is None else embedded(picture)
                for name, picture in _pictures(block.image, scene, columns).items()
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
