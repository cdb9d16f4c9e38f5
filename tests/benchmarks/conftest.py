"""Drawn films of two rooms, in which a white square and a red one move."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

SIDE = 32
ROOMS = {"cave": (20, 60, 90), "field": (60, 160, 40)}


def film(folder: Path, frames: int) -> None:
    """Frames of both rooms, with the boxes of what moves."""
    (folder / "images").mkdir(parents=True)
    images, annotations = [], list[dict[str, Any]]()
    for number in range(frames):
        room = list(ROOMS)[number % 2]
        image = np.full((SIDE, SIDE, 3), ROOMS[room], np.uint8)
        for category, (y, colour) in enumerate(((4, (255, 255, 255)), (20, (250, 20, 20))), start=1):
            x = (5 * number + 11 * category) % (SIDE - 6)
            image[y : y + 6, x : x + 6] = colour
            place = {"bbox": [x, y, 6, 6], "category_id": category, "image_id": number, "area": 36, "iscrowd": 0}
            annotations.append(place | {"id": len(annotations) + 1})
        name = f"{number:03}.png"
        Image.fromarray(image).save(folder / "images" / name)
        images.append({"id": number, "file_name": name, "height": SIDE, "width": SIDE, "group": room})
    categories = [{"id": 1, "name": "ghost"}, {"id": 2, "name": "player"}]
    content = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "annotations.json").write_text(json.dumps(content))


@pytest.fixture(scope="module")
def rooms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("rooms")
    film(root / "train", 40)
    film(root / "val", 10)
    return root
