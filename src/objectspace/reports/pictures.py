"""Scenes as pictures: boxes and masks over an image, and sheets of many.

Reads images (H, W, 3) uint8 and `Scene`s; gives images of the same kind.
"""

import colorsys
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from objectspace.geometry.boxes import Box
from objectspace.io.images import resize
from objectspace.scene import Picture, Scene

Color = tuple[int, int, int]
MOST_TEXT = 120  # pixels that a caption may widen its cell to
GAP = 6  # pixels between the tiles of a sheet
PAPER = (250, 250, 250)
INK = (40, 40, 40)
DASH = 3  # pixels of a dash
LEAST_SIDE = 256  # pixels that the longer side of a picture to look at should have
TEXT = 11  # pixels that a label is high


def palette(count: int) -> list[Color]:
    """`count` colours that are easy to tell apart; the first ones are the same for every count."""
    return [color_of(index) for index in range(count)]


def color_of(index: int) -> Color:
    """The colour of a number, easy to tell from those of its neighbours."""
    golden = (math.sqrt(5) - 1) / 2
    red, green, blue = colorsys.hsv_to_rgb((0.02 + index * golden) % 1, 0.75 if index % 2 else 0.95, 1.0)
    return round(255 * red), round(255 * green), round(255 * blue)


def factor_to_see(image: Picture) -> int:
    """The whole factor by which a small image is enlarged, so that its boxes can be seen; 1 for a large one."""
    return max(1, LEAST_SIDE // max(image.shape[:2]))


def enlarge(image: Picture, factor: int) -> Picture:
    """Every pixel as a square of `factor` pixels: nothing is smoothed over."""
    return np.repeat(np.repeat(image, factor, axis=0), factor, axis=1)


def zoom(image: Picture, factor: float) -> Picture:
    """The image at another size: by a whole factor pixel by pixel, otherwise resized."""
    if factor == int(factor):
        return enlarge(image, int(factor))
    height, width = image.shape[:2]
    return resize(image, max(1, round(height * factor)), max(1, round(width * factor)))


def with_boxes(
    image: Picture,
    scene: Scene,
    factor: float = 2,
    whole: bool = False,
    colors: Sequence[Color] | None = None,
    named: bool = False,
) -> Picture:
    """The image, enlarged, with a frame around each object; with `whole`, around its hidden parts too, thinner.

    `colors` has one for each object; `named` writes their labels above them.
    """
    picture = Image.fromarray(zoom(image, factor))
    draw = ImageDraw.Draw(picture)
    colors = palette(len(scene.found)) if colors is None else colors
    for item, color in zip(scene.found, colors, strict=True):
        if whole:
            draw.rectangle(_corners(item.where_box, factor), outline=tuple(channel // 2 for channel in color), width=1)
        draw.rectangle(_corners(item.box, factor), outline=color, width=max(1, int(factor) // 2))
    if named:  # after all boxes, so that none crosses a name out
        for item, color in zip(scene.found, colors, strict=True):
            _write_above(draw, _corners(item.box, factor), item.label or "", color)
    return np.asarray(picture)


def with_masks(image: Picture, scene: Scene, factor: int = 2) -> Picture:
    """The image in pale grey, with every object's visible pixels in its own colour."""
    grey = image.mean(axis=2, keepdims=True) * 0.35 + 150
    picture = np.repeat(grey, 3, axis=2)
    for item, color in zip(scene.found, palette(len(scene.found)), strict=True):
        if item.window is not None:
            place, own = item.window.place, item.window.part
            picture[place][own] = 0.8 * np.asarray(color) + 0.2 * image[place][own]
    return enlarge(picture.clip(0, 255).astype(np.uint8), factor)


@dataclass(frozen=True)
class Tile:
    """A picture on a sheet, with a line of text below it."""

    picture: Picture
    caption: str = ""


def sheet(tiles: Sequence[Tile], columns: int) -> Picture:
    """Tiles in rows from left to right, on white, each in a cell as large as the largest."""
    if not tiles:
        raise ValueError("a sheet needs at least one tile")
    columns = min(columns, len(tiles))
    height = max(tile.picture.shape[0] for tile in tiles)
    width = max(tile.picture.shape[1] for tile in tiles)
    longest = max(ImageFont.load_default(12).getlength(tile.caption) for tile in tiles)
    width = max(width, min(MOST_TEXT, math.ceil(longest)))  # captions of small pictures are not cut
    text = 16 if any(tile.caption for tile in tiles) else 0
    rows = -(-len(tiles) // columns)
    size = columns * (width + GAP) + GAP, rows * (height + text + GAP) + GAP
    paper = Image.new("RGB", size, PAPER)
    draw, font = ImageDraw.Draw(paper), ImageFont.load_default(12)
    for number, tile in enumerate(tiles):
        row, column = divmod(number, columns)
        x, y = GAP + column * (width + GAP), GAP + row * (height + text + GAP)
        paper.paste(Image.fromarray(tile.picture), (x, y))
        if tile.caption:
            draw.text((x, y + tile.picture.shape[0] + 1), _fitting(tile.caption, width, font), fill=INK, font=font)
    return np.asarray(paper)


def contact_sheet(
    images: Sequence[Picture],
    scenes: Sequence[Scene],
    names: Sequence[str],
    columns: int,
    side: int = 256,
    ignored: Sequence[Sequence[Box]] | None = None,
) -> Picture:
    """Images with boxes and, where known, masks, each about `side` pixels large.

    `ignored` has the regions of each image that count neither way: their frames are dashed.
    """
    tiles = []
    regions = [()] * len(images) if ignored is None else ignored
    for image, scene, name, apart in zip(images, scenes, names, regions, strict=True):
        factor = max(1, side // max(image.shape[:2]))
        picture = _with_regions(with_boxes(image, scene, factor, whole=True), apart, factor)
        if any(item.window is not None for item in scene.found):
            picture = beside(picture, with_masks(image, scene, factor))
        tiles.append(Tile(picture, f"{name}: {len(scene.found)} objects"))
    return sheet(tiles, columns)


def segments(scene: Scene) -> Picture:
    """Every background component and every object in a colour of its own, (H, W, 3)."""
    picture = np.zeros((scene.height, scene.width, 3), np.uint8)
    parts = [component.mask for component in scene.components]
    greys = [tuple(round(channel * 0.45 + 90) for channel in color) for color in palette(len(parts))]
    for mask, color in zip(parts, greys, strict=True):
        picture[mask] = color
    for item, color in zip(scene.objects, palette(len(scene.objects)), strict=True):
        if item.window is not None:
            picture[item.window.place][item.window.part] = color
    return picture


def scene_rows(images: Sequence[Picture], scenes: Sequence[Scene], factor: int = 1) -> Picture:
    """One row an image: input with boxes, reconstruction, foreground, alpha, background, segments."""
    tiles = []
    for number, (image, scene) in enumerate(zip(images, scenes, strict=True)):
        alpha = None if scene.alpha is None else np.repeat(scene.alpha[..., None], 3, axis=2)
        parts = {
            "input": with_boxes(image, scene, factor),
            "reconstruction": scene.reconstruction,
            "foreground": scene.foreground,
            "alpha": alpha,
            "background": scene.background,
            "segments": segments(scene),
        }
        for name, part in parts.items():
            blank = np.full_like(image, 255) if part is None else part
            picture = blank if name == "input" else enlarge(blank, factor)
            tiles.append(Tile(picture, name if number == 0 else ""))
    return sheet(tiles, columns=6)


def beside(*pictures: Picture) -> Picture:
    """Pictures of one height in a row, two white pixels between them."""
    space = np.full((pictures[0].shape[0], 2, 3), 255, np.uint8)
    parts = [part for picture in pictures for part in (space, picture)]
    return np.concatenate(parts[1:], axis=1)


def _with_regions(picture: Picture, regions: Sequence[Box], factor: float) -> Picture:
    """An enlarged picture with thin frames, dashed in white and black so that they show on any ground."""
    frames = Image.new("1", (picture.shape[1], picture.shape[0]))
    for box in regions:
        ImageDraw.Draw(frames).rectangle(_corners(box, factor), outline=1, width=1)
    rows, columns = np.nonzero(np.asarray(frames))
    drawn = picture.copy()
    drawn[rows, columns] = np.where((rows + columns) // DASH % 2, 255, 0)[:, None]
    return drawn


def _fitting(text: str, width: int, font: ImageFont.ImageFont | ImageFont.FreeTypeFont) -> str:
    while len(text) > 1 and font.getlength(text) > width:
        text = text[:-1]
    return text


def _write_above(draw: ImageDraw.ImageDraw, box: Box, text: str, color: Color) -> None:
    """A small line of text above a box, or in it where there is no room above."""
    place = box[0], box[1] - TEXT - 3 if box[1] >= TEXT + 3 else box[1] + 1
    draw.text(place, text, fill=color, font=ImageFont.load_default(TEXT), stroke_width=1, stroke_fill=(0, 0, 0))


def _corners(box: Box, factor: float) -> Box:
    """A box as PIL draws it: the last row and column belong to the frame."""
    x0, y0, x1, y1 = (value * factor for value in box)
    return x0, y0, max(x1 - 1, x0), max(y1 - 1, y0)
