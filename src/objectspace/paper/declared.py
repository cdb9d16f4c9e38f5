"""What an item of the paper is made of: data sets, models, measurements, claims. Nothing is run here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from objectspace.data.source import Source
from objectspace.data.streams import Stream
from objectspace.paper.findings import Findings, Model
from objectspace.paper.verdicts import Verdict

Measure = Literal["models", "latency", "convergence", "samples", "pictures"]


@dataclass(frozen=True)
class DataSet:
    """Images that one of our generators makes; the same for all items that need them."""

    name: str
    command: str  # that makes the same, as a user would type it
    source: Callable[[], Source]
    streams: Callable[[], list[Stream]]


@dataclass(frozen=True)
class Claim:
    """What the paper says, in our words, and the rule by which measurements judge it."""

    says: str  # a sentence, true to the paper's
    where: str  # the paper says it
    asked: str  # what is looked at here, in words
    rule: Callable[[Findings], Verdict]


@dataclass(frozen=True)
class Column:
    """A measure as a table shows it."""

    key: str  # as `objectspace evaluate` names it
    title: str
    digits: int = 3


@dataclass(frozen=True)
class Item:
    """A table, a figure or a passage of the paper."""

    name: str
    title: str
    shows: str
    measures: tuple[Measure, ...]
    claims: tuple[Claim, ...]
    here: str  # how long it takes on two cores with the laptop recipes, in words
    there: str  # with the paper's own settings
    models: tuple[Model, ...] = ()
    seeds: int = 1
    columns: tuple[Column, ...] = ()
    paper: Mapping[tuple[str, str], str] = field(default_factory=dict)  # (model's key, measure's key): as printed there
    notes: tuple[str, ...] = ()  # what a reader must know to judge the numbers

    @property
    def data(self) -> tuple[str, ...]:
        """The names of the data sets it needs."""
        own = ("rooms-small",) if "convergence" in self.measures else ()
        return tuple(dict.fromkeys([*(model.data for model in self.models), *own]))
