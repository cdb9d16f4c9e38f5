"""What stands still, by the boxes alone."""

from dataclasses import dataclass, replace

import numpy as np

from helpers.known import Known, perfect
from objectspace.evaluation.evaluate import evaluate
from objectspace.evaluation.stillness import LEAST_IMAGES, still_categories


@dataclass
class Seen:
    """Images of 100 x 200 with objects of 10 x 10 at the centres given, by category; all of one game."""

    centres: list[dict[str, list[tuple[float, float]]]]
    game: str = "Pong"

    def __len__(self) -> int:
        return len(self.centres)

    @property
    def images(self) -> np.ndarray:
        return np.zeros((len(self), 100, 200, 3), np.uint8)

    def boxes(self, index: int) -> np.ndarray:
        centres = np.array([place for places in self.centres[index].values() for place in places], float).reshape(-1, 2)
        return np.concatenate([centres - 5, centres + 5], axis=1)

    def categories(self, index: int) -> list[str]:
        return [name for name, places in self.centres[index].items() for _ in places]

    def group(self, index: int) -> str:
        return self.game


def test_what_is_always_at_its_places_stands_still_and_what_is_not_moves() -> None:
    images = [{"wall": [(20, 30), (90, 30)], "ball": [(3 * n, 50)], "key": [(150, 80)] * (n < 25)} for n in range(50)]
    assert still_categories(Seen(images)) == {"Pong": ("key", "wall")}


def test_a_pixel_more_or_less_is_no_movement() -> None:
    """A shield that is shot at has a smaller box, whose centre is a little elsewhere."""
    assert still_categories(Seen([{"shield": [(40, 60 + n % 2)]} for n in range(50)])) == {"Pong": ("shield",)}


def test_two_things_that_take_turns_at_four_places_move() -> None:
    places = [(10.0, 10.0), (90.0, 10.0), (10.0, 90.0), (90.0, 90.0)]
    assert still_categories(Seen([{"pill": [places[n % 4], places[(n + 1) % 4]]} for n in range(48)])) == {"Pong": ()}


def test_what_is_rarely_seen_is_not_called_still() -> None:
    ray: dict[str, list[tuple[float, float]]] = {"ray": [(10, 10)]}
    images = [ray] * (LEAST_IMAGES - 1) + [{}] * 50
    assert still_categories(Seen(images)) == {"Pong": ()}
    assert still_categories(Seen([ray, *images])) == {"Pong": ("ray",)}


def test_what_moves_is_measured_by_itself_game_by_game() -> None:
    known = Known(groups=("Pong", "Qbert", "Qbert"))
    balls = replace(perfect(known), objects=perfect(known).objects[:1])
    report = evaluate([balls] * 3, known, still={"Pong": ["cube"], "Qbert": []})
    values = report.to_dict()
    assert [values["groups"][name]["moving_recall"] for name in ("Pong", "Qbert")] == [1, 0.5]
    assert [values["groups"][name]["recall"] for name in ("Pong", "Qbert")] == [0.5, 0.5]
    assert values["group_means"]["moving_recall"] == 0.75
    assert (report.moving.objects, report.objects) == (5, 6)
    assert report.mask_images == 3, "our own rule loses nothing"
