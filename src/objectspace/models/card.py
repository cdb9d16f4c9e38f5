"""What weights say about themselves: `card.json` beside them, so that a number can be traced to its run.

The package's own models lie in `weights/<name>`; `shipped` reads their cards.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib import resources
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from objectspace.errors import UserError
from objectspace.io.keys import by_new_names

CARD = "card.json"


@dataclass(frozen=True)
class Unexplained:
    """Which share of the pixels nobody explains, over some of the images that a model was trained on."""

    images: int
    median: float
    most: float  # of 99 images in 100

    @property
    def strange(self) -> float:
        """Images that leave more unexplained are unlike the training images: twice the most, and 5 % at least."""
        return max(2 * self.most, self.most + 0.05)


@dataclass(frozen=True)
class Card:
    """How weights came to be, and how good they are."""

    name: str
    about: str
    recipe: str  # the recipe's text, complete
    data: str  # the command that makes the training images
    data_seed: int | None
    seed: int
    steps: int
    minutes: float  # of training, from an empty run
    machine: str
    failed_starts: int  # seeds that collapsed before this one
    precision: str  # of the stored weights
    processor_minutes: float | None = None  # of these, what the processor computed; None: not known
    background: str = ""  # which one the ladder of backgrounds chose, and why; empty: the recipe's own
    unexplained: Unexplained | None = None  # in training images; None: not known, or the model knows no such thing
    measured_on: str = ""
    metrics: Mapping[str, int | float | None] = field(
        default_factory=dict
    )  # as `objectspace evaluate` names them, of the stored weights

    def to_json(self) -> str:
        """The card as text."""
        return json.dumps(asdict(self), indent=1) + "\n"


def read_card(directory: Path) -> Card:
    """The card of a folder of weights."""
    path = directory / CARD
    try:
        card = TypeAdapter(Card).validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{directory} has no card: {error}") from error
    except ValidationError as error:
        raise UserError(f"{path} is no card of this version: {error.errors()[0]['msg']}") from error
    return replace(card, metrics=by_new_names(card.metrics))


def usual_unexplained(name_or_directory: str | Path) -> Unexplained | None:
    """What a model leaves unexplained in its training images, where its card says so."""
    folder = Path(name_or_directory)
    try:
        for place in (folder, folder / "model"):  # a model's folder, or a run's
            if (place / CARD).is_file():
                return read_card(place).unexplained
        return next((card.unexplained for card in shipped() if card.name == str(name_or_directory)), None)
    except UserError:
        return None  # a card of another version says nothing


def shipped() -> list[Card]:
    """The cards of the models that come with the package, by name."""
    folder = resources.files("objectspace") / "weights"
    if not folder.is_dir():
        return []
    with resources.as_file(folder) as directory:
        return [read_card(path.parent) for path in sorted(directory.glob(f"*/{CARD}"))]
