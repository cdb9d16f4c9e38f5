"""F1 of boxes in the pictures' own pixels: any folder of pictures with COCO boxes, by a model of your own.

python -m benchmarks.own DATA --model RUN/model [--limit N] [--json FILE] [--sheet FILE.png]

DATA holds images/ and annotations.json. Labels are read here only: nothing that trains or chooses sees them. With
--sheet some pictures are drawn with what was found, and below with the truth.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import objectspace
from objectspace.evaluation.boxes import Floats, count_errors
from objectspace.evaluation.detection import detection
from objectspace.geometry.boxes import from_coco_box
from objectspace.io.files import read_json
from objectspace.io.images import read_image
from objectspace.reports.pictures import Tile, sheet, with_boxes
from objectspace.scene import Object, Picture, Scene


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--limit", type=int, help="so many pictures, spread over all of them")
    parser.add_argument("--json", type=Path, help="the file that all numbers go to")
    parser.add_argument("--sheet", type=Path, help="the picture to draw")
    arguments = parser.parse_args()
    model = objectspace.load(arguments.model)
    annotations = read_json(arguments.data / "annotations.json")
    names = {entry["id"]: entry["name"] for entry in annotations["categories"]}
    images = annotations["images"]
    if arguments.limit:
        images = [images[int(number)] for number in np.linspace(0, len(images) - 1, arguments.limit)]
    by_image: dict[object, list[dict[str, Any]]] = {}
    for annotation in annotations["annotations"]:
        by_image.setdefault(annotation["image_id"], []).append(annotation)
    predictions, truths = list[tuple[Floats, Floats]](), list[Floats]()
    categories, nobody, seconds = list[list[str]](), list[float](), 0.0
    tiles = list[tuple[Picture, Scene, Floats]]()
    for number, entry in enumerate(images):
        path = arguments.data / "images" / Path(entry["file_name"]).name
        begun = time.perf_counter()
        scene = model.decompose([path], background=False, pictures=False)[0]
        seconds += time.perf_counter() - begun
        mine = by_image.get(entry["id"], [])
        predictions.append((scene.boxes, scene.scores))
        truths.append(np.array([from_coco_box(each["bbox"]) for each in mine], np.float64).reshape(-1, 4))
        categories.append([names[each["category_id"]] for each in mine])
        nobody.append(scene.unexplained_share or 0.0)
        if arguments.sheet and number % max(1, len(images) // 8) == 0 and len(tiles) < 16:
            tiles.append((read_image(path), scene, truths[-1]))
    found = detection(predictions, truths, categories=categories)
    loose = detection(predictions, truths, iou=0.3)
    numbers = {
        "pictures": len(images),
        "f1": found.f1,
        "precision": found.precision,
        "recall": found.recall,
        "f1_at_0.3": loose.f1,
        "count_error": count_errors(predictions, truths).error_rate,
        "objects": float(np.mean([len(boxes) for boxes in truths])),
        "found": float(np.mean([len(boxes) for boxes, _ in predictions])),
        "unexplained": float(np.mean(nobody)),
        "recall_by_category": dict(found.recall_by_category),
        "seconds_a_picture": seconds / len(images),
    }
    print(json.dumps(numbers, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(numbers, indent=2) + "\n")
    if arguments.sheet:
        top = [Tile(with_boxes(image, scene, 1)) for image, scene, _ in tiles[:8]]
        below = [Tile(with_boxes(image, _true(scene, boxes), 1)) for image, scene, boxes in tiles[:8]]
        Image.fromarray(sheet([*top[:4], *below[:4], *top[4:], *below[4:]], 4)).save(arguments.sheet)


def _true(scene: Scene, boxes: Floats) -> Scene:
    return Scene(scene.height, scene.width, tuple(Object(tuple(box), tuple(box)) for box in boxes.tolist()))


if __name__ == "__main__":
    main()
