"""The objects of a heap of images in groups that look alike, as a directory of results.

    annotations.json     COCO: every object, its group as its category
    labels.json          the groups: their names and where they lie, for `objectspace decompose --labels`
    labels.html          a page to name them on
    frames/*.png         the images of animations and videos, which have no file of their own
    .journal.sqlite      what is taken apart: another number of groups needs no second pass

Only the latents of up to `FIT` objects, drawn by the seed, are held in memory; the rest is read again and again.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from objectspace import __version__
from objectspace.errors import UserError
from objectspace.geometry.boxes import Box
from objectspace.labels.clusters import are_middles, choose, kmeans
from objectspace.labels.names import Labels, default_names, read_labels
from objectspace.labels.purity import categories_in, true_categories
from objectspace.models.base import SceneModel
from objectspace.reports.labels import Group, write_labels_page
from objectspace.results.batch import Frame
from objectspace.results.coco import write_coco
from objectspace.results.directory import ResultsDirectory
from objectspace.results.journal import Journal
from objectspace.results.options import DecomposeOptions
from objectspace.results.record import Record
from objectspace.scene import Picture, Scene

FIT = 20_000  # latents that the groups are made of; more do not move them
MEMBERS = 12  # pictures of each group on the page
_ROUNDED = 1e-4  # centroids this near are the same: files hold six digits
Member = tuple[float, int, int]  # minus the distance, minus the number of the image, which object it is there
Truths = Mapping[str, tuple[NDArray[np.float64], list[str]]]  # file -> boxes (m, 4) and m categories


@dataclass
class Grouping:
    """What came out."""

    labels: Labels
    assigned: list[int] = field(default_factory=list)  # the groups of the objects that are a true one ...
    truths: list[str] = field(default_factory=list)  # ... and its category

    @property
    def has_categories(self) -> bool:
        """Whether there is something to compare the groups with."""
        return len(set(self.truths)) > 1

    def truly(self) -> list[str]:
        """What most objects of each group are, as text; nothing where that is not known."""
        found = categories_in(self.assigned, self.truths) if self.has_categories else {}
        groups = [found.get(number, Counter()).most_common(3) for number in range(len(self.labels.names))]
        return [", ".join(f"{name} {times}" for name, times in group) for group in groups]


class Labelling(ResultsDirectory):
    """The directory `out`; `clusters` is the number of groups, None the one that separates the objects best.

    `truths` are the true objects of the images, where they are known.
    """

    results: ClassVar[tuple[str, ...]] = ("annotations.json", "labels.json", "labels.html", "frames")

    def __init__(
        self,
        out: Path,
        model: SceneModel,
        name: str,
        options: DecomposeOptions,
        clusters: int | None = None,
        seed: int = 0,
        truths: Truths | None = None,
    ) -> None:
        super().__init__(out, model, name, options)
        self.clusters, self.seed, self.truths = clusters, seed, truths or {}
        self.grouping: Grouping | None = None

    def settings(self) -> dict[str, Any]:
        return {"command": "label", "weights of --model": self.weights, "--threshold": self.options.threshold}

    def write(self, name: str, frame: Frame, scene: Scene) -> None:
        if any(item.what is None or not len(item.what) for item in scene.found):  # known at once, not after all images
            raise UserError(
                f"{self.name} does not say what objects look like, so there is nothing to group them by: take a model "
                "of cells, such as space or spair"
            )
        self.write_frame(name, frame)

    def assemble(self, journal: Journal, say: Callable[[str], None]) -> None:
        what = self._latents(journal)
        centroids = self._centroids(what)
        defaults = default_names(len(centroids))
        plain = Labels(self.name, self.weights, centroids, defaults, (0,) * len(centroids))
        grouping, nearest = self._count_and_rank(journal, plain)
        path = self.out / "labels.json"
        grouping.labels = labels = _with_names_of(path, grouping.labels)
        info = {"description": "objects grouped by objectspace", "version": __version__, "model": self.name}
        write_coco(
            self.out / "annotations.json",
            _Labelled(journal, labels),
            info | {"threshold": self.options.threshold},
            labels.kinds,
            scenes=False,
        )
        labels.write(path)
        pictures = self._pictures(journal, nearest, say)
        rows = zip(defaults, labels.names, labels.objects, pictures, grouping.truly(), strict=True)
        title = f"{sum(labels.objects)} objects in {len(defaults)} groups"
        write_labels_page(self.out / "labels.html", title, [Group(*row) for row in rows], labels.to_dict())
        self.grouping = grouping

    def _centroids(self, what: NDArray[np.float32]) -> NDArray[np.float64]:
        """The middles of the groups (K, D).

        Those that somebody gave names to stay as long as k-means would leave them, whichever version has found them.
        """
        path = self.out / "labels.json"
        if path.exists():
            before = read_labels(path)
            named = before.names != default_names(len(before.names)) and before.weights == self.weights
            wanted = self.clusters in (None, len(before.names)) and before.centroids.shape[1] == what.shape[1]
            if named and wanted and are_middles(what, before.centroids, _ROUNDED):
                return before.centroids
        return choose(what, seed=self.seed) if self.clusters is None else kmeans(what, self.clusters, self.seed)

    def _latents(self, journal: Journal) -> NDArray[np.float32]:
        """The latents (n, D) of the objects, or of `FIT` of them."""
        images, total = journal.totals
        if not total:
            raise UserError(f"no object was found in {images} images: lower --threshold, or take another model")
        chosen = np.arange(total)
        if total > FIT:
            chosen = np.sort(np.random.default_rng(self.seed).choice(total, FIT, replace=False))
        parts, before = [], 0
        for record in journal:
            mine = chosen[np.searchsorted(chosen, before) : np.searchsorted(chosen, before + len(record.objects))]
            if len(mine):
                parts.append(record.what[mine - before])
            before += len(record.objects)
        return np.concatenate(parts)

    def _count_and_rank(self, journal: Journal, labels: Labels) -> tuple[Grouping, list[list[Member]]]:
        """Count every group's objects, note their true categories, and find those nearest to its middle."""
        grouping = Grouping(labels)
        counts = [0] * len(labels.names)
        nearest: list[list[Member]] = [[] for _ in counts]
        for record in journal:
            numbers = labels.cluster(record.what)
            for index, number in enumerate(numbers.tolist()):
                counts[number] += 1
                apart = float(np.linalg.norm(record.what[index] - labels.centroids[number]))
                heapq.heappush(nearest[number], (-apart, -record.number, index))
                if len(nearest[number]) > MEMBERS:
                    heapq.heappop(nearest[number])
            if record.key in self.truths and record.objects:
                boxes = np.array([item.box for item in record.objects])
                found = true_categories(boxes, *self.truths[record.key])
                known = [(number, truth) for number, truth in zip(numbers.tolist(), found, strict=True) if truth]
                grouping.assigned += [number for number, _ in known]
                grouping.truths += [truth for _, truth in known]
        grouping.labels = replace(labels, objects=tuple(counts))
        return grouping, [sorted(group, reverse=True) for group in nearest]

    def _pictures(
        self, journal: Journal, nearest: list[list[Member]], say: Callable[[str], None]
    ) -> list[list[Picture]]:
        """The members of every group as pictures, the nearest first; every image is read once."""
        wanted = {-image for group in nearest for _, image, _ in group}
        cut: dict[tuple[int, int], Picture] = {}
        for record in journal:
            image = self.image_of(record, say, "labels.html") if record.number in wanted else None
            if image is not None:
                for index in {index for group in nearest for _, number, index in group if -number == record.number}:
                    cut[-record.number, index] = _crop(image, record.objects[index].box)
        return [[cut[place[1:]] for place in group if place[1:] in cut] for group in nearest]


class _Labelled:
    """The records of a journal with labels; may be walked as often as needed."""

    def __init__(self, journal: Journal, labels: Labels) -> None:
        self.journal, self.labels = journal, labels

    def __iter__(self) -> Iterator[Record]:
        for record in self.journal:
            pairs = zip(record.objects, self.labels.cluster(record.what), strict=True)
            yield replace(record, objects=tuple(replace(item, label=self.labels.names[k]) for item, k in pairs))


def _with_names_of(path: Path, labels: Labels) -> Labels:
    """The labels with the names that a file holds for the same groups; names for others are not thrown away."""
    if not path.exists():
        return labels
    before = read_labels(path)
    same = before.centroids.shape == labels.centroids.shape and before.weights == labels.weights
    if same and np.abs(before.centroids - labels.centroids).max() < _ROUNDED:
        return replace(labels, names=before.names)
    if before.names != default_names(len(before.names)):
        raise UserError(f"{path} holds names for other groups: move it away, or give another --out")
    return labels


def _crop(image: Picture, box: Box) -> Picture:
    """An object with a little of what is around it."""
    margin = max(2.0, 0.15 * max(box[2] - box[0], box[3] - box[1]))
    (height, width), (x0, y0, x1, y1) = image.shape[:2], box
    rows = slice(int(min(max(0, y0 - margin), height - 1)), max(1, int(np.ceil(y1 + margin))))
    columns = slice(int(min(max(0, x0 - margin), width - 1)), max(1, int(np.ceil(x1 + margin))))
    return np.ascontiguousarray(image[rows, columns])
