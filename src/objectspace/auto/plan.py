"""From a folder to a recipe: look, guess, climb the ladder of backgrounds, measure what that leaves, time the steps.

What a plan rests on is written beside the run: RUN/data (links to the pictures), RUN/ladder.json, RUN/looked.png.
Nothing here reads a label.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from objectspace.auto import behind, choose, guess, sizes
from objectspace.auto.choose import Table
from objectspace.auto.guess import Guess
from objectspace.auto.links import link
from objectspace.auto.look import Look, look, view_of
from objectspace.auto.looked import looked
from objectspace.auto.pictures import find, sample
from objectspace.auto.sizes import Sizes
from objectspace.config import View
from objectspace.data.dataset import Dataset
from objectspace.geometry.regions import Region
from objectspace.io.files import read_json, write_json
from objectspace.models import create
from objectspace.models.parts.settings import SpaceBackgroundConfig
from objectspace.models.space import SpaceConfig
from objectspace.recipes import files as recipe_files
from objectspace.recipes.recipe import Recipe
from objectspace.training.display import Say
from objectspace.training.ground import ground_share
from objectspace.training.ladder import FILE as LADDER
from objectspace.training.ladder import choose as best_of
from objectspace.training.ladder import climbed
from objectspace.training.rungs import Result, Rung, rungs

WHERE = "the choice of train auto"  # what errors call the recipe
RUNG_STEPS, LEAST_STEPS = 80, 20  # of each background that is tried, with time enough and without
ENOUGH_SECONDS = 1800.0  # time enough
GROUND_LEFT = 0.012  # of the pixels: what a background leaves though it is too large or too long for an object
DRAWN = 0.6  # of what lies in compact regions is left by a stronger background that does not draw objects
ABOVE = 1  # backgrounds that are tried beyond the guessed one
TIMED = 3  # steps of each phase
RUNG_IMAGES = 64  # held-out images that it is measured on
ORDERLY = 0.3  # of what the ladder leaves, that must lie in regions of one size, for these to be measured
AGREE = 1.7  # times larger or smaller, at most, than at first sight: the resolution was chosen by that
FOR_TRAINING = 0.85  # of the time that is left; the rest is for validations, and for judging
UNSEEN = 0.12  # of the longer side: the size of objects when nothing stands out


@dataclass(frozen=True, eq=False)
class Plan:
    """A recipe, and what it rests on."""

    recipe: Recipe
    seen: Look
    found: Sizes  # in the pictures' own pixels, counted in whole pictures
    reasons: Mapping[str, str]
    cost: Mapping[str, float]  # seconds that a step of each phase takes
    share: float  # of the steps that a training with time enough has
    left: float  # share of the pixels that the background leaves unexplained
    regions: tuple[int, ...]  # that it leaves, of images of the model's size
    doubts: tuple[str, ...]
    table: Table  # what was chosen, before steps and changes
    others: tuple[Table, ...]  # backgrounds to try if this one turns out badly, the best of them first


@dataclass(frozen=True, eq=False)
class Leftover:
    """What a background leaves of some pictures of the model's size (n, H, W, 3)."""

    pictures: NDArray[np.uint8]
    unexplained: NDArray[np.bool_]  # (n, H, W)
    regions: tuple[tuple[Region, ...], ...]
    order: float


def make(data: Path, run: Path, seconds: float, changes: Sequence[str], say: Say) -> Plan:
    """Look at pictures, and say what to train on them in so many seconds."""
    until = time.monotonic() + seconds
    files = find(data)
    taken = sample(files)
    for problem in taken.problems:
        say(f"left out: {problem}")
    seen = look(taken.pictures)
    say(f"looked at {seen.pictures} of {len(files.train) + len(files.held_out)} pictures: {describe(seen)}")
    guessed = guess.first(taken.pictures, seen, View.model_validate(view_of(seen)))
    found, doubts = guessed.found, list[str]()
    if found is None:
        doubts.append("nothing of about one size stands out from what is behind it")
        found = _something(seen)
    say(f"at first sight: behind them {guessed.left.name}; {describe_sizes(found)}")

    image, why = choose.resolution(seen, found)
    link(files, run / "data", image, seen)
    scale = choose.model_scale(seen, image)
    contrast, noise = guessed.left.contrast, guessed.left.noise
    start = choose.model(seen, found, contrast, noise, choose.background(guessed.left.name), image)
    recipe = _recipe(start.table, None, changes)
    train_set, held_out = (
        Dataset(run / "data", split, recipe.model.image_size, view=recipe.model.view) for split in ("train", "val")
    )
    if _says(changes, "training.ladder", *(f"model.background.{key}" for key in choose.PLAIN)):
        background, result, others = choose.kind_of(_background(recipe)), None, tuple[Table, ...]()
    else:
        background, result, others = _climb(run, recipe, guessed, (train_set, held_out), seconds, say)
    left = _leftover(result, held_out, guessed)
    share = choose.share_of_picture(seen, image)
    measured = sizes.measure(left.regions, left.unexplained.shape[1:])
    if result is not None and measured is not None and left.order >= min(ORDERLY, guessed.left.order):
        measured = guess.in_pictures(measured, scale, share)
        if guessed.found is None or max(measured.side / found.side, found.side / measured.side) < AGREE:
            found = measured
        say(f"behind that background: {describe_sizes(measured)}")
    chosen = choose.model(seen, found, contrast, noise, background, image)
    cost = time_of_steps(_recipe(chosen.table, dict.fromkeys(choose.PHASES, 10), changes), train_set)
    phases, part = choose.steps(background, FOR_TRAINING * max(0.0, until - time.monotonic()), cost)
    Image.fromarray(looked(left.pictures, left.unexplained, left.regions)).save(run / "looked.png")
    return Plan(
        recipe=_recipe(chosen.table, phases, changes),
        seen=seen,
        found=found,
        reasons={"model.image_size": why} | dict(chosen.reasons) | {"model.background": _reason(result, guessed)},
        cost=cost,
        share=part,
        left=float(left.unexplained.mean()),
        regions=tuple(len(each) for each in left.regions),
        doubts=tuple(doubts),
        table=chosen.table,
        others=others,
    )


def with_background(
    table: Table, background: Table, seconds: float, cost: Mapping[str, float], changes: Sequence[str]
) -> Recipe:
    """A plan's recipe with another background, with steps for so many seconds."""
    model = table["model"] | {"background": table["model"]["background"] | background}
    phases, _ = choose.steps(background, FOR_TRAINING * seconds, cost)
    return _recipe(table | {"model": model}, phases, changes)


def describe(seen: Look) -> str:
    """What was seen, in words."""
    width, height, _ = seen.sizes[0]
    size = f"{width} x {height}" + (f" and {len(seen.sizes) - 1} other sizes" if len(seen.sizes) > 1 else "")
    told = [size, "grey" if seen.grey else "coloured", f"noise {seen.noise:.3f}"]
    if seen.bits > 8:
        told.append(f"{seen.bits} bits used")
    stretch = view_of(seen)
    if stretch.get("stretch") == "each":
        told.append(f"exposed differently ({seen.exposure:.1f} times as wide a range): each is stretched by itself")
    elif stretch.get("stretch") == "all":
        told.append(f"using only {seen.low:.2f} to {seen.high:.2f} of the range: all are stretched alike")
    if seen.camera_fixed:
        told.append(f"a fixed camera ({seen.fixed:.0%} of the pixels are those of the median picture)")
    if seen.successive:
        told.append("frames that follow one another")
    return ", ".join(told)


def describe_sizes(found: Sizes) -> str:
    """How large and how many, in words."""
    kinds = f", of two sizes, {found.kinds[0]:.0f} and {found.kinds[1]:.0f}" if found.kinds else ""
    return (
        f"things of about {found.side:.0f} pixels ({found.smallest:.0f} to {found.largest:.0f}{kinds}), about "
        f"{found.number:.0f} a picture"
    )


def time_of_steps(recipe: Recipe, train_set: Dataset) -> dict[str, float]:
    """Seconds that a step of each phase takes here and now."""
    model = create(recipe.model, recipe.anneal, recipe.training.seed).train()
    numbers = np.arange(min(len(train_set), 64))
    images = torch.from_numpy(train_set.batch(numbers)).permute(0, 3, 1, 2)
    model.start_from(images, torch.Generator().manual_seed(0))
    batch = images[np.arange(recipe.training.batch) % len(images)].float() / 255
    assert recipe.phases is not None
    costs, begin = {}, 0
    for name in choose.PHASES:
        stage = recipe.anneal.at(begin)
        begin += getattr(recipe.phases, name)
        times = []
        for _ in range(1 + TIMED):
            begun = time.monotonic()
            generator = torch.Generator().manual_seed(begin)
            make_loss = model.warm_start if stage.warm is not None else model
            loss = make_loss(batch, stage, generator=generator).loss.mean()
            if loss.requires_grad:  # stills have nothing to learn while they are alone
                loss.backward()
            times.append(time.monotonic() - begun)
        costs[name] = min(times[1:])
    return costs


def _something(seen: Look) -> Sizes:
    side = UNSEEN * seen.side
    return Sizes(side, 0.5 * side, 2 * side, sizes.UNSURE, (), 4.0, 12.0, 0.0, 0)


def _recipe(table: Table, phases: Mapping[str, int] | None, changes: Sequence[str]) -> Recipe:
    counts = dict(phases or {"background": 1, "warm": 1, "objects": 1, "sharpen": 1})
    total = sum(counts.values())
    often = {"validate_every": max(20, total // 4), "save_every": max(20, total // 4)}
    training = table["training"] | (often if phases else {"validate_images": RUNG_IMAGES})
    table = table | {"phases": table["phases"] | counts, "training": training}
    return recipe_files.overridden(table, WHERE, changes)


def _says(changes: Sequence[str], *keys: str) -> bool:
    return any(change.strip().startswith(keys) for change in changes)


def _climb(
    run: Path, recipe: Recipe, guessed: Guess, data: tuple[Dataset, Dataset], seconds: float, say: Say
) -> tuple[Table, Result, tuple[Table, ...]]:
    """The background, as a recipe's values, what it made of the held-out pictures, and others to try after it."""
    few = max(LEAST_STEPS, round(RUNG_STEPS * min(1.0, seconds / ENOUGH_SECONDS)))
    training = recipe.training.model_copy(update={"ladder": few})
    recipe = recipe.model_copy(update={"training": training})

    def kind(result: Result) -> Table:
        return choose.kind_of(result.rung.background)

    _, results = climbed(run, recipe, *data, say, ladder=_some_rungs(recipe, guessed, len(data[0])))
    chosen = _beyond(results, data[1])
    if chosen is not best_of(results):
        reason = f"{best_of(results).rung.name} would leave ground, of which objects would be made"
        say(f"background: {chosen.rung.name}: {reason}")
        background = chosen.rung.background.model_dump(mode="json")
        kept = read_json(run / LADDER) | {"chosen": chosen.rung.name, "reason": reason, "background": background}
        write_json(run / LADDER, kept)
    at = results.index(chosen)
    others = results[at + 1 :] + results[:at][::-1]  # stronger ones first
    return kind(chosen), chosen, tuple(kind(each) for each in others)


def _beyond(results: list[Result], held_out: Dataset) -> Result:
    """The rung that the ladder chose, or several colours where it leaves ground, of which objects would be made.

    A ladder's few steps favour what learns fast; a weak ground that cannot draw a frame or a table's edge never will.
    """
    chosen = best_of(results)
    stronger = [each for each in results[results.index(chosen) + 1 :] if _is_several_colours(each.rung)]
    if not stronger or _is_several_colours(chosen.rung) or _ground(chosen, held_out) < GROUND_LEFT:
        return chosen
    drawn = stronger[0].compact.sum() < DRAWN * chosen.compact.sum()  # the objects, by the stronger one
    return chosen if drawn else stronger[0]


def _ground(result: Result, held_out: Dataset) -> float:
    images = _of(held_out, len(result.unexplained)).astype(np.float32) / 255
    return ground_share(result.unexplained, images)


def _of(held_out: Dataset, count: int) -> NDArray[np.uint8]:
    """The images that rungs were measured on."""
    return held_out.batch(np.linspace(0, len(held_out) - 1, count).astype(np.int64))


def _some_rungs(recipe: Recipe, guessed: Guess, images: int) -> list[Rung]:
    """The guessed rung, the next above it, and below it one colour, a plane and several colours."""
    ladder = [
        _sure(rung)
        for rung in rungs(_background(recipe), images)
        if not rung.background.stills or guessed.left.name == "one still"
    ]
    wanted = choose.background(guessed.left.name)
    at = next((n for n, rung in enumerate(ladder) if choose.kind_of(rung.background) == wanted), 0)
    cheap = [rung for rung in ladder[:at] if rung.background.palette or rung.background.plane]
    return cheap + ladder[at : at + 1 + ABOVE]


def _sure(rung: Rung) -> Rung:
    """One colour is read off the image rather than learned, which takes hundreds of steps."""
    if not rung.background.flat:
        return rung
    return Rung(rung.name, rung.background.model_copy(update={"flat": False, "palette": True}))


def _is_several_colours(rung: Rung) -> bool:
    return rung.background.palette and rung.background.components > 1


def _background(recipe: Recipe) -> SpaceBackgroundConfig:
    assert isinstance(recipe.model, SpaceConfig)
    return recipe.model.background


def _leftover(result: Result | None, held_out: Dataset, guessed: Guess) -> Leftover:
    """What the chosen rung leaves; what the guessed ground does, where no rung was tried."""
    if result is None:
        pictures = (guessed.pictures * 255).astype(np.uint8)
        return Leftover(pictures, guessed.left.unexplained, guessed.left.regions, guessed.left.order)
    pictures = _of(held_out, len(result.unexplained))
    regions = tuple(
        tuple(behind.objects(map_, picture.astype(np.float32) / 255))
        for map_, picture in zip(result.unexplained, pictures, strict=True)
    )
    return Leftover(pictures, result.unexplained, regions, behind.order(regions, result.unexplained))


def _reason(result: Result | None, guessed: Guess) -> str:
    if result is None:
        return "as was asked for"
    return f"{result.rung.name}: the weakest that explains the rest; at first sight it was {guessed.left.name}"
