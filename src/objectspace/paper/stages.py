"""From nothing to pages: data, trainings, measurements, pictures, one item after another.

Every stage recognises what is finished and goes on with what is not, so that the same command continues after any end.
Items share data and runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PIL import Image

from objectspace.compare.page import Block, compared_sheet
from objectspace.data.dataset import Dataset
from objectspace.data.generate import generate
from objectspace.io.progress import duration
from objectspace.models import load
from objectspace.paper import compared
from objectspace.paper.data_sets import data_sets
from objectspace.paper.declared import DataSet, Item
from objectspace.paper.findings import Findings, read_findings
from objectspace.paper.measure import measure
from objectspace.paper.pages import write_pages
from objectspace.paper.place import Place, has_split, has_weights
from objectspace.paper.samples import measure_samples
from objectspace.paper.trainings import Say, Training, carry_out, is_done, trainings_of

IMAGES = 3  # in a picture of models side by side


@dataclass(frozen=True)
class Wanted:
    """How an item is to be made."""

    minutes: float | None = None  # for everything that must be trained; None: as long as it takes
    seeds: int | None = None  # None: as many as each item says
    workers: int = 2  # that make data
    images: int | None = None  # test images to measure on; None: all


def run_items(
    items: Sequence[Item], place: Place, wanted: Wanted, say: Say, sets: Mapping[str, DataSet] | None = None
) -> None:
    """Make everything that the items need and is not there, and write their pages; `sets` in place of the paper's."""
    place.begin()
    sets = data_sets(place.full) if sets is None else sets
    _say_what_is_missing(items, place, wanted, say)
    share = _share(items, place, wanted)
    for item in items:
        say(f"-- {item.name}: {item.title}")
        for name in _needed(item, place, wanted):
            make_data(sets[name], place, wanted.workers, say)
        for training in _trainings(item, place, wanted):
            carry_out(training, place, share, say)
            measure(training, place, say, wanted.images)
        if "latency" in item.measures:
            compared.latency(place, wanted.minutes, say)
        if "convergence" in item.measures:
            compared.convergence(place, share, say)
        if "samples" in item.measures:
            for training in _trainings(item, place, wanted):
                measure_samples(training, place, say)
        if "pictures" in item.measures:
            draw(item, place, say)
        write_pages(items, place, missing_recipes(items, place.full))
        say(f"{place.out / item.name}.html")


def make_data(data: DataSet, place: Place, workers: int, say: Say) -> None:
    """Make a data set, or finish it, unless there is one that was brought in."""
    root = place.data(data.name)
    if root != place.out / "data" / data.name or (root / "dataset.json").exists():
        return
    say(f"making {data.name}: {data.command}")
    generate(data.source(), root, data.streams(), workers)


def missing_recipes(items: Sequence[Item], full: bool) -> dict[str, list[str]]:
    """The recipes that each item needs and this version does not have."""
    return {
        item.name: sorted(
            {each.model.recipe_name(full) for each in trainings_of(item.models, 1, full) if each.recipe() is None}
        )
        for item in items
    }


def draw(item: Item, place: Place, say: Say) -> None:
    """Pictures of models side by side on the first test images of each data set; drawn again when models are newer."""
    for data in item.data:
        runs = {
            model.kind: place.run(model.run_name(0, place.full))
            for model in item.models
            if model.data == data and has_weights(place.run(model.run_name(0, place.full)))
        }
        target = place.pictures / f"{item.name}-{data}.png"
        weights = [run / "model" / "model.safetensors" for run in runs.values()]
        if not runs or (target.exists() and target.stat().st_mtime >= max(file.stat().st_mtime for file in weights)):
            continue
        say(f"drawing {', '.join(runs)} on {data}")
        models = {kind: load(run / "model") for kind, run in runs.items()}
        size = max(model.config.image_size for model in models.values())
        test = Dataset(place.tested_on(data + ("-full" if place.full else "")), "test", size)
        chosen = range(min(IMAGES, len(test)))
        inputs = [test.images[index] for index in chosen]
        scenes = {kind: model.decompose(inputs) for kind, model in models.items()}
        blocks = [
            Block(
                test.names[index],
                inputs[index],
                {kind: made[index] for kind, made in scenes.items()},
                test.scene(index) if test.object_count else None,
            )
            for index in chosen
        ]
        place.pictures.mkdir(parents=True, exist_ok=True)
        Image.fromarray(compared_sheet(blocks)).save(target)


def known(place: Place) -> Findings:
    """Everything that has been measured in a place."""
    return read_findings(place.measurements)


def _trainings(item: Item, place: Place, wanted: Wanted) -> list[Training]:
    """Those of an item that this version has a recipe for."""
    made = trainings_of(item.models, wanted.seeds or item.seeds, place.full)
    return [training for training in made if training.recipe() is not None]


def _needed(item: Item, place: Place, wanted: Wanted) -> list[str]:
    """The data sets that an item needs now: not those of models that cannot be trained."""
    own = [training.model.data for training in _trainings(item, place, wanted)]
    own += [compared.RACE_DATA] if "convergence" in item.measures else []
    return list(dict.fromkeys(own))


def _share(items: Sequence[Item], place: Place, wanted: Wanted) -> float | None:
    """The minutes of each training."""
    if wanted.minutes is None:
        return None
    open_runs = {
        training.name for item in items for training in _trainings(item, place, wanted) if not is_done(training, place)
    }
    races = any("convergence" in item.measures for item in items)
    races = races and not (place.measurements / "convergence.json").exists()
    return wanted.minutes / max(len(open_runs) + (compared.RACES if races else 0), 1)


def _say_what_is_missing(items: Sequence[Item], place: Place, wanted: Wanted, say: Say) -> None:
    """What there is to do, before the first hour of it."""
    for name, recipes in missing_recipes(items, place.full).items():
        if recipes:
            say(f"{name}: this version has no recipe {', '.join(recipes)}: those models are left out")
    share = _share(items, place, wanted)
    names = {training.name: training for item in items for training in _trainings(item, place, wanted)}
    todo = [name for name, training in names.items() if not is_done(training, place)]
    each = "as long as each takes" if share is None else f"{duration(60 * share)} each"
    say(f"{len(names)} trainings, {len(names) - len(todo)} of them done; to do: {len(todo)}, {each}")
    sets = {data for item in items for data in _needed(item, place, wanted)}
    absent = [data for data in sorted(sets) if not has_split(place.data(data), "train")]
    if absent:
        say(f"data to be made: {', '.join(absent)}")
