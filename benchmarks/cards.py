"""Measure shipped weights again, by today's way of taking images apart, and write the figures into their card.

python -m benchmarks.cards MODEL --data TEST [--moving]

Weights stay as they are. A card otherwise keeps the figures of the day its weights were packed, and whatever changes
`decompose` makes them untrue. `python -m benchmarks.tables` then writes the tables anew.
"""

import argparse
import sys
from importlib import resources
from pathlib import Path

from objectspace.data.dataset import Dataset
from objectspace.errors import UserError
from objectspace.io.files import write_atomically
from objectspace.measuring import measure_model
from objectspace.models import from_pretrained
from objectspace.models.card import CARD, read_card
from objectspace.training.history import measured


def measure_again(folder: Path, data: Path, split: str, moving: bool) -> None:
    """Put what the model in a folder measures at into its card, which must have been there."""
    card, model = read_card(folder), from_pretrained(folder)
    report = measure_model(model, Dataset(data, split, model.config.image_size), moving=moving)
    card = measured(card, f"{report.images} images of split {split}", report.to_dict())
    write_atomically(folder / CARD, card.to_json().encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a shipped model's name, or a folder of weights with a card")
    parser.add_argument("--data", type=Path, required=True, help="the data set to measure on")
    parser.add_argument("--split", default="test")
    parser.add_argument("--moving", action="store_true", help="measure what moves by itself too, as for games")
    given = parser.parse_args()
    folder = Path(given.model) if Path(given.model).is_dir() else None
    with resources.as_file(resources.files("objectspace") / "weights") as weights:
        try:
            measure_again(folder or weights / given.model, given.data, given.split, given.moving)
        except UserError as error:
            sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
