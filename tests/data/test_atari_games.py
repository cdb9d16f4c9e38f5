import pytest

from objectspace.data.atari import GAMES, JOINT10, AtariSource, parse_games, streams
from objectspace.errors import UserError


def test_joint10_is_the_papers_ten() -> None:
    assert parse_games("joint10") == JOINT10
    assert len(JOINT10) == 10
    assert {*JOINT10, "AirRaid", "Riverraid"} <= set(GAMES)


def test_a_game_named_twice_is_taken_once_in_the_order_given() -> None:
    assert parse_games("riverraid, Qbert,joint10")[:3] == ("Riverraid", "Qbert", "Asterix")
    assert len(parse_games("Riverraid,Qbert,joint10")) == 11


@pytest.mark.parametrize(("word", "nearest"), [("SpaceInvader", "SpaceInvaders"), ("montezuma", "MontezumaRevenge")])
def test_an_unknown_game_is_answered_with_the_nearest(word: str, nearest: str) -> None:
    with pytest.raises(UserError, match=f"'{word}'; did you mean '{nearest}'"):
        parse_games(f"Qbert,{word}")


@pytest.mark.parametrize("text", ["", "Qbert,,Pong"])
def test_an_empty_name_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="between single commas"):
        parse_games(text)


def test_each_game_gets_the_whole_count_of_each_split() -> None:
    made = streams(("Qbert", "Pong"), {"train": 8, "val": 2})
    assert [(stream.name, stream.count) for stream in made] == [
        ("train-Qbert", 8),
        ("train-Pong", 8),
        ("val-Qbert", 2),
        ("val-Pong", 2),
    ]


def test_a_count_that_would_cut_a_run_is_refused() -> None:
    with pytest.raises(UserError, match="--val 6: give a multiple of --consecutive 4"):
        streams(("Pong",), {"train": 8, "val": 6}, consecutive=4)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"size": 8}, "--size 8"), ({"seed": -1}, "--seed -1"), ({"consecutive": 0}, "--consecutive 0")],
)
def test_settings_out_of_range_are_refused(settings: dict[str, int], reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        AtariSource(("Pong",), **settings)
