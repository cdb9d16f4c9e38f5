"""Which games there are, and what the user's list of games means."""

from collections.abc import Mapping, Sequence

from objectspace.data.streams import Stream
from objectspace.errors import UserError, unknown

# The ten games of the paper's joint data set.
JOINT10 = (
    "Asterix",
    "Atlantis",
    "Carnival",
    "DoubleDunk",
    "Kangaroo",
    "MontezumaRevenge",
    "Pacman",
    "Pooyan",
    "Qbert",
    "SpaceInvaders",
)

# Games whose boxes were looked at, picture by picture: the paper's. What was found is written down in `faults`.
LOOKED_AT = (*JOINT10, "AirRaid", "Riverraid")

# Further games that OCAtari knows. They run, but nobody here looked at their boxes: go by the agreement printed.
# fmt: off
OTHERS = (
    "Adventure", "Alien", "Amidar", "Assault", "Asteroids", "BankHeist", "BattleZone", "BeamRider", "Berzerk",
    "Bowling", "Boxing", "Breakout", "Centipede", "ChopperCommand", "CrazyClimber", "DemonAttack", "DonkeyKong",
    "Enduro", "FishingDerby", "Freeway", "Frogger", "Frostbite", "Galaxian", "Gopher", "Hero", "IceHockey",
    "Jamesbond", "KeystoneKapers", "KingKong", "Krull", "KungFuMaster", "MarioBros", "MsPacman", "NameThisGame",
    "Phoenix", "Pitfall", "Pong", "PrivateEye", "RoadRunner", "Seaquest", "Skiing", "StarGunner", "Tennis",
    "TimePilot", "UpNDown", "Venture", "VideoPinball", "YarsRevenge",
)
# fmt: on

GAMES = tuple(sorted((*LOOKED_AT, *OTHERS)))
_SETS = {"joint10": JOINT10}


def parse_games(text: str) -> tuple[str, ...]:
    """The games in a list such as "SpaceInvaders,joint10", each once, in the order given; capitals do not matter."""
    known = {game.lower(): (game,) for game in GAMES} | _SETS
    games: list[str] = []
    for word in (part.strip() for part in text.split(",")):
        if not word:
            raise UserError("--games needs names between single commas, such as SpaceInvaders,Qbert or joint10")
        if word.lower() not in known:
            raise unknown("game", word, ["joint10", *GAMES])
        games += known[word.lower()]
    return tuple(dict.fromkeys(games))


def streams(games: Sequence[str], counts: Mapping[str, int], consecutive: int = 1) -> list[Stream]:
    """The streams of a data set with `counts[split]` frames of each game, as in the paper, in whole runs."""
    for split, count in counts.items():
        if count < 0 or count % consecutive:
            raise UserError(f"--{split} {count}: give a multiple of --consecutive {consecutive}, or 0")
    return [Stream(split, count, group=game) for split, count in counts.items() for game in games]


def gymnasium_id(game: str) -> str:
    """The environment's name in gymnasium."""
    return f"ALE/{game}-v5"
