"""Models side by side on the same images, after the paper's qualitative figures: a page, and a picture of the same.

Reads images (H, W, 3) and what each model made of them as `Scene`s, all of the images' size. A row is a model, a column
is a part of its scenes; what a model does not have stays empty. The page is one file that fetches nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from objectspace import __version__
from objectspace.evaluation.pixels import squared_error
from objectspace.reports.page.markup import escaped, image_tag, number, plural
from objectspace.reports.page.shell import part, policy
from objectspace.reports.pictures import PAPER, Tile, enlarge, segments, sheet, with_boxes
from objectspace.scene import Picture, Scene

PARTS = ("boxes", "reconstruction", "foreground", "background", "segments")
TRUTH = "truth"
SIDE = 128  # a smaller image is enlarged, so that boxes can be told apart
STYLE = """
.compared { border-collapse: collapse; }
.wide { overflow-x: auto; }
.compared th, .compared td { padding: 0.25rem; text-align: left; vertical-align: top; font-weight: 400; }
.compared thead th { color: var(--soft); font-size: 0.85rem; }
.compared tbody th { min-width: 8rem; }
.compared tbody th span { display: block; color: var(--soft); font-size: 0.8rem; }
.compared img { display: block; width: 10rem; height: auto; border-radius: 0.3rem; }
"""


@dataclass(frozen=True, eq=False)
class Block:
    """One image, and what the models made of it, by their names."""

    name: str
    image: Picture
    scenes: Mapping[str, Scene]
    truth: Scene | None = None


def compared_page(title: str, blocks: Sequence[Block]) -> str:
    """The page, one section an image."""
    style = part("style.css") + STYLE
    sections = "\n".join(_section(index, block) for index, block in enumerate(blocks, 1))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(style, "")}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{escaped(title)}</title>\n'
        f"<style>{style}</style>\n</head>\n<body>\n"
        f'<header class="top"><h1>{escaped(title)}</h1></header>\n<main>\n{sections}\n</main>\n'
        f"<footer>Made by objectspace {__version__}. This file holds everything it shows; it loads nothing.</footer>\n"
        "</body>\n</html>\n"
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
    divided = scene.components or any(item.mask is not None for item in scene.found)
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


def _section(index: int, block: Block) -> str:
    rows = list(_rows(block))
    header = "".join(f'<th scope="col">{name}</th>' for name in ("input", "", *PARTS))
    body = []
    for place, (who, scene) in enumerate(rows):
        tag = image_tag(enlarge(block.image, _factor(block.image)), f"{block.name}, the input")
        first = f'<td rowspan="{len(rows)}">{tag}</td>' if place == 0 else ""
        pictures = "".join(
            f"<td>{'' if picture is None else image_tag(picture, f'{name} by {who}')}</td>"
            for name, picture in _pictures(block.image, scene).items()
        )
        body.append(f'<tr>{first}<th scope="row">{escaped(who)}{_facts(block.image, scene)}</th>{pictures}</tr>')
    return (
        f'<section id="image-{index}"><h2>{escaped(block.name)}</h2><div class="wide"><table class="compared">'
        f"<thead><tr>{header}</tr></thead><tbody>{''.join(body)}</tbody></table></div></section>"
    )


def _facts(image: Picture, scene: Scene) -> str:
    facts = [plural(len(scene.found), "object")]
    if scene.reconstruction is not None:
        facts.append(f"squared error {number(squared_error(image, scene.reconstruction), 1)}")
    return "".join(f"<span>{fact}</span>" for fact in facts)
