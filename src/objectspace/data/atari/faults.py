"""Faults of OCAtari's rules that were found by looking at pictures, and what is done about them.

In general both modes must see an object (`truth`). Here are the exceptions, game by game, for OCAtari 2.2.1.
"""

# Names for one thing, where the modes name it differently or mix names up: matching goes by the name on the right.
SAME: dict[str, dict[str, str]] = {
    "Atlantis": {"BanditBomber": "GorgonShip"},  # vision takes one for the other where a ship leaves the screen
    "DoubleDunk": {
        "Player_Small": "Player",  # vision gives the names in the order in which it comes upon the players
        "Player_Big": "Player",
        "Opponent_Small": "Opponent",
        "Opponent_Big": "Opponent",
    },
    "Kangaroo": {"Enemy": "Monkey"},
}

# Categories that vision mode has a name for, but no rule that would find them.
UNSEEN: dict[str, frozenset[str]] = {
    "Atlantis": frozenset({"Deathray"}),
    "DoubleDunk": frozenset({"Backboard", "Basket"}),
}

# Categories that one mode decides alone, because the other is wrong or blind too often there.
BELIEVE: dict[str, dict[str, str]] = {
    "Carnival": {
        "FlyingDuck": "vision",  # RAM mode misses some
        "PlayerMissile": "vision",  # the memory does not hold where it flies; RAM mode guesses
    },
    "Kangaroo": {"Child": "vision", "Player": "vision"},  # RAM mode is beside them when they turn, jump or fall
    "MontezumaRevenge": {"Rope": "ram"},  # vision sees only a part of it while somebody hangs on it
    "Qbert": {  # RAM mode is a jump behind or ahead
        "Coily": "vision",
        "GreenBall": "vision",
        "Player": "vision",
        "PurpleBall": "vision",
        "Sam": "vision",
    },
    "Riverraid": {  # RAM mode mixes up its places for things, and sees a missile that still lies in the plane
        "FuelDepot": "vision",
        "PlayerMissile": "vision",
        "Tanker": "vision",
    },
    "SpaceInvaders": {"Bullet": "vision"},  # RAM mode is a step late
}

# Games in which vision takes two things that touch for one: of two boxes that agree, the smaller one is kept.
MERGES = frozenset({"DoubleDunk"})

# Parts of the display that OCAtari has no rule for, by name: x0, y0, x1, y1 on the screen, where they always are.
DISPLAY: dict[str, dict[str, tuple[float, float, float, float]]] = {
    "DoubleDunk": {"Clock": (35, 17, 60, 25), "Shots": (109, 17, 116, 25), "Calls": (35, 181, 116, 190)},
    "MsPacman": {"Fruit": (124, 172, 136, 184)},
    "Riverraid": {"Fuel": (65, 174, 104, 190), "Logo": (70, 191, 105, 202)},
}
