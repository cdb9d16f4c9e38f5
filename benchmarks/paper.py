"""docs/paper.md: the paper item by item, from all that was measured and kept, so that no number is typed by hand.

python -m benchmarks.paper [--check]
python -m benchmarks.paper keep DIR

The first writes the page, and the results that `objectspace paper list` shows (src/objectspace/paper/results.json);
with --check nothing is written, and the exit code is 1 if they are not what would be written. The second keeps what
`objectspace paper run ITEM --out DIR` has measured, as docs/measurements/paper/*.json and docs/images/paper-*.png.

Runs come from there, from docs/measurements/*.json (`benchmarks.tables`), and, where neither has the seed, from the
cards of the shipped weights.
"""

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.tables import MEASUREMENTS, ROOT, Measurement, as_run, read_measurements
from objectspace.errors import UserError
from objectspace.io.files import read_json, write_atomically, write_json
from objectspace.models.card import Card, shipped
from objectspace.paper.findings import Finding, Findings, read_findings
from objectspace.paper.items import ITEMS
from objectspace.paper.measure import with_ratio
from objectspace.paper.pages import markdown
from objectspace.paper.shown import prepare
from objectspace.recipes import files as recipe_files

KEPT = MEASUREMENTS / "paper"
PAGE = ROOT / "docs" / "paper.md"
IMAGES = ROOT / "docs" / "images"
PREFIX = "paper-"
RESULTS = ROOT / "src" / "objectspace" / "paper" / "results.json"
KEYS = {model.recipe: model.key for item in ITEMS for model in item.models if not model.tag}  # of a recipe's model


def gather(kept: Path = KEPT, measurements: Path = MEASUREMENTS, cards: Sequence[Card] | None = None) -> Findings:
    """Everything that was measured here, each run once."""
    findings = {(each.model, each.seed, each.what): each for each in _shipped(shipped() if cards is None else cards)}
    findings |= {
        (each.model, each.seed, each.what): each
        for each in map(from_measurement, read_measurements(measurements))
        if each.model
    }
    findings |= {(each.model, each.seed, each.what): each for each in read_findings(kept).all}
    return Findings(findings.values())


def from_measurement(run: Measurement) -> Finding:
    """A run that `benchmarks.tables` keeps; one of no item's model has no model's name."""
    return Finding(
        name=f"{run.recipe}-seed{run.seed}",
        what="models",
        model="" if run.note and "shipped" not in run.note else KEYS.get(run.recipe, ""),
        recipe=run.recipe,
        seed=run.seed,
        data=f"{run.data} --seed {run.data_seed}",
        measured_on=f"{run.measured_on}" + (f", data seed {run.test_seed}" if run.test_seed is not None else ""),
        ended=run.ended,
        failure=None if run.metrics else "not measured",
        steps=run.steps,
        planned=run.steps if run.ended == "finished" else None,
        minutes=run.minutes,
        command=f"objectspace train {run.recipe} --data DATA --out RUN --set training.seed={run.seed}",
        machine=run.machine,
        remarks=(run.note,) if run.note else (),
        numbers=with_ratio(dict(run.metrics)),
    )


def keep(directory: Path) -> int:
    """Copy what was measured and drawn in a directory to where the page takes it from; gives how many files."""
    if not (directory / "paper.json").is_file():
        raise UserError(f"{directory} was not written by `objectspace paper run`: there is no paper.json in it")
    if read_json(directory / "paper.json").get("full"):
        raise UserError(f"{directory} was made with --full: the page tells of the laptop's recipes")
    files = [(path, KEPT / path.name) for path in sorted((directory / "measurements").glob("*.json"))]
    files += [(path, IMAGES / f"{PREFIX}{path.name}") for path in sorted((directory / "pictures").glob("*.png"))]
    for source, target in files:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    return len(files)


def written() -> tuple[str, dict[str, dict[str, str]]]:
    """The page, and the results, as they should be."""
    findings = gather()
    shown = [prepare(item, findings, IMAGES, prefix=PREFIX) for item in ITEMS]
    return markdown(shown, IMAGES, PREFIX), {"results": {one.item.name: one.result for one in shown}}


def _shipped(cards: Sequence[Card]) -> Iterator[Finding]:
    """The shipped weights that are a model of some item."""
    for card in cards:
        finding = from_measurement(as_run(card))
        if finding.model:
            same = recipe_files.parse(card.recipe, card.name) == recipe_files.load(
                finding.recipe, [f"training.seed={card.seed}"]
            )
            said = (
                ("the shipped weights",) if same else ("the shipped weights", "by another recipe than this version's")
            )
            yield Finding(**vars(finding) | {"remarks": said})


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; say whether anything should be")
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("keep", help="keep what a directory has").add_argument("directory", type=Path)
    given = parser.parse_args(arguments)
    try:
        if given.command == "keep":
            print(f"{keep(given.directory)} files kept")
            return 0
        page, results = written()
    except UserError as error:
        sys.exit(f"error: {error}")
    if given.check:
        old = [PAGE] if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page else []
        old += [RESULTS] if not RESULTS.exists() or read_json(RESULTS) != results else []
        for path in old:
            print(f"{path.relative_to(ROOT)} is not up to date: python -m benchmarks.paper")
        return 1 if old else 0
    write_atomically(PAGE, page.encode())
    write_json(RESULTS, results)
    print(f"{PAGE.relative_to(ROOT)}, {RESULTS.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
