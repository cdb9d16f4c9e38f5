"""Hand-made screens and sightings: no emulator, no OCAtari."""

import numpy as np
import pytest

from objectspace.data.atari.agreement import attributes_of, rates
from objectspace.data.atari.modes import Sighting
from objectspace.data.atari.truth import Judge, ScreenTruth, agree, shows_something, visible
from objectspace.geometry.boxes import Box

JUDGE = Judge(
    ram_knows=frozenset({"Alien", "Missile", "Wall", "Ghost"}),
    vision_knows=frozenset({"Alien", "Missile", "Cloud", "Ghost"}),
    same={"Spook": "Ghost"},
    believe={"Ghost": "vision"},
)


def screen_with(*boxes: Box) -> np.ndarray:
    """A black screen with a white rectangle in every box."""
    screen = np.zeros((210, 160, 3), np.uint8)
    for x0, y0, x1, y1 in boxes:
        screen[max(int(y0), 0) : int(y1), max(int(x0), 0) : int(x1)] = 255
    return screen


def judged(ram: list[Sighting], vision: list[Sighting]) -> ScreenTruth:
    return agree(screen_with(*(item.box for item in ram + vision)), ram, vision, JUDGE)


def test_what_both_see_is_kept_with_visions_box() -> None:
    truth = judged([Sighting("Alien", (10, 10, 20, 20))], [Sighting("Alien", (11, 10, 21, 20))])
    assert [(item.box, item.found_by) for item in truth.objects] == [((11, 10, 21, 20), "ram+vision")]


def test_what_one_sees_of_a_category_both_know_is_dropped_and_counted() -> None:
    ram = [Sighting("Alien", (10, 10, 20, 20)), Sighting("Alien", (50, 10, 60, 20))]
    vision = [Sighting("Alien", (10, 10, 20, 20)), Sighting("Missile", (50, 10, 60, 20))]
    truth = judged(ram, vision)
    assert [item.box for item in truth.objects] == [(10, 10, 20, 20)]
    assert (truth.ram, truth.vision, truth.agreed, truth.alone) == (2, 2, 1, 0)


@pytest.mark.parametrize(("shift", "agreed"), [(1, 1), (3, 0)])
def test_a_missile_one_pixel_wide_may_be_one_pixel_off(shift: int, agreed: int) -> None:
    truth = judged([Sighting("Missile", (80, 50, 81, 60))], [Sighting("Missile", (80 + shift, 50, 81 + shift, 60))])
    assert truth.agreed == agreed


def test_one_sighting_cannot_confirm_two() -> None:
    ram = [Sighting("Alien", (10, 10, 20, 20)), Sighting("Alien", (13, 10, 23, 20))]
    truth = judged(ram, [Sighting("Alien", (12, 10, 22, 20))])
    assert (truth.ram, truth.agreed, len(truth.objects)) == (2, 1, 1)


def test_matching_agrees_on_as_much_as_possible() -> None:
    """Taking the best pair first would leave the other two alone."""
    ram = [Sighting("Alien", (12, 10, 22, 20)), Sighting("Alien", (8, 10, 18, 20))]
    vision = [Sighting("Alien", (11, 10, 21, 20)), Sighting("Alien", (15, 10, 25, 20))]
    assert judged(ram, vision).agreed == 2


def test_a_category_that_one_mode_knows_rests_on_its_word() -> None:
    truth = judged([Sighting("Wall", (0, 50, 9, 90))], [Sighting("Cloud", (50, 20, 70, 30))])
    assert [(item.category, item.found_by) for item in truth.objects] == [("Wall", "ram"), ("Cloud", "vision")]
    assert (truth.ram, truth.vision, truth.agreed, truth.alone) == (0, 0, 0, 2)


def test_where_a_fault_is_known_one_mode_decides_but_both_are_counted() -> None:
    ram = [Sighting("Ghost", (10, 10, 20, 20)), Sighting("Ghost", (90, 90, 99, 99))]
    vision = [Sighting("Spook", (10, 10, 20, 20)), Sighting("Spook", (50, 50, 60, 60))]
    truth = judged(ram, vision)
    assert [(item.box[0], item.found_by) for item in truth.objects] == [(10, "ram+vision"), (50, "vision")]
    assert (truth.ram, truth.vision, truth.agreed, truth.alone) == (2, 2, 1, 1)


def test_one_thing_under_two_names_is_one_object() -> None:
    alien = Sighting("Alien", (10, 10, 20, 20))
    truth = judged([alien, Sighting("Wall", (10, 10, 20, 21))], [alien])
    assert [item.category for item in truth.objects] == ["Alien"]


def test_where_a_mode_failed_the_other_is_believed() -> None:
    alien = Sighting("Alien", (10, 10, 20, 20))
    truth = agree(screen_with(alien.box), None, [alien], JUDGE)
    assert [item.found_by for item in truth.objects] == ["vision"]
    assert (truth.ram, truth.vision, truth.alone) == (None, 1, 1)


def test_a_box_is_clipped_and_dropped_off_the_screen_or_without_area() -> None:
    sightings = [
        Sighting("Alien", (-5, 10, 5, 20)),
        Sighting("Alien", (-20, 10, -5, 20)),
        Sighting("Alien", (30, 300, 40, 310)),
        Sighting("Alien", (30, 30, 30, 40)),
    ]
    seen = visible(screen_with((-5, 10, 5, 20), (30, 30, 40, 40)), sightings)
    assert [item.box for item in seen] == [(0, 10, 5, 20)]


def test_the_same_thing_named_twice_by_a_mode_counts_once() -> None:
    box = (10.0, 10.0, 20.0, 20.0)
    sightings = [Sighting("Alien", box), Sighting("Alien", box), Sighting("Missile", box)]
    assert [item.category for item in visible(screen_with(box), sightings)] == ["Alien", "Missile"]


def test_a_box_on_plain_ground_shows_nothing() -> None:
    screen = screen_with((0, 100, 160, 210))
    assert not shows_something(screen, (10, 10, 20, 20))
    assert not shows_something(screen, (10, 150, 20, 160))
    assert not shows_something(screen, (10, 90, 20, 100))  # the ground lies under it, not in it
    assert not shows_something(screen, (0, 0, 8, 8))


def test_a_box_round_one_pixel_or_round_a_plain_thing_shows_something() -> None:
    screen = screen_with((50, 50, 51, 51), (80, 80, 90, 90))
    assert shows_something(screen, (50, 50, 51, 51))
    assert shows_something(screen, (45, 45, 55, 55))
    assert shows_something(screen, (80, 80, 90, 90))


def record(game: str, truth: ScreenTruth) -> dict[str, object]:
    return {"image": {"game": game} | attributes_of(truth), "objects": [{}] * (truth.agreed + truth.alone)}


def test_the_rate_is_what_both_see_of_what_either_sees() -> None:
    records = [record("Pong", ScreenTruth((), 3, 4, 2, 1)), record("Pong", ScreenTruth((), 1, 1, 1, 0))]
    pong = rates(records)["Pong"]
    assert pong["rate"] == round(3 / 6, 4)  # 4 + 5 sightings, 3 of them pairs
    assert (pong["images"], pong["objects"], pong["alone"], pong["modes"]) == (2, 4, 1, ["ram", "vision"])


def test_an_image_with_one_mode_does_not_count_for_the_rate() -> None:
    records = [record("Pong", ScreenTruth((), 2, 2, 2, 0)), record("Pong", ScreenTruth((), 9, None, 0, 9))]
    assert (rates(records)["Pong"]["rate"], rates(records)["Pong"]["compared"]) == (1.0, 1)


def test_a_game_with_one_mode_has_no_rate_and_says_which() -> None:
    alone = rates([record("TimePilot", ScreenTruth((), None, 5, 0, 5))])["TimePilot"]
    assert (alone["rate"], alone["modes"], alone["objects"]) == (None, ["vision"], 5)
