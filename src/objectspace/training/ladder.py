"""The ladder of backgrounds: the weakest one that explains the data, because a strong one draws the objects too.

Rungs are tried from the weakest up (`rungs.py`). A higher one is taken only for what it gains outside of the compact
regions that the one below leaves unexplained: those may be objects, and a background that draws them is no better. The
climb ends as soon as not even a perfect background could gain enough. RUN/ladder.json keeps it all, so that a run that
goes on does not climb again.
"""

import time
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from objectspace.config import Recipe, Space, StillBackground
from objectspace.data.dataset import Dataset
from objectspace.data.store import read_json, write_json
from objectspace.errors import UserError
from objectspace.training.directory import writing
from objectspace.training.display import Display, Say
from objectspace.training.journal import Journal
from objectspace.training.rungs import Result, Rung, attempt, rungs, with_background

FILE = "ladder.json"
WORTH = 0.1  # nats a pixel that a stronger background must gain: that of one pixel in sixty, from unknown to explained
CPU = torch.device("cpu")


def climb(
    recipe: Recipe, train_set: Dataset, held_out: Dataset, say: Say, seed: int, device: torch.device = CPU
) -> tuple[Recipe, list[Result]]:
    """The recipe with the background that was chosen, and all rungs that were tried, weakest first."""
    assert isinstance(recipe.model, Space)
    ladder = rungs(recipe.model.background, len(train_set))
    steps = recipe.training.ladder
    say(f"the ladder of backgrounds: up to {len(ladder)}, weakest first, {steps} steps each")
    results: list[Result] = []
    for number, rung in enumerate(ladder, start=1):
        results.append(_attempt(f"rung {number} of {len(ladder)}, {rung.name}", rung, recipe, train_set, held_out, say, seed, device))
        say(str(results[-1]))
        if choose(results).room <= WORTH:
            break
    chosen = choose(results)
    say(f"background: {chosen.rung.name}: {reason(results)}")
    return with_background(recipe, chosen.rung.background), results


def choose(results: list[Result]) -> Result:
    """The weakest rung over which none above it gains enough, outside of what it leaves to objects."""
    chosen = results[0]
    for result in results[1:]:
        if result.gain_over(chosen) > WORTH:
            chosen = result
    return chosen


def reason(results: list[Result]) -> str:
    """Why that one was chosen, in plain words."""
    chosen = choose(results)
    above = results[results.index(chosen) + 1 :]
    if chosen.room <= WORTH:
        why = f"a perfect one would gain only {chosen.room:.2f} nats a pixel outside of compact regions"
    elif above:
        most = max(above, key=lambda result: result.gain_over(chosen))
        why = f"outside of compact regions {most.rung.name} gains {most.gain_over(chosen):+.2f} nats a pixel, which is not worth it"
    else:
        why = "it explains the most, and there is none above it"
    return why
