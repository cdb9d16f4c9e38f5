"""What a model saw in training: how many objects an image has, and how they look. Samples can be drawn like that.

The prior's own numbers of objects are tiny, since in training it is a price; and of all `what`s that the prior allows
only some are objects. So the statistics of the training images are kept beside the weights, in config.json.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from objectspace.errors import UserError
from objectspace.ops.gaussian_mixture import GaussianMixture, fit
from objectspace.scene import Scene

COMPONENTS = 8  # of the mixture, at most
EACH = 20  # objects that a component needs, to say anything of its spread
DIGITS = 6  # that the numbers are kept with
Appearance = Literal["prior", "seen"]


@dataclass(frozen=True)
class Seen:
    """Statistics of training images, as the model took them apart."""

    counts: tuple[float, ...]  # the share of images with 0, 1, 2, ... objects
    weights: tuple[float, ...]  # of the components of the objects' `what`s
    means: tuple[tuple[float, ...], ...]
    variances: tuple[tuple[float, ...], ...]

    def draw_count(self, generator: torch.Generator | None = None) -> int:
        """A number of objects, as often as it was seen."""
        return int(torch.multinomial(torch.tensor(self.counts, dtype=torch.float64), 1, generator=generator))

    def draw_what(self, count: int, generator: torch.Generator | None = None) -> Tensor:
        """Appearances (count, D) like those that were seen."""
        tables = (torch.tensor(table, dtype=torch.float64) for table in (self.weights, self.means, self.variances))
        return GaussianMixture(*tables).draw(count, generator).float()

    def to_json(self) -> dict[str, Any]:
        """For config.json."""
        return {name: _rounded(getattr(self, name)) for name in ("counts", "weights", "means", "variances")}


def learn(scenes: Sequence[Scene], seed: int = 0) -> Seen | None:
    """The statistics of scenes; None if no object was found in them. What was not understood has no looks."""
    counts = np.bincount([len(scene.objects) for scene in scenes])
    whats = [item.what for scene in scenes for item in scene.objects if item.what is not None and item.understood]
    if not whats:
        return None
    mixture = fit(torch.from_numpy(np.stack(whats)), min(COMPONENTS, max(1, len(whats) // EACH)), seed)
    return Seen(
        tuple((counts / counts.sum()).tolist()),
        tuple(mixture.weights.tolist()),
        tuple(map(tuple, mixture.means.tolist())),
        tuple(map(tuple, mixture.variances.tolist())),
    )


def from_json(content: Any, what_dim: int, where: str) -> Seen:
    """Read back what `to_json` gave; `where` says in errors which file."""
    try:
        seen = TypeAdapter(Seen).validate_python(content)
    except ValidationError as error:
        raise UserError(
            f"{where}: what it says of the training images is damaged: {error.errors()[0]['msg']}"
        ) from error
    rows = (*seen.means, *seen.variances)
    fits = len(seen.means) == len(seen.variances) == len(seen.weights) > 0 and all(len(row) == what_dim for row in rows)
    shares = (*seen.counts, *seen.weights)
    good = all(np.isfinite(value) and value >= 0 for value in shares) and sum(seen.counts) > 0 and sum(seen.weights) > 0
    if not fits or not good or not all(value > 0 for row in seen.variances for value in row):
        raise UserError(f"{where}: what it says of the training images does not fit the model")
    return seen


def _rounded(value: Any) -> Any:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else [_rounded(each) for each in value]
