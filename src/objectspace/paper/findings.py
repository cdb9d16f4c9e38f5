"""What has been measured: one JSON file a measurement, each with where its numbers come from.

    DIR/measurements/<name>.json

`Findings` is all of them, asked by model and measure; what it answers remembers what a reader must be told.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from pydantic import TypeAdapter, ValidationError

from objectspace.errors import UserError
from objectspace.io.files import read_json, write_json
from objectspace.io.keys import by_new_names

FINISHED = "finished"


@dataclass(frozen=True)
class Model:
    """A model on a data set: which recipe trains it here, and which one in the paper's way."""

    kind: str  # as the paper calls it
    data: str
    recipe: str  # for a laptop
    tag: str = ""  # tells apart models of one recipe with different `changes`
    changes: tuple[str, ...] = ()  # of the recipe, like phases.size=0.1
    paper_changes: tuple[str, ...] = ()  # of the paper's recipe

    @property
    def key(self) -> str:
        """What findings and claims call it."""
        return f"{self.kind} on {self.data}" + (f" {self.tag}" if self.tag else "")

    def recipe_name(self, full: bool) -> str:
        """The recipe's name, or a .toml file: the paper's is called as the laptop's, without `-fast`."""
        return self.recipe.removesuffix("-fast") if full else self.recipe

    def run_name(self, seed: int, full: bool) -> str:
        """Of its run directory."""
        tag = f"-{self.tag.replace(' ', '-')}" if self.tag else ""
        return f"{Path(self.recipe_name(full)).name.removesuffix('.toml')}{tag}-seed{seed}"


@dataclass(frozen=True)
class Finding:
    """One measurement."""

    name: str
    what: str  # models, latency, convergence, samples
    model: str = ""  # a model's key
    recipe: str = ""
    seed: int | None = None
    data: str = ""  # the command that makes it, or where it came from
    measured_on: str = ""
    ended: str = FINISHED  # how the training ended
    failure: str | None = None
    steps: int | None = None
    planned: int | None = None
    minutes: float | None = None  # of training
    command: str = ""
    machine: str = ""
    date: str = ""
    seconds: float | None = None  # that the measurement took
    of: str = ""  # fingerprint of the weights
    remarks: tuple[str, ...] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cut(self) -> str | None:
        """What to say of a training that did not reach its end."""
        if self.what != "models" or self.ended == FINISHED:
            return None
        return f"{self.model} seed {self.seed} was cut off at step {self.steps} of {self.planned}"


@dataclass(frozen=True)
class Number:
    """A measure of a model, over its seeds."""

    value: float
    deviation: float | None  # of a sample; None for one seed
    seeds: int
    cut: bool = False  # of trainings that were cut off: nothing to judge by
    caveats: tuple[str, ...] = ()


class Findings:
    """All that has been measured."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.all = tuple(sorted(findings, key=lambda each: each.name))

    def of(self, model: str, what: str = "models") -> list[Finding]:
        """What is known about a model, failed runs too."""
        return [each for each in self.all if each.model == model and each.what == what]

    def one(self, what: str) -> Finding | None:
        """A measurement of which there is one, such as the latency; the newest."""
        return max((each for each in self.all if each.what == what), key=lambda each: each.date, default=None)

    def number(self, model: str, key: str, what: str = "models") -> Number | None:
        """The mean of a measure over a model's seeds; `key` may look into tables, as in groups/Atlantis/f1.

        Runs that failed do not count; seeds without the measure do not either, and trainings that were cut off only
        where there is no other. None where nothing is left.
        """
        good = [each for each in self.of(model, what) if each.failure is None]
        whole = [each for each in good if each.cut is None]
        found = [_inside(each.numbers, key) for each in whole or good]
        values = [float(value) for value in found if isinstance(value, int | float)]
        if not values:
            return None
        caveats = [each.cut for each in good if each.cut]
        caveats += [f"{each.model} seed {each.seed} failed: {each.failure}" for each in self.failed(model, what)]
        return Number(mean(values), stdev(values) if len(values) > 1 else None, len(values), not whole, tuple(caveats))

    def failed(self, model: str, what: str = "models") -> list[Finding]:
        """The runs of a model that went wrong."""
        return [each for each in self.of(model, what) if each.failure is not None]


def _inside(numbers: Mapping[str, Any], key: str) -> Any:
    found: Any = numbers
    for part in key.split("/"):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def read_finding(path: Path) -> Finding:
    """A measurement from its file."""
    content = read_json(path)
    content["numbers"] = by_new_names(content.get("numbers", {}))
    try:
        return TypeAdapter(Finding).validate_python(content)
    except ValidationError as error:
        wrong = error.errors()[0]
        where = ".".join(str(part) for part in wrong["loc"])
        raise UserError(f"{path} is no measurement: {where}: {wrong['msg']}") from error


def read_findings(folder: Path) -> Findings:
    """All measurements in a folder; none where there is no such folder."""
    return Findings(read_finding(path) for path in sorted(folder.glob("*.json")))


def write_finding(folder: Path, finding: Finding) -> None:
    """Keep a measurement."""
    try:
        write_json(folder / f"{finding.name}.json", asdict(finding))
    except OSError as error:
        raise UserError(f"cannot keep {finding.name} in {folder}: {error}; the same command continues") from error
