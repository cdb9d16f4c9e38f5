"""How long an agent waits for its objects: one frame at a time, through the wrapper, with and without tracking.

python -m benchmarks.rl [--model NAME --game SpaceInvaders] [--grid 16] [--objects 30] [--frames 60] [--threads 2]

Without --model: the paper's nets with random weights, the presence bias set so that about so many cells of a frame
hold an object; those that others hide are dropped in the end, but cost as much. With it: that model on frames of random
play. Frames are screens of 160 x 210 pixels, scaled to 128 x 128; the environment itself only shows them again. Times
are medians; all ways are measured alternately. With one thread, the processor's time tells what a busy machine would
take if it were not.
"""

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray

from benchmarks.common import bar_plot, report
from benchmarks.inference import model_for
from benchmarks.step import SIZE
from objectspace.data.atari.screen import scaled
from objectspace.models import load
from objectspace.models.base import SceneModel
from objectspace.rl import ObjectObservation

Images = list[NDArray[np.uint8]]

WISH = 30  # frames a second that an agent should get


class Screens(gymnasium.Env[NDArray[np.uint8], int]):
    """An environment that shows the same few screens again and again."""

    def __init__(self, screens: NDArray[np.uint8]) -> None:
        self.screens, self.number = screens, 0
        self.observation_space = spaces.Box(0, 255, screens.shape[1:], np.uint8)
        self.action_space = spaces.Discrete(2)  # type: ignore[assignment]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return self.screens[0], {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.number = (self.number + 1) % len(self.screens)
        return self.screens[self.number], 0.0, False, False, {}


def played(game: str, count: int) -> NDArray[np.uint8]:
    """Frames (count, 210, 160, 3) of a game played at random, seed 0."""
    import ale_py

    gymnasium.register_envs(ale_py)
    env = gymnasium.make(f"ALE/{game}-v5")
    env.reset(seed=0)
    env.action_space.seed(0)
    frames: list[NDArray[np.uint8]] = []
    while len(frames) < count:
        frame, _, ended, cut, _ = env.step(env.action_space.sample())
        frames.append(frame)
        if ended or cut:
            env.reset()
    return np.stack(frames)


def measure(
    screens: NDArray[np.uint8], small: Images, model: SceneModel, objects: int, frames: int
) -> list[dict[str, Any]]:
    """Rows of the table; `small` are the screens (n, H, W, 3) as the model sees them."""
    environments = {
        track: ObjectObservation(Screens(screens), model, 2 * objects, track=track) for track in (False, True)
    }
    for env in environments.values():
        env.reset()
    ways: dict[str, Callable[[int], Any]] = {
        "decompose alone": lambda number: model.decompose(small[number % len(small)], background=False, pictures=False),
        "wrapper": lambda _: environments[False].step(0),
        "wrapper, tracked": lambda _: environments[True].step(0),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    busy: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(frames + 4):
        for name, way in ways.items():
            start, start_busy = time.perf_counter(), time.process_time()
            way(number)
            if number >= 4:  # the first ones warm up
                times[name].append(time.perf_counter() - start)
                busy[name].append(time.process_time() - start_busy)
    found = float(np.mean([len(model.decompose(each, background=False, pictures=False)[0].objects) for each in small]))
    return [
        {
            "way": name,
            "cells": model.config.cells,
            "threads": torch.get_num_threads(),
            "kept": found,
            "ms a frame": 1000 * median(seconds),
            "processor ms": 1000 * median(busy[name]),
            "frames/s": 1 / median(seconds),
            f"above {WISH}": "yes" if 1 / median(seconds) >= WISH else "no",
        }
        for name, seconds in times.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a model's folder, or the name of a shipped one")
    parser.add_argument("--game", default="SpaceInvaders", help="what that model sees")
    parser.add_argument("--grid", type=int, default=16)
    parser.add_argument("--objects", type=int, default=30, help="of the random model; half the rows of an observation")
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.model:
        model, screens = load(arguments.model), played(arguments.game, 40)
    else:
        screens = np.random.default_rng(0).integers(0, 255, (4, 210, 160, 3), dtype=np.uint8)
    small = [scaled(screen, SIZE, SIZE) for screen in screens]
    if not arguments.model:
        images = torch.from_numpy(np.stack(small)).permute(0, 3, 1, 2) / 255
        model = model_for(arguments.grid, images, arguments.objects)
    rows = measure(screens, small, model, arguments.objects, arguments.frames)
    report("rl", rows)
    bar_plot("rl", [str(row["way"]) for row in rows], [row["frames/s"] for row in rows], "frames a second")


if __name__ == "__main__":
    main()
