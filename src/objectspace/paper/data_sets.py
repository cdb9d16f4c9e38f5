"""The paper's data sets as our generators make them: fewer images here, the paper's numbers with `--full`.

One data set has all splits, of one seed; no image of one split is in another.
"""

from collections.abc import Mapping

from objectspace.data.source import Source
from objectspace.data.streams import Stream
from objectspace.paper.declared import DataSet

SEED = 1
SPLITS = ("train", "val", "test")
ROOMS = {"here": (6000, 200, 1000), "paper": (63_000, 7_000, 7_000)}
ONE_GAME = {"here": (6000, 200, 1000), "paper": (50_000, 5_000, 5_000)}
TEN_GAMES = {"here": (1000, 20, 100), "paper": (8_000, 1_000, 1_000)}
GAMES = {
    "spaceinvaders": "SpaceInvaders",
    "airraid": "AirRaid",
    "riverraid": "Riverraid",
    "montezuma": "MontezumaRevenge",
    "joint10": "joint10",
}


def data_sets(full: bool) -> dict[str, DataSet]:
    """All data sets by name; `full` ones have the paper's numbers of images."""
    which = "paper" if full else "here"
    rooms = {f"rooms-{variant}": _rooms(variant, ROOMS[which], full) for variant in ("small", "large")}
    games = {name: _game(name, (TEN_GAMES if name == "joint10" else ONE_GAME)[which], full) for name in GAMES}
    return rooms | games


def _rooms(variant: str, counts: tuple[int, ...], full: bool) -> DataSet:
    def source() -> Source:
        from objectspace.data.rooms import RoomsSource

        return RoomsSource(variant=variant, seed=SEED)

    command = f"objectspace data rooms DIR --variant {variant} {_asked(counts)}"
    streams = [Stream(split, count) for split, count in zip(SPLITS, counts, strict=True)]
    return DataSet(_named(f"rooms-{variant}", full), command, source, lambda: streams)


def _game(name: str, counts: tuple[int, ...], full: bool) -> DataSet:
    consecutive = 1 if full else 4

    def source() -> Source:
        from objectspace.data.atari import AtariSource, parse_games

        return AtariSource(games=parse_games(GAMES[name]), seed=SEED, consecutive=consecutive)

    def of_games() -> list[Stream]:
        from objectspace.data.atari import parse_games, streams

        wanted: Mapping[str, int] = dict(zip(SPLITS, counts, strict=True))
        return list(streams(parse_games(GAMES[name]), dict(wanted), consecutive))

    command = f"objectspace data atari DIR --games {GAMES[name]} {_asked(counts)}"
    return DataSet(
        _named(name, full), command + (f" --consecutive {consecutive}" if consecutive > 1 else ""), source, of_games
    )


def _named(name: str, full: bool) -> str:
    return f"{name}-full" if full else name


def _asked(counts: tuple[int, ...]) -> str:
    numbers = " ".join(f"--{split} {count}" for split, count in zip(SPLITS, counts, strict=True))
    return f"{numbers} --seed {SEED}"
