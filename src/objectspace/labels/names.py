"""`labels.json`: what the clusters of a model's objects are called, and where they lie.

    {"format": 1, "model": ..., "weights": ..., "what_dim": D,
     "clusters": [{"name": "alien", "objects": 120, "centroid": [...]}, ...]}

Reads and writes the file; gives every object the name of the nearest centroid. Two clusters may share a name: then
they are one kind of thing. Latents mean something only to the weights they come from, so the file names them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from objectspace.errors import UserError
from objectspace.io.files import read_foreign_json, write_atomically
from objectspace.labels.clusters import Points, nearest
from objectspace.scene import Scene

FORMAT = 1
LARGEST = 50_000_000  # bytes


@dataclass(frozen=True, eq=False)
class Labels:
    """The clusters of one model's objects."""

    model: str  # what it was called
    weights: str  # which it is: a fingerprint
    centroids: NDArray[np.float64]  # (K, D)
    names: tuple[str, ...]  # K
    objects: tuple[int, ...]  # K: how many there were

    def __post_init__(self) -> None:
        if self.centroids.ndim != 2 or not 0 < len(self.centroids) == len(self.names) == len(self.objects):
            raise ValueError("every cluster needs a centroid, a name and a number of objects, and there must be one")
        if not np.isfinite(self.centroids).all() or not all(name.strip() for name in self.names):
            raise ValueError("centroids must be finite, and names not empty")

    @property
    def what_dim(self) -> int:
        return int(self.centroids.shape[1])

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names, each once, in the order of the clusters."""
        return tuple(dict.fromkeys(self.names))

    def cluster(self, what: Points) -> NDArray[np.int64]:
        """The number of the cluster of each latent (n, D): (n,)."""
        if len(what) and what.shape[1] != self.what_dim:
            raise UserError(
                f"these labels are for latents of {self.what_dim} numbers, but objects have {what.shape[1]}"
            )
        return nearest(what, self.centroids) if len(what) else np.zeros(0, np.int64)

    def apply(self, scene: Scene) -> Scene:
        """The scene with a label for each object."""
        if not scene.objects:
            return scene
        what = np.stack([np.zeros(0, np.float32) if item.what is None else item.what for item in scene.objects])
        pairs = zip(scene.objects, self.cluster(what), strict=True)
        return replace(scene, objects=tuple(item.changed(label=self.names[number]) for item, number in pairs))

    def check_made_with(self, model: str, weights: str) -> None:
        """Latents of other weights mean something else, even where they are as long."""
        if weights != self.weights:
            raise UserError(
                f"the labels were made with {self.model} (weights {self.weights}, latents of {self.what_dim} numbers),"
                f" and {model} has other weights ({weights}): run  objectspace label  with it"
            )

    def to_dict(self) -> dict[str, Any]:
        rows = zip(self.names, self.objects, self.centroids, strict=True)
        clusters = [
            {"name": name, "objects": count, "centroid": [round(float(value), 6) for value in centroid]}
            for name, count, centroid in rows
        ]
        head = {"format": FORMAT, "model": self.model, "weights": self.weights, "what_dim": self.what_dim}
        return head | {"clusters": clusters}

    @property
    def fingerprint(self) -> str:
        """The same for labels that say the same."""
        return blake2b(json.dumps(self.to_dict()).encode(), digest_size=6).hexdigest()

    def write(self, path: Path) -> None:
        write_atomically(path, (json.dumps(self.to_dict(), indent=1) + "\n").encode())


def default_names(count: int) -> tuple[str, ...]:
    """cluster-00, cluster-01, ..."""
    return tuple(f"cluster-{number:02d}" for number in range(count))


def read_labels(path: Path) -> Labels:
    """The labels in a file; anything wrong with it is a `UserError`."""
    try:
        content = read_foreign_json(path, LARGEST)
    except OSError as error:
        raise UserError(f"cannot read the labels {path}: {error.strerror}") from error
    try:
        if content["format"] != FORMAT:
            raise UserError(f"{path} has format {content['format']}; this version of objectspace reads {FORMAT}")
        return _from_dict(content, content["clusters"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is no labels.json that  objectspace label  wrote: {error!r}") from error


def _from_dict(content: dict[str, Any], clusters: Sequence[dict[str, Any]]) -> Labels:
    labels = Labels(
        str(content["model"]),
        str(content["weights"]),
        np.array([[float(value) for value in item["centroid"]] for item in clusters], np.float64),
        tuple(str(item["name"]).strip() for item in clusters),
        tuple(int(item["objects"]) for item in clusters),
    )
    if labels.what_dim != content["what_dim"]:
        raise ValueError(f"what_dim is {content['what_dim']}, but centroids have {labels.what_dim} numbers")
    return labels
