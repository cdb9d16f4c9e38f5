"""Measure shipped weights again, by today's way of taking images apart, and write the figures into their card.

python -m benchmarks.cards MODEL --data TEST [--moving]
python -m benchmarks.cards MODEL --seen TRAIN

The second has the weights note what the images they were trained on are like, how many objects they have and how these
look, for `objectspace sample`, and their card how much of these images nobody explains, by which `decompose` knows
images that are unlike them; the card says which command makes these images (`objectspace models`).

Weights stay as they are. A card otherwise keeps the figures of the day its weights were packed, and whatever changes
`decompose` makes them untrue. `python -m benchmarks.tables` then writes the tables anew.
"""

import argparse
import sys
from dataclasses import replace
from importlib import resources
from pathlib import Path

from objectspace.data.dataset import Dataset
from objectspace.errors import UserError
from objectspace.io.files import write_atomically
from objectspace.measuring import measure_model, unexplained_in_training
from objectspace.models import from_pretrained
from objectspace.models.card import CARD, read_card
from objectspace.models.pretrained import write_seen
from objectspace.training.history import measured
from objectspace.training.seen import note_seen


def measure_again(folder: Path, data: Path, split: str, moving: bool) -> None:
    """Put what the model in a folder measures at into its card, which must have been there."""
    card, model = read_card(folder), from_pretrained(folder)
    report = measure_model(model, Dataset(data, split, model.config.image_size), moving=moving)
    card = measured(card, f"{report.images} images of split {split}", report.to_dict())
    write_atomically(folder / CARD, card.to_json().encode())


def add_seen(folder: Path, data: Path) -> None:
    """Write into the config of the model in a folder what its training images are like."""
    card, model = read_card(folder), from_pretrained(folder)
    images = Dataset(data, "train", model.config.image_size, model.config.channels, view=model.config.view)
    note_seen(model, images, card.seed)
    if model.seen is None:
        raise UserError(f"{folder.name} finds no object in training images of {data}: are they what it was trained on?")
    write_seen(folder, model.seen)
    card = replace(card, unexplained=unexplained_in_training(model, images))
    write_atomically(folder / CARD, card.to_json().encode())
    expected = sum(number * share for number, share in enumerate(model.seen.counts))
    print(f"{folder.name}: {expected:.1f} objects an image, {len(model.seen.weights)} kinds of looks")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a shipped model's name, or a folder of weights with a card")
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--data", type=Path, help="the data set to measure on")
    wanted.add_argument("--seen", type=Path, help="the data set that the model was trained on, to note what is in it")
    parser.add_argument("--split", default="test")
    parser.add_argument("--moving", action="store_true", help="measure what moves by itself too, as for games")
    given = parser.parse_args()
    folder = Path(given.model) if Path(given.model).is_dir() else None
    with resources.as_file(resources.files("objectspace") / "weights") as weights:
        try:
            if given.seen is not None:
                add_seen(folder or weights / given.model, given.seen)
            else:
                measure_again(folder or weights / given.model, given.data, given.split, given.moving)
        except UserError as error:
            sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
