"""Play Space Invaders by the boxes of its objects alone, and compare the score with that of random play.

python examples/atari_agent.py --model space-spaceinvaders [--episodes 3] [--steps 2000] [--seed 0]

Nothing is learned here: the rule is a few lines long. It shows what an agent gets to see, and it is only as good as
the model. For one of your own, docs/rl.md has the commands.
"""

import argparse
from collections.abc import Callable
from typing import Any

import ale_py
import gymnasium
import numpy as np

import objectspace
from objectspace.rl import ObjectObservation

_, FIRE, _, _, RIGHT_FIRE, LEFT_FIRE = range(6)  # ALE's minimal action set for this game
SCORE, SHIELDS, PLAYER, GROUND = 0.12, 0.74, 0.86, 0.95  # where these begin, as fractions of the height from the top
WIDEST = 0.15  # what is wider is the ground, or a mistake
Policy = Callable[[dict[str, Any]], int]


class Rule:
    """Go under the nearest alien that no shield is below, and shoot.

    It does not dodge: shots flicker, and are missing on many of the frames that it sees.
    """

    def __init__(self) -> None:
        self.player = 0.25  # remembered while it is not seen

    def __call__(self, seen: dict[str, Any]) -> int:
        x0, y0, x1, y1 = seen["objects"][seen["mask"] == 1, :4].T  # (M,) each
        x, y = ((x0 + x1) / 2)[x1 - x0 < WIDEST], ((y0 + y1) / 2)[x1 - x0 < WIDEST]
        here = x[(y > PLAYER) & (y < GROUND)]
        if len(here):
            self.player = float(here[np.abs(here - self.player).argmin()])
        aliens, shields = x[(y > SCORE) & (y < SHIELDS)], x[(y >= SHIELDS) & (y <= PLAYER)]
        free = [alien for alien in aliens if np.abs(shields - alien).min(initial=1) > 0.05]
        if not len(aliens):
            return FIRE
        way = min((alien - self.player for alien in free or aliens), key=abs)
        return FIRE if abs(way) < 0.02 else RIGHT_FIRE if way > 0 else LEFT_FIRE


def play(
    env: gymnasium.Env[Any, Any], make_policy: Callable[[], Policy], episodes: int, steps: int, seed: int
) -> float:
    """The mean score of some episodes of at most so many steps."""
    scores = []
    for episode in range(episodes):
        policy, score = make_policy(), 0.0
        seen, _ = env.reset(seed=seed + episode)
        for _ in range(steps):
            seen, reward, ended, cut, _ = env.step(policy(seen))
            score += float(reward)
            if ended or cut:
                break
        scores.append(score)
    return float(np.mean(scores))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a model's folder, or the name of a shipped one")
    parser.add_argument("--episodes", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2000, help="of an episode, at most")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    gymnasium.register_envs(ale_py)
    game = gymnasium.make("ALE/SpaceInvaders-v5")
    watched = ObjectObservation(game, objectspace.load(given.model), max_objects=64)
    rng = np.random.default_rng(given.seed)
    ours = play(watched, Rule, given.episodes, given.steps, given.seed)
    chance = play(game, lambda: lambda _: int(rng.integers(6)), given.episodes, given.steps, given.seed)
    print(f"by the boxes: {ours:.0f}   at random: {chance:.0f}   (mean score of {given.episodes} episodes)")


if __name__ == "__main__":
    main()
