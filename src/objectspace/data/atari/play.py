"""Play a game for ever, one episode after the other, with the user's agent or at random.

Reads nothing; gives every step's screen and memory. All chance comes from the seeds, so the same seeds give the same
frames in any process.
"""

import importlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from objectspace.data.atari.games import gymnasium_id
from objectspace.errors import UserError, missing_extra

FRAME_SKIP = 4  # console frames for each action
STICKY = 0.25  # chance that the console repeats the last action instead: Machado et al., 2018
RANDOM_START = 30  # at most so many random actions at the beginning of an episode

Screen = NDArray[np.uint8]  # (H, 160, 3) RGB; H is 210 for most games, up to 250
Act = Callable[[Screen, np.random.Generator], int]


class Policy(Protocol):
    """What `--policy package.module:factory` names: called once for each piece of play, it gives an agent.

    `game` is a name such as "SpaceInvaders", `actions` the number of actions, and `seed` is for the agent's own chance.
    The agent is called at every step with the screen, (H, 160, 3) uint8 RGB, and a random generator; it answers with an
    action from 0 to actions - 1, in the order of ALE's minimal action set. To get the same data set twice, it must
    depend on nothing else.
    """

    def __call__(self, game: str, actions: int, seed: int) -> Act: ...


@dataclass(frozen=True)
class GameState:
    """The game after a step; `step` counts actions since the episode began, `starting` while they are random ones."""

    screen: Screen
    memory: NDArray[np.uint8]  # (128,)
    episode: int
    step: int
    starting: bool


def play(game: str, policy: str, seeds: np.random.SeedSequence) -> Iterator[GameState]:
    """Frames of one episode after the other, without end."""
    game_seed, agent_seed, chance = seeds.spawn(3)
    rng = np.random.default_rng(chance)
    console = _console(game)
    actions = int(console.action_space.n)
    act = _agent(policy, game, actions, _integer(agent_seed))
    screen, _ = console.reset(seed=_integer(game_seed))
    episode = 0
    while True:
        start = int(rng.integers(1, RANDOM_START + 1))
        step, over = 0, False
        while not over:
            yield GameState(screen, console.ale.getRAM(), episode, step, step < start)
            action = int(rng.integers(actions)) if step < start else act(screen, rng)
            screen, _, ended, cut, _ = console.step(action)
            step, over = step + 1, ended or cut
        screen, _ = console.reset()
        episode += 1


def load_policy(spec: str) -> Policy:
    """The factory of agents that a `--policy` names: "random", or "package.module:factory"."""
    if spec == "random":
        return _random_policy
    module_name, colon, name = spec.partition(":")
    if not (colon and name and module_name):
        raise UserError(f"--policy {spec}: write 'random', or 'package.module:factory' for your own agent")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # an agent beside the user's data, as python itself would find it
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise UserError(f"--policy {spec}: cannot import {module_name}: {error}") from error
    factory = getattr(module, name, None)
    if not callable(factory):
        what = "has no" if factory is None else "has, but cannot call,"
        raise UserError(f"--policy {spec}: {module_name} {what} {name}; see objectspace.data.atari.Policy")
    return factory  # type: ignore[no-any-return]


def _random_policy(game: str, actions: int, seed: int) -> Act:
    return lambda screen, rng: int(rng.integers(actions))


def _agent(policy: str, game: str, actions: int, seed: int) -> Act:
    """An agent whose answers are checked, so that a wrong one is not a crash in the emulator."""
    with _blame(policy, game):
        agent: Any = load_policy(policy)(game, actions, seed)
    if not callable(agent):
        raise UserError(f"--policy {policy}: gave {agent!r} for {game}, which cannot be called to act")

    def act(screen: Screen, rng: np.random.Generator) -> int:
        with _blame(policy, game):
            action = agent(screen.copy(), rng)
        if not isinstance(action, int | np.integer) or not 0 <= action < actions:
            raise UserError(f"--policy {policy}: answered {action!r} in {game}, where actions are 0 to {actions - 1}")
        return int(action)

    return act


@contextmanager
def _blame(policy: str, game: str) -> Iterator[None]:
    """Say where the user's own code failed, without ours around it."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}, line {frame.lineno}"
        raise UserError(f"--policy {policy}: failed in {game}: {type(error).__name__}: {error} ({where})") from error


@lru_cache(maxsize=1)
def _console(game: str) -> Any:
    """The emulator, kept from one unit to the next: a reset with a seed loads the game anew."""
    try:
        import ale_py
        import gymnasium
    except ModuleNotFoundError as error:
        raise missing_extra(error.name or "ale-py", "atari") from error
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)  # it greets on the terminal otherwise
    gymnasium.register_envs(ale_py)
    return gymnasium.make(gymnasium_id(game), frameskip=FRAME_SKIP, repeat_action_probability=STICKY).unwrapped


def _integer(seeds: np.random.SeedSequence) -> int:
    return int(seeds.generate_state(1)[0])
