"""What each piece of training by phases is worth: a recipe is trained whole, and once more without each piece.

python -m benchmarks.ablation DATA --out DIR [--test TESTDATA] [--recipe NAME] [--seeds 0 1] [--pieces NAME ...]
    [--set KEY=VALUE ...] [--images N]

    DIR/runs/<piece>-seed<N>   an ordinary run directory each
    DIR/ablation.json          all that was measured
    DIR/ablation.md            the table

Runs are measured on the split test of TESTDATA, or else on val of DATA. The same command again goes on where it was
stopped: finished runs are not trained again, nor are those that diverged, unless their directory is removed. Two
processes may share DIR if their seeds differ; the same command with all seeds then makes the table of both.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import torch

from benchmarks.pieces import WHOLE, Piece, pieces_of
from objectspace.compare.machine import machine
from objectspace.data.dataset import Dataset
from objectspace.errors import UserError, unknown
from objectspace.evaluation.evaluate import evaluate
from objectspace.io.files import read_json, write_atomically, write_json
from objectspace.models import load
from objectspace.models.parts.grid import GridModel
from objectspace.recipes import files as recipe_files
from objectspace.recipes.recipe import Recipe
from objectspace.scene import Picture, Scene
from objectspace.training.loop import DivergedError
from objectspace.training.run import RunOptions, train

TARGET = 0.89  # of AP@0.5 on held-out images: when it is first reached is reported
BATCH = 16  # images taken apart at a time
MEASURES = ("ap50", "ap", "count_error")
RULES = {"ours": "our rule", "published": "published rule"}

Result = dict[str, Any]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Run:
    """One row's part for one seed: a recipe that is trained, and how its model is asked for scenes."""

    piece: Piece
    recipe: Recipe
    out: Path  # of the whole ablation

    @property
    def seed(self) -> int:
        return self.recipe.training.seed

    @property
    def name(self) -> str:
        return f"{self.piece.slug}-seed{self.seed}"

    @property
    def folder(self) -> Path:
        """The run directory."""
        return self.out / "runs" / f"{self.piece.trained}-seed{self.seed}"


@dataclass(frozen=True, eq=False)
class Trial:
    """What all runs have in common."""

    recipe: str
    settings: tuple[str, ...]
    data: Path
    out: Path
    images: Dataset  # that runs are measured on
    count: int  # of these images

    @property
    def file(self) -> Path:
        return self.out / "ablation.json"

    @property
    def measured_on(self) -> dict[str, Any]:
        return {"data": str(self.images.root.resolve()), "split": self.images.split, "images": self.count}

    @property
    def results(self) -> dict[str, Result]:
        """What is known, by the runs' names."""
        return dict(read_json(self.file)["results"]) if self.file.exists() else {}

    def note(self, name: str, result: Result) -> None:
        """Keep a result; what another process has noted meanwhile stays."""
        settings = {"recipe": self.recipe, "settings": list(self.settings), "data": str(self.data.resolve())}
        results = self.results | {name: result}
        try:
            write_json(self.file, settings | {"machine": machine(), "target": TARGET, "results": results})
        except OSError as error:
            raise UserError(f"cannot write {self.file}: {error}; mend that: the same command goes on") from error

    def refuse_changes(self, runs: Sequence[Run]) -> None:
        """Complain before anything is trained if a directory was begun with other data or another recipe."""
        if self.file.exists() and read_json(self.file)["data"] != str(self.data.resolve()):
            raise UserError(f"{self.file} was begun with other data: use the same, or another --out")
        for run in runs:
            begun = (run.folder / "recipe.toml").exists()
            if begun and recipe_files.dump(recipe_files.load_run(run.folder)) != recipe_files.dump(run.recipe):
                raise UserError(f"{run.folder} was begun with another recipe: use the same options, or another --out")


def plan(
    recipe: str, settings: Sequence[str], seeds: Sequence[int], names: Sequence[str] | None, out: Path
) -> tuple[list[Run], list[Piece]]:
    """All runs, seed by seed and each time the whole first; and the pieces that the recipe does not have."""
    plain = recipe_files.load(recipe, settings)
    if plain.phases is None:
        raise UserError(f"{recipe} does not train by phases, so there is nothing to take away: take one that does")
    pieces = pieces_of(plain)
    wanted = list(pieces) if names is None else [name.replace("-", " ") for name in names]
    for name in wanted:
        if name not in pieces:
            raise unknown("piece", name, list(pieces))
    runs, missing = list[Run](), list[Piece]()
    for number, seed in enumerate(seeds):
        whole = recipe_files.load(recipe, [*settings, f"training.seed={seed}"])
        for name in dict.fromkeys([WHOLE, *wanted]):
            piece = pieces[name]
            without = recipe_files.load(recipe, [*settings, f"training.seed={seed}", *piece.overrides])
            if name == WHOLE or piece.decompose or _differ(whole, without):
                runs.append(Run(piece, without, out))
            elif number == 0:
                missing.append(piece)
    return runs, missing


def _differ(first: Recipe, second: Recipe) -> bool:
    """Whether two recipes train differently."""
    return any(getattr(first, name) != getattr(second, name) for name in ("model", "anneal", "training"))


def settle(run: Run, trial: Trial, say: Say) -> Result:
    """Train a run to its end and measure it, as far as that has not been done."""
    results = trial.results
    known, begun = results.get(run.name), run.folder.exists()
    if known and begun and (known["failure"] or known["measured_on"] == trial.measured_on):
        return known
    failure = results.get(run.folder.name, {}).get("failure") if begun else None
    if failure is None:
        failure = _finish(run, trial, say)
    result: Result = {"piece": run.piece.name, "seed": run.seed, "changes": list(run.piece.changes)}
    result |= {"failure": failure, "measured_on": trial.measured_on}
    if failure is None:
        say(f"{run.name}: measuring")
        result |= history_of(run.folder) | measure(run, trial)
    trial.note(run.name, result)
    return result


def _finish(run: Run, trial: Trial, say: Say) -> str | None:
    """Train a run to its last step; gives why it could not be, if it diverged."""
    summary = run.folder / "summary.json"
    if summary.exists() and read_json(summary)["ended"] == "finished":
        return None
    say(f"{run.name}: training")
    try:
        ended = train(run.recipe, RunOptions(trial.data, run.folder, resume=True), _silence)["ended"]
    except DivergedError as error:
        return str(error)
    if ended == "stopped":
        raise KeyboardInterrupt
    return None


def _silence(line: str) -> None:
    """What single runs say of themselves, every few steps, would drown the rest."""


def measure(run: Run, trial: Trial) -> Result:
    """How well a finished run takes images apart, by both rules."""
    model = load(run.folder / "model")
    assert isinstance(model, GridModel)

    def scenes(decompose: Callable[[Sequence[Picture]], list[Scene]]) -> Iterator[Scene]:
        for start in range(0, trial.count, BATCH):
            yield from decompose(list(trial.images.images[start : min(start + BATCH, trial.count)]))

    ours = scenes(partial(model.decompose, background=False, pictures=False, **run.piece.decompose))
    published = scenes(model.decompose_published)
    report = evaluate(ours, trial.images, indices=range(trial.count), published=published).to_dict()
    prefixes = {"ours": "", "published": "published_"}
    return {rule: {name: report[f"{prefix}{name}"] for name in MEASURES} for rule, prefix in prefixes.items()}


def history_of(folder: Path) -> Result:
    """What a finished run tells of itself: minutes, minutes to the target, and the warnings of its last validation."""
    state = read_json(folder / "summary.json")["state"]
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    warnings = [line["warning"] for line in lines if "warning" in line and line["step"] == state["step"]]
    return {"minutes": state["seconds"] / 60, "minutes_to_target": minutes_to(TARGET, lines), "warnings": warnings}


def minutes_to(target: float, lines: Sequence[Mapping[str, Any]]) -> float | None:
    """When AP@0.5 on held-out images first reached a target, by the lines of metrics.jsonl; None: it did not."""
    times = {line["step"]: line["seconds"] for line in lines if "seconds" in line}
    step = next((line["step"] for line in lines if line.get("val_ap50", 0.0) >= target), None)
    if step is None or not times:
        return None
    return (
        float(np.interp(step, list(times), list(times.values()))) / 60
    )  # validations fall between lines that tell the time


def markdown(runs: Sequence[Run], missing: Sequence[Piece], trial: Trial) -> str:
    """The table of what is known so far, a row for each piece, and what must be said of it."""
    results = trial.results
    rows = dict[str, dict[int, Result | None]]()
    for run in runs:
        rows.setdefault(run.piece.name, {})[run.seed] = results.get(run.name)
    pieces = {run.piece.name: run.piece for run in runs}
    head = ["without", "what was changed", "seeds"]
    head += [text for rule in RULES.values() for text in (f"{rule}: AP@0.5 / AP / count error", "mean")]
    head += [f"AP / count error against whole, {rule}" for rule in RULES.values()]
    head += ["minutes", f"minutes to AP@0.5 {TARGET} on held-out images"]
    lines = [head, ["---"] * len(head), *(_cells(pieces[name], rows[name], rows[WHOLE]) for name in rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table}\n\n" + "".join(f"- {note}\n" for note in _notes(runs, missing, trial, results))


def _cells(piece: Piece, by_seed: Mapping[int, Result | None], whole: Mapping[int, Result | None]) -> list[str]:
    changes = ", ".join(f"`{change}`" for change in piece.changes)
    cells = [piece.name, f"{piece.about}{': ' if changes else ''}{changes}", ", ".join(map(str, by_seed))]
    good = {seed: result for seed, result in by_seed.items() if _measured(result)}
    for rule in RULES:
        means = [_mean([result[rule][name] for result in good.values()]) for name in MEASURES]
        cells += ["; ".join(_reached(result, rule) for result in by_seed.values()), _numbers(means)]
    for rule in RULES:
        pairs = [(result[rule], other[rule]) for seed, result in good.items() if _measured(other := whole.get(seed))]
        gaps = [[_gap(mine[name], theirs[name]) for mine, theirs in pairs] for name in MEASURES[1:]]
        cells.append("" if piece.name == WHOLE else _numbers([_mean(values) for values in gaps], "+.3f"))
    if piece.decompose:
        return [*cells, "as whole", "as whole"]
    for name in ("minutes", "minutes_to_target"):
        spent = [result[name] if _measured(result) else None for result in by_seed.values()]
        cells.append("; ".join(_number(value, ".1f") for value in spent))
    return cells


def _notes(runs: Sequence[Run], missing: Sequence[Piece], trial: Trial, results: Mapping[str, Result]) -> Iterator[str]:
    where = f"the first {trial.count} images of {trial.images.split} of {trial.images.root.name}"
    given = "".join(f" `{setting}`" for setting in trial.settings)
    yield f"Recipe {trial.recipe}{given and ' with'}{given}, one thread a run, measured on {where}."
    yield "Means are of the seeds that were measured; differences of those that whole was measured with, too."
    for run in runs:
        result = results.get(run.name)
        if result and result["failure"]:
            yield f"{run.piece.name}, seed {run.seed}, diverged: {result['failure']}"
        elif _measured(result) and result["warnings"] and not run.piece.decompose:
            yield f"{run.piece.name}, seed {run.seed}, ended with the warning: {', '.join(result['warnings'])}"
    for piece in missing:
        yield f"{piece.name} was skipped: this recipe does not have it, or taking it away changes nothing"


def _measured(result: Result | None) -> TypeGuard[Result]:
    return result is not None and result["failure"] is None


def _reached(result: Result | None, rule: str) -> str:
    """The numbers by a rule, or why there are none."""
    if result is None:
        return "not yet"
    return "diverged" if result["failure"] else _numbers([result[rule][name] for name in MEASURES])


def _gap(mine: float | None, theirs: float | None) -> float | None:
    return None if mine is None or theirs is None else mine - theirs


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean of the values that are defined."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _numbers(values: Sequence[float | None], shape: str = ".3f") -> str:
    return " / ".join(_number(value, shape) for value in values)


def _number(value: float | None, shape: str) -> str:
    return "-" if value is None else format(value, shape)


def ablate(runs: Sequence[Run], missing: Sequence[Piece], trial: Trial, say: Say) -> str:
    """Train and measure whatever is missing; gives the table, which is written after each run."""
    trial.refuse_changes(runs)
    for run in runs:
        result = settle(run, trial, say)
        say(f"{run.name}: {_reached(result, 'ours')}")
        table = markdown(runs, missing, trial)
        try:
            write_atomically(trial.out / "ablation.md", table.encode())
        except OSError as error:
            raise UserError(f"cannot write into {trial.out}: {error}; mend that: the same command goes on") from error
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the data set to train on; val of it is what runs are validated on")
    parser.add_argument("--out", type=Path, required=True, help="the directory to write; the same command continues it")
    parser.add_argument("--test", type=Path, help="the data set whose split test is measured; val of DATA by default")
    parser.add_argument("--recipe", default="space-rooms-small-fast", help="a recipe with phases")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1], metavar="N", help="0 and 1 by default")
    parser.add_argument(
        "--pieces", nargs="+", metavar="NAME", help="what is taken away, as in warm-start; all by default"
    )
    parser.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="change the recipe, for all runs"
    )
    parser.add_argument("--images", type=int, metavar="N", help="measure only the first so many")
    arguments = parser.parse_args()
    if arguments.images is not None and arguments.images < 1:
        parser.error(f"--images {arguments.images}: at least one image has to be measured")
    torch.set_num_threads(1)
    try:
        seeds = list(dict.fromkeys(arguments.seeds))
        runs, missing = plan(arguments.recipe, arguments.set, seeds, arguments.pieces, arguments.out)
        root, split = (arguments.test, "test") if arguments.test else (arguments.data, "val")
        images = Dataset(root, split, runs[0].recipe.model.image_size)
        if not images.object_count:
            raise UserError(f"{split} of {root} has no true object, so there is nothing to measure")
        count = min(arguments.images or len(images), len(images))
        trial = Trial(arguments.recipe, tuple(arguments.set), arguments.data, arguments.out, images, count)
        print(ablate(runs, missing, trial, partial(print, flush=True)))
    except UserError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        print("stopped; what is finished is kept, and the same command continues", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
