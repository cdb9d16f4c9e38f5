"""The ladder of backgrounds: the weakest one that explains the data, because a strong one draws the objects too.

Rungs are tried from the weakest up (`rungs.py`). A higher one is taken only for what it gains outside of the compact
regions that the one below leaves unexplained: those may be objects, and a background that draws them is no better. The
climb ends as soon as not even a perfect background could gain enough. RUN/ladder.json keeps it all, so that a run that
goes on does not climb again.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from objectspace.data.dataset import Dataset
from objectspace.errors import UserError
from objectspace.io.files import read_json, write_json
from objectspace.models.parts.settings import SpaceBackgroundConfig
from objectspace.models.space import SpaceConfig
from objectspace.recipes.recipe import Recipe
from objectspace.training.directory import writing
from objectspace.training.display import Display, Say
from objectspace.training.log import MetricsLog
from objectspace.training.rungs import Result, Rung, attempt, rungs, with_background

FILE = "ladder.json"
WORTH = 0.15  # nats a pixel that a stronger background must gain: one pixel in forty, from unknown to explained
EXACT = 0.4  # nats a pixel that stills may leave to gain: they need no learning, so what they miss they never learn
CPU = torch.device("cpu")


def climb(
    recipe: Recipe,
    train_set: Dataset,
    held_out: Dataset,
    say: Say,
    seed: int,
    device: torch.device = CPU,
    ladder: Sequence[Rung] = (),
) -> tuple[Recipe, list[Result]]:
    """The recipe with the background that was chosen, and all rungs that were tried, weakest first.

    The `ladder` is all of them, unless some are named.
    """
    assert isinstance(recipe.model, SpaceConfig)
    ladder = ladder or rungs(recipe.model.background, len(train_set))
    steps = recipe.training.ladder
    say(f"the ladder of backgrounds: up to {len(ladder)}, weakest first, {steps} steps each")
    results: list[Result] = []
    for number, rung in enumerate(ladder, start=1):
        with Display(steps, 0, float("inf"), say, what=f"rung {number} of {len(ladder)}, {rung.name}") as display:

            def on_step(step: int, loss: float, display: Display = display) -> None:
                display.show(step, {"loss": loss}, line=step % recipe.training.log_every == 0)

            results.append(attempt(rung, recipe, (train_set, held_out), seed, device, on_step))
        say(str(results[-1]))
        if choose(results).room <= WORTH:
            break
    chosen = choose(results)
    say(f"background: {chosen.rung.name}: {reason(results)}")
    return with_background(recipe, chosen.rung.background), results


def choose(results: list[Result]) -> Result:
    """The weakest rung over which none above it gains enough, outside of what it leaves to objects.

    Stills start from the data, all others from nothing, so that after a few steps stills are ahead even where they only
    tile the data with the nearest of some pictures: they count where they fit nearly exactly.
    """
    chosen = results[0]
    for result in results[1:]:
        if _counts(result) and result.gain_over(chosen) > WORTH:
            chosen = result
    return chosen


def _counts(result: Result) -> bool:
    return not result.rung.background.stills or result.room <= EXACT


def reason(results: list[Result]) -> str:
    """Why that one was chosen, in plain words."""
    chosen = choose(results)
    above = [result for result in results[results.index(chosen) + 1 :] if _counts(result)]
    if chosen.room <= WORTH:
        return f"outside of compact regions a perfect one would gain only {chosen.room:.2f} nats a pixel"
    if not above:
        return "none explains more outside of compact regions, and there is none above it"
    gain, name = max((result.gain_over(chosen), result.rung.name) for result in above)
    return (
        f"outside of compact regions {name} would gain {gain:+.2f} nats a pixel, and {WORTH} is the least to climb for"
    )


def settle(
    run: Path, recipe: Recipe, train_set: Dataset, held_out: Dataset, say: Say, device: torch.device = CPU
) -> Recipe:
    """The recipe that a run trains: as it is if it fixes its background, or with the one that was or is now chosen."""
    if not recipe.training.ladder:
        return recipe
    before = with_chosen_background(run, recipe)
    if before is not None:
        return before
    return climbed(run, recipe, train_set, held_out, say, device)[0]


def climbed(
    run: Path,
    recipe: Recipe,
    train_set: Dataset,
    held_out: Dataset,
    say: Say,
    device: torch.device = CPU,
    ladder: Sequence[Rung] = (),
) -> tuple[Recipe, list[Result]]:
    """As `climb`, and kept in a run's ladder.json."""
    begun = time.monotonic()
    settled, results = climb(recipe, train_set, held_out, say, recipe.training.seed, device, ladder)
    with writing(run):
        with MetricsLog(run, 0) as log:
            for result in results:
                log.write(0, {f"ladder_{name}": value for name, value in _measures(result).items()})
        write_json(run / FILE, _record(results, round(time.monotonic() - begun, 1)))
    return settled, results


def with_chosen_background(run: Path, recipe: Recipe) -> Recipe | None:
    """The recipe of a run with the background that its ladder.json names; None if there is no such file."""
    if not (run / FILE).exists():
        return None
    try:
        background = SpaceBackgroundConfig.model_validate(read_json(run / FILE)["background"])
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{run / FILE} names no background: {error}; delete it, and the run climbs again") from error
    return with_background(recipe, background)


def describe_choice(run: Path) -> str:
    """The choice of a run in a line, as its card tells it; empty if it did not climb."""
    if not (run / FILE).exists():
        return ""
    record = read_json(run / FILE)
    return f"{record['chosen']}: {record['reason']}"


def _record(results: list[Result], seconds: float) -> dict[str, Any]:
    """The content of ladder.json."""
    chosen = choose(results)
    return {
        "chosen": chosen.rung.name,
        "reason": reason(results),
        "seconds": seconds,
        "rungs": [_measures(result) for result in results],
        "background": chosen.rung.background.model_dump(mode="json"),
    }


def _measures(result: Result) -> dict[str, Any]:
    return {"rung": result.rung.name, "bound": result.bound} | result.left | {"room": result.room}
