"""Frames of Atari 2600 games with boxes: played in the Arcade Learning Environment, boxed by OCAtari.

Reads nothing but the games that come with ale-py. `games` knows their names, `play` plays them, `modes` and `truth`
say what is on the screen and where, `source` makes samples of it that `data.generate` writes to disk.
"""

from objectspace.data.atari.games import GAMES, JOINT10, parse_games, streams
from objectspace.data.atari.play import Policy, load_policy
from objectspace.data.atari.source import AtariSource

__all__ = ["GAMES", "JOINT10", "AtariSource", "Policy", "load_policy", "parse_games", "streams"]
