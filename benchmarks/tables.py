"""The tables of README.md and docs/results.md, made of stored measurements, so that no number is typed by hand.

python -m benchmarks.tables [--check]
python -m benchmarks.tables add RUN --metrics FILE.json --data-seed SEED [--recipe NAME] [--machine TEXT] [--note TEXT]

The first writes each table between its markers, `<!-- table: NAME -->` and `<!-- end -->`; with --check nothing is
written, and the exit code is 1 if a table is not what would be written. The second keeps a run of `objectspace train`,
finished or not, as docs/measurements/RECIPE-seedN.json; FILE.json is what `objectspace evaluate --json` wrote, or the
card.json of `objectspace pack`.

Numbers come from the cards of the shipped weights, and from docs/measurements/*.json. Each of those is one run:

    recipe          its name
    seed            of the training
    minutes, steps  of training, from an empty run; minutes may be null: unknown
    processor_minutes  what the processor computed in them, which other work hardly changes; null: unknown
    ended           "finished", "stopped", "out of time" or a collapse's name
    failed_starts   seeds that collapsed before this one
    machine         what it was trained on, in words
    data            the command that makes the training images
    data_seed       their seed; null: unknown
    test_seed       the seed of the images that it was measured on; null: those of the training data
    measured_on     which images these are, in words
    metrics         the plain numbers of `objectspace evaluate --json`; without any, the run was not measured
    note            what a reader must know besides; a run with one is left out of the means
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from pydantic import TypeAdapter, ValidationError

from objectspace.errors import UserError
from objectspace.io.keys import by_new_names
from objectspace.models.card import Card, shipped
from objectspace.recipes import files as recipe_files
from objectspace.recipes.recipe import Recipe

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/results.md")
MEASUREMENTS = ROOT / "docs" / "measurements"
WEIGHTS = ROOT / "src" / "objectspace" / "weights"
HEADLINE = ("ap50", "ap", "count_error")
SCENES = {  # what a shipped model is for, in a few words
    "space-rooms-small": "3D-Room, 4-8 objects",
    "space-rooms-large": "3D-Room, 18-24 objects",
    "space-sprites": "coloured shapes",
    "space-spaceinvaders": "frames of Space Invaders",
    "space-airraid": "frames of Air Raid",
    "space-montezuma": "frames of Montezuma's Revenge, what moves",
    "space-riverraid": "frames of River Raid",
    "space-atari-joint10": "ten Atari games, one model",
}
ONLY_WHAT_MOVES = {"space-montezuma"}  # in the README, as their scenes say; docs/results.md has all

Metrics = Mapping[str, float | None]


@dataclass(frozen=True)
class Measurement:
    """A run and what it was measured at; the module's docstring says what is what."""

    recipe: str
    seed: int
    minutes: float | None
    steps: int
    ended: str
    machine: str
    data: str
    data_seed: int | None
    test_seed: int | None
    processor_minutes: float | None = None
    measured_on: str = ""
    failed_starts: int = 0
    metrics: Metrics = field(default_factory=dict)
    note: str = ""


def read_measurements(folder: Path = MEASUREMENTS) -> list[Measurement]:
    """All runs that were kept, by recipe and seed."""
    runs = []
    for path in sorted(folder.glob("*.json")):
        try:
            run = TypeAdapter(Measurement).validate_json(path.read_text(encoding="utf-8"))
        except ValidationError as error:
            wrong = error.errors()[0]
            where = ".".join(str(part) for part in wrong["loc"])
            raise UserError(f"{path} is no measurement: {where}: {wrong['msg']}") from error
        runs.append(replace(run, metrics=by_new_names(run.metrics)))
    return sorted(runs, key=lambda run: (run.recipe, run.seed, run.note))


def measurement_of(
    run: Path,
    metrics: Path | None,
    test_seed: int | None,
    recipe: str | None,
    machine: str,
    note: str,
    processor: float | None = None,
) -> Measurement:
    """What a run's directory says, and an `objectspace evaluate --json` file or the card of its packed weights."""
    summary = _read(run / "summary.json", "which a run has once it has ended")
    given = recipe_files.load_run(run)
    made = Path(summary["data"]) / "dataset.json"
    measured = _read(metrics, "which `objectspace evaluate --json` or `objectspace pack` writes") if metrics else {}
    on = measured.get("measured_on")  # in a card; a report says it in parts
    if on is None and measured:
        on = f"{measured['images']} images of split {measured['split']}"
    if processor is None and (seconds := summary["state"].get("processor")) is not None:
        processor = round(seconds / 60, 1)
    return Measurement(
        recipe=recipe or recipe_name(given),
        seed=summary["seed"],
        minutes=round(summary["state"]["seconds"] / 60, 1),
        steps=summary["state"]["step"],
        ended=summary["ended"],
        machine=machine,
        data=given.data.made_by,
        data_seed=_read(made, "")["settings"].get("seed") if made.exists() else None,
        test_seed=test_seed,
        processor_minutes=processor,
        measured_on=on or "",
        failed_starts=len(summary["failed_starts"]),
        metrics=_plain(by_new_names(measured.get("metrics", measured))),
        note=note,
    )


def recipe_name(recipe: Recipe) -> str:
    """The shipped recipe that this is, whatever its seed."""
    for name in recipe_files.shipped():
        if _without_seed(recipe_files.load(name)) == _without_seed(recipe):
            return name
    raise UserError(f"the run's recipe ({recipe.about}) is none of the shipped ones: name it with --recipe")


def _without_seed(recipe: Recipe) -> dict[str, Any]:
    content = recipe.model_dump(mode="json")
    return content | {"training": content["training"] | {"seed": None}}


def _plain(metrics: Mapping[str, Any]) -> dict[str, float | None]:
    plain = {key: value for key, value in metrics.items() if value is None or isinstance(value, (int, float))}
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in plain.items()}


def _read(path: Path, what: str) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}, {what}: {error}") from error
    return content


def number(value: float | None, digits: int = 3) -> str:
    """A metric as it is printed; a dash where it is unknown."""
    return "-" if value is None else f"{value:.{digits}f}"


def minutes(run: Card | Measurement) -> str:
    """Of training, and in brackets those that the processor computed, where they are known."""
    wall, own = number(run.minutes, 0), run.processor_minutes
    return wall if own is None else f"{wall} ({own:.0f})"


def headline(metrics: Metrics, prefix: str = "") -> str:
    """AP@0.5 / AP / count error; a dash where none is known."""
    values = [metrics.get(prefix + key) for key in HEADLINE]
    return "-" if values == [None] * 3 else " / ".join(number(value) for value in values)


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows as a table."""
    lines = [f"| {' | '.join(line)} |" for line in [header, *rows]]
    return "\n".join([lines[0], "|---" * len(header) + "|", *lines[1:]])


def size_of(card: Card) -> str:
    return f"{sum(path.stat().st_size for path in (WEIGHTS / card.name).glob('*.safetensors')) / 1e6:.1f} MB"


def in_order(cards: Iterable[Card]) -> list[Card]:
    """As in `SCENES`, then the others by name."""
    order = list(SCENES)
    return sorted(cards, key=lambda card: (order.index(card.name) if card.name in order else len(order), card.name))


def is_game(card: Card) -> bool:
    return " atari " in card.data


def shipped_table(cards: Sequence[Card], _: Sequence[Measurement]) -> str:
    """What ships, for someone who wants to use it."""
    rows = []
    for card in cards:
        prefix = "moving_" if card.name in ONLY_WHAT_MOVES else ""
        own = [number(card.metrics.get(prefix + key)) for key in (*HEADLINE, "f1")]
        published = "-" if prefix else headline(card.metrics, "published_")
        rows.append([f"`{card.name}`", SCENES.get(card.name, card.about), *own, published])
    by = "by the published rule: AP@0.5 / AP / count error"
    return markdown(["model", "scenes", "AP@0.5", "AP", "count error", "F1", by], rows)


def trained(card: Card) -> list[str]:
    """How a shipped model came to be, and its first measures: the cells with which both tables of them begin."""
    run = [f"`{card.name}`", str(card.seed), str(card.steps), minutes(card), size_of(card)]
    return [*run, headline(card.metrics)]


def trained_table(cards: Sequence[Card], _: Sequence[Measurement]) -> str:
    """Shipped models of scenes that are not games."""
    rows = [
        [
            *trained(card),
            headline(card.metrics, "published_"),
        ]
        for card in cards
        if not is_game(card)
    ]
    ours, published = "our rule: AP@0.5 / AP / count error", "published rule: the same"
    return markdown(["model", "seed", "steps", "minutes (of processor)", "size", ours, published], rows)


def masks_table(cards: Sequence[Card], _: Sequence[Measurement]) -> str:
    """The field's other measures of the same models."""
    header = ["model", "COCO AP@0.5 / AP", "F1", "fg ARI", "ARI", "mIoU", "mBO", "background mIoU", "squared error"]
    rows = []
    for card in cards:
        if not is_game(card):
            values = card.metrics
            coco = f"{number(values.get('coco_ap50'))} / {number(values.get('coco_ap'))}"
            masks = [number(values.get(key)) for key in ("f1", "fg_ari", "ari", "miou", "mbo", "background_miou")]
            wrong = f"{number(values.get('undercount'), 0)} / {number(values.get('overcount'), 0)}"
            rows.append([f"`{card.name}`", coco, *masks, number(values.get("squared_error"), 0), wrong])
    return markdown([*header, "images with too few / too many"], rows)


def games_table(cards: Sequence[Card], _: Sequence[Measurement]) -> str:
    """Shipped models of games."""
    header = ["model", "seed", "steps", "minutes (of processor)", "size", "AP@0.5 / AP / count error", "F1@0.5"]
    header += ["F1@0.5 of what moves", "F1@0.3", "strict F1@0.5", "published rule: AP@0.5 / AP / count error"]
    rows = [
        [
            *trained(card),
            *(number(card.metrics.get(key)) for key in ("f1", "moving_f1", "f1_30", "strict_f1")),
            headline(card.metrics, "published_"),
        ]
        for card in cards
        if is_game(card)
    ]
    return markdown(header, rows)


def seeds_table(cards: Sequence[Card], runs: Sequence[Measurement]) -> str:
    """Every run that was kept, the shipped weights where their seed was not, and means over what was measured alike."""
    known = {(run.recipe, run.seed) for run in runs if not run.note}
    ours = [as_run(card) for card in cards if not is_game(card)]  # games: their table has all there is
    every = [*runs, *(run for run in ours if (run.recipe, run.seed) not in known)]
    header = [
        "recipe",
        "seed",
        "minutes (of processor)",
        "steps",
        "our rule: AP@0.5 / AP / count error",
        "published rule: the same",
    ]
    rows = []
    for recipe in sorted({run.recipe for run in every}):
        mine = sorted((run for run in every if run.recipe == recipe), key=lambda run: (run.seed, run.note))
        for run in mine:
            both = [headline(run.metrics), headline(run.metrics, "published_")]
            rows.append([f"`{recipe}`", str(run.seed), minutes(run), str(run.steps), *both, remarks(run)])
        alike = [run for run in mine if run.ended == "finished" and run.metrics and not run.note]
        if len(alike) > 1:
            both = [spread(alike, prefix) for prefix in ("", "published_")]
            rows.append([f"`{recipe}`", f"mean of {len(alike)}", "", "", *both, "± is the sample's deviation"])
    return markdown([*header, "remarks"], rows)


def as_run(card: Card) -> Measurement:
    """Shipped weights among the runs; `space-rooms-small` comes of the recipe `space-rooms-small-fast`."""
    return Measurement(
        recipe=f"{card.name}-fast",
        seed=card.seed,
        minutes=card.minutes,
        steps=card.steps,
        ended="finished",
        machine=card.machine,
        data=card.data,
        data_seed=card.data_seed,
        test_seed=None,
        processor_minutes=card.processor_minutes,
        measured_on=card.measured_on,
        failed_starts=card.failed_starts,
        metrics=card.metrics,
        note="the shipped weights",  # perhaps by a recipe that has changed since, so no part of the means
    )


def remarks(run: Measurement) -> str:
    """What is not as a reader would expect: a finished run, from its first seed, measured on a test set."""
    said = [] if run.ended == "finished" else [run.ended]
    said += [f"{run.failed_starts} failed starts before it"] if run.failed_starts else []
    said += [] if run.metrics else ["not measured"]
    return "; ".join([*said, run.note] if run.note else said)


def spread(runs: Sequence[Measurement], prefix: str) -> str:
    """Mean and deviation of the sample of each headline number."""
    cells = []
    for key in HEADLINE:
        values = [value for run in runs if (value := run.metrics.get(prefix + key)) is not None]
        cells.append(f"{mean(values):.3f} ± {stdev(values):.3f}" if len(values) > 1 else "-")
    return " / ".join(cells)


Table = Callable[[Sequence[Card], Sequence[Measurement]], str]
TABLES: dict[str, Table] = {
    "shipped": shipped_table,
    "trained": trained_table,
    "masks": masks_table,
    "every seed": seeds_table,
    "games": games_table,
}
_MARKED = re.compile(r"(?<=<!-- table: )([^>]+?)( -->\n)(.*?)(\n?<!-- end -->)", re.S)


def fill(page: str, cards: Sequence[Card], runs: Sequence[Measurement]) -> str:
    """A page with its tables made anew."""

    def made(match: re.Match[str]) -> str:
        name = match[1]
        if name not in TABLES:
            raise UserError(f"there is no table {name!r}; there are: {', '.join(TABLES)}")
        return f"{name}{match[2]}{TABLES[name](cards, runs)}\n<!-- end -->"

    return _MARKED.sub(made, page)


def update(check: bool, pages: Iterable[Path]) -> list[str]:
    """Write the tables into pages, or only look; gives the names of the pages that were not as they should be."""
    cards, runs, changed = in_order(shipped()), read_measurements(), []
    for path in pages:
        before = path.read_text(encoding="utf-8")
        after = fill(before, cards, runs)
        if after != before:
            changed.append(path.name)
            if not check:
                path.write_text(after, encoding="utf-8")
    return changed


def keep(run: Measurement, folder: Path = MEASUREMENTS) -> Path:
    """Write a measurement; one that is there already is not overwritten."""
    path = folder / f"{run.recipe}-seed{run.seed}.json"
    if path.exists():
        raise UserError(f"{path} is there already: rename it, and say in its `note` why there are two, or remove it")
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(run), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make the tables of README.md and docs/results.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a table is not up to date")
    adding = parser.add_subparsers(dest="command").add_parser("add", help="keep a run's numbers in docs/measurements")
    adding.add_argument("run", type=Path, help="the directory of a run of `objectspace train`")
    adding.add_argument("--metrics", type=Path, help="of `objectspace evaluate --json`, or a card; none: not measured")
    adding.add_argument("--data-seed", type=int, help="the seed of the images that it was measured on")
    adding.add_argument("--recipe", help="the recipe's name; by default the shipped one that the run's is")
    adding.add_argument("--machine", default="", help="what it was trained on, in words")
    adding.add_argument("--processor-minutes", type=float, help="that the processor computed, if the run does not say")
    adding.add_argument("--note", default="", help="what a reader must know; keeps the run out of the means")
    given = parser.parse_args(arguments)
    try:
        if given.command == "add":
            run = measurement_of(
                given.run,
                given.metrics,
                given.data_seed,
                given.recipe,
                given.machine,
                given.note,
                given.processor_minutes,
            )
            print(f"kept: {keep(run)}; now python -m benchmarks.tables")
            return 0
        changed = update(given.check, [ROOT / page for page in PAGES])
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if given.check and changed:
        print(f"not up to date: {', '.join(changed)}; write them with python -m benchmarks.tables")
    return int(given.check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
