"""What makes the samples of a data set: a generator of our own, or a converter of somebody's files."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from objectspace.data.sample import Problem, Sample
from objectspace.io.files import Json


class Source(Protocol):
    """What can be driven into a data set. Instances travel to worker processes, so they must be picklable."""

    @property
    def generator(self) -> str:
        """Its name in dataset.json."""

    @property
    def version(self) -> int:
        """Raised whenever the same settings would give other pixels."""

    @property
    def licence(self) -> str:
        """What may be done with the images."""

    @property
    def distinct(self) -> bool:
        """Whether an image that occurred before, in any split, is dropped."""

    def settings(self) -> Json:
        """All that the pixels depend on, seed included."""

    def make(self, split: str, group: str, unit: int) -> Sequence[Sample | Problem] | None:
        """One unit; the same arguments give the same samples. None: the source ended before this unit."""

    def summary(self, records: Iterable[Json]) -> Json:
        """Statistics over all records of the finished data set, kept in dataset.json."""
