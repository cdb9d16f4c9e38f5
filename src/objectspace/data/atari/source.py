"""Atari frames as samples for `data.generate`: which frames are kept, how they are scaled, what is counted.

A unit is a piece of play: a fresh start of the game, a stretch that is only played, then frames a random number of
steps apart. With `consecutive` above 1 it gives runs of so many successive steps instead.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import version as installed
from itertools import islice
from math import ceil
from zlib import crc32

import numpy as np

from objectspace.data.atari.agreement import attributes_of, rates
from objectspace.data.atari.games import GAMES
from objectspace.data.atari.hud import Hud
from objectspace.data.atari.modes import Modes, Sighting
from objectspace.data.atari.play import GameState, load_policy, play
from objectspace.data.atari.screen import scaled
from objectspace.data.atari.truth import Judge, ScreenTruth, agree
from objectspace.data.sample import Attribute, Sample, TrueObject
from objectspace.errors import UserError
from objectspace.geometry.boxes import Box
from objectspace.io.files import Json

UNIT = 64  # frames in a unit, or the next multiple of `consecutive`
WARM_UP = 300  # at most so many steps are played before the first frame is kept, to see later parts of a game too
GAP = 12  # at most so many steps from one kept frame, or run, to the next
PATIENCE = 20_000  # steps after which a unit ends with what it has
LICENCE = "The frames show Atari 2600 games, which belong to their owners: for research. Boxes made with OCAtari (MIT)."


@dataclass(frozen=True)
class _Seen:
    """A frame and what is on it."""

    frame: GameState
    truth: ScreenTruth
    display: tuple[Sighting, ...]  # score, lives, ...


@dataclass(frozen=True)
class AtariSource:
    """Frames of `games`, `size` x `size` pixels, played by `policy` ("random" or "package.module:factory").

    With `consecutive` = k above 1, images come in runs of k successive steps of one episode, told by the attributes
    `sequence` and `frame` (0 to k - 1). A run is kept or dropped as a whole: dropped if nothing changes in it, or if
    the same run occurred before in any split; a single frame may occur in two runs. With k = 1 no image occurs twice.
    """

    games: tuple[str, ...]
    size: int = 128
    seed: int = 0
    policy: str = "random"
    consecutive: int = 1

    generator = "atari"
    version = 2  # 1 had no display
    licence = LICENCE
    distinct = True

    def __post_init__(self) -> None:
        unknown = [game for game in self.games if game not in GAMES]
        if unknown or not self.games:
            raise UserError(f"no such game: {', '.join(unknown)}" if unknown else "name at least one game")
        if self.size < 16:
            raise UserError(f"--size {self.size}: at least 16 pixels are needed to see anything of a game")
        if self.seed < 0:
            raise UserError(f"--seed {self.seed}: a seed is a number from 0 on")
        if not 1 <= self.consecutive <= UNIT:
            raise UserError(f"--consecutive {self.consecutive}: a run has 1 to {UNIT} frames")
        load_policy(self.policy)  # here, so that a wrong one is known before anything is made

    def settings(self) -> Json:
        return {
            "games": list(self.games),
            "size": self.size,
            "seed": self.seed,
            "policy": self.policy,
            "consecutive": self.consecutive,
        }

    def make(self, split: str, group: str, unit: int) -> list[Sample]:
        """A piece of play of the game `group`; every unit of every split is another."""
        seeds = np.random.SeedSequence([self.seed, crc32(split.encode()), crc32(group.encode()), unit])
        runs = islice(self._runs(group, seeds), ceil(UNIT / self.consecutive))
        return [
            sample for number, run in enumerate(runs) for sample in self._samples(run, group, f"{split}-{unit}", number)
        ]

    def summary(self, records: Iterable[Json]) -> Json:
        """How far the two modes agree, game by game, and what made the data set."""
        return {
            "agreement": rates(records),
            "made_with": {package: installed(package) for package in ("ale-py", "ocatari")},
        }

    def _runs(self, game: str, seeds: np.random.SeedSequence) -> Iterator[list[_Seen]]:
        """Runs of `consecutive` frames of one episode, a random number of steps apart."""
        game_seeds, choice = seeds.spawn(2)
        rng = np.random.default_rng(choice)
        modes, display = Modes(game), Hud(game)
        judge = Judge.of(game, modes.knows("ram"), modes.knows("vision"))
        wait, run = int(rng.integers(WARM_UP + 1)), list[_Seen]()
        for frame in islice(play(game, self.policy, game_seeds), PATIENCE):
            if frame.step == 0:
                modes.restart()
                display.restart()
                run = []
            modes.follow(frame.memory)
            display.follow(frame.memory)
            wait -= 1
            if wait > 0 or frame.starting:
                continue
            truth = agree(frame.screen, modes.ram(), modes.vision(frame.screen), judge)
            run.append(_Seen(frame, truth, tuple(display.parts(frame.screen, truth.objects))))
            if len(run) == self.consecutive:
                if _worth_keeping(run):
                    yield run
                wait, run = int(rng.integers(1, GAP + 1)), []

    def _samples(self, run: Sequence[_Seen], game: str, unit: str, number: int) -> list[Sample]:
        images = [scaled(seen.frame.screen, self.size, self.size) for seen in run]
        digest = blake2b(b"".join(image.tobytes() for image in images), digest_size=16).digest()
        samples = []
        for index, (seen, image) in enumerate(zip(run, images, strict=True)):
            attributes: dict[str, Attribute] = {"game": game, "episode": f"{unit}-{seen.frame.episode}"}
            attributes |= {"step": seen.frame.step} | attributes_of(seen.truth)
            if self.consecutive == 1:
                identity = b""
            else:
                attributes |= {"sequence": f"{unit}-{number}", "frame": index}
                identity = digest + index.to_bytes(4, "big")
            objects, display = _objects(seen, self.size), _display(seen, self.size)
            samples.append(Sample(image, objects, attributes, identity=identity, ignored=display))
        return samples


def _worth_keeping(run: Sequence[_Seen]) -> bool:
    """False for a blank screen, for one that neither mode could read, and for a run in which nothing changes."""
    first = run[0].frame.screen
    if any((seen.frame.screen == seen.frame.screen[0, 0]).all() for seen in run):
        return False
    if any(seen.truth.ram is None and seen.truth.vision is None for seen in run):
        return False
    return len(run) == 1 or any((seen.frame.screen != first).any() for seen in run)


def _objects(seen: _Seen, size: int) -> tuple[TrueObject, ...]:
    return tuple(
        TrueObject(item.category, _scaled(item.box, seen, size), attributes={"found_by": item.found_by})
        for item in seen.truth.objects
    )


def _display(seen: _Seen, size: int) -> tuple[TrueObject, ...]:
    return tuple(TrueObject(item.category, _scaled(item.box, seen, size)) for item in seen.display)


def _scaled(box: Box, seen: _Seen, size: int) -> Box:
    """A box on the screen as one on the image."""
    height, width = seen.frame.screen.shape[:2]
    x, y = size / width, size / height
    return box[0] * x, box[1] * y, box[2] * x, box[3] * y
