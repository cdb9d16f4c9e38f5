"""How good masks are: ARI, mIoU, mBO and the parts of the background.

An image is divided twice, by the truth and by a scene, each time completely: objects, parts of the background, and one
last segment for the pixels that are in neither. How many pixels the segments share is one small table, and all
measures are read off it. Shapes: H W image, T true segments, P predicted ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from objectspace.geometry.rle import Mask
from objectspace.scene import Scene

Table = NDArray[np.int64]  # (T, P) pixels in common
UNDEFINED = float("nan")


@dataclass(frozen=True)
class Partition:
    """Every pixel's segment: objects come first, then the parts of the background, then the rest."""

    labels: NDArray[np.int64]  # (H, W)
    objects: int
    parts: int

    @property
    def count(self) -> int:
        return self.objects + self.parts + 1


@dataclass(frozen=True)
class MaskScores:
    """The measures of one image; NaN where it has nothing to measure."""

    ari: float  # all pixels
    fg_ari: float  # pixels of true objects only
    miou: float  # mean over true segments of the IoU with the predicted one paired with it
    mbo: float  # mean over true objects of the IoU with the predicted segment that fits it best
    background_miou: float  # mean over the truth's parts of the background


def partition(objects: Sequence[Mask], parts: Sequence[Mask], size: tuple[int, int]) -> Partition:
    """Divide an image by masks (H, W); a pixel in several belongs to the first of them."""
    masks = [*objects, *parts]
    labels = np.full(size, len(masks), np.int64)
    for number in reversed(range(len(masks))):
        if masks[number].shape != size:
            raise ValueError(f"a mask of {masks[number].shape} does not fit an image of {size}")
        labels[masks[number]] = number
    return Partition(labels, len(objects), len(parts))


def partition_of(scene: Scene) -> Partition | None:
    """How a scene divides its image: its objects, the best-scored first, and its components.

    None if an object has no mask.
    """
    ordered = sorted(scene.objects, key=lambda item: -item.score)
    masks = [item.mask for item in ordered if item.mask is not None]
    if len(masks) < len(ordered):
        return None
    return partition(masks, [component.mask for component in scene.components], (scene.height, scene.width))


def compare(truth: Partition, predicted: Partition) -> MaskScores:
    """All measures of one image."""
    if truth.labels.shape != predicted.labels.shape:
        raise ValueError(f"an image of {truth.labels.shape} cannot be compared with one of {predicted.labels.shape}")
    table = common_pixels(truth, predicted)
    objects, overlaps, there = table[: truth.objects], _ious(table), table.any(1)
    best = overlaps[: truth.objects].max(1)[there[: truth.objects]]
    return MaskScores(
        ari=adjusted_rand(table),
        fg_ari=adjusted_rand(objects),
        miou=_paired(overlaps[there]),
        mbo=float(best.mean()) if len(best) else UNDEFINED,
        background_miou=_background_miou(table[truth.objects :], truth.parts, predicted.objects),
    )


def common_pixels(truth: Partition, predicted: Partition) -> Table:
    """How many pixels every true segment shares with every predicted one: (T, P)."""
    both = truth.labels * predicted.count + predicted.labels
    return np.bincount(both.ravel(), minlength=truth.count * predicted.count).reshape(truth.count, predicted.count)


def ari(truth: ArrayLike, predicted: ArrayLike) -> float:
    """The adjusted Rand index of two labellings of the same pixels, by any integers."""
    _, first = np.unique(np.asarray(truth), return_inverse=True)
    _, second = np.unique(np.asarray(predicted), return_inverse=True)
    if first.size != second.size:
        raise ValueError(f"{first.size} true labels cannot be compared with {second.size} predicted ones")
    table = np.zeros((first.max(initial=-1) + 1, second.max(initial=-1) + 1), np.int64)
    np.add.at(table, (first.ravel(), second.ravel()), 1)
    return adjusted_rand(table)


def adjusted_rand(table: Table) -> float:
    """The adjusted Rand index of a table of common pixels (T, P).

    1 where both divisions are the same, a single segment included; 0 where one of them is a single segment and the
    other is not; undefined without pixels.
    """
    pixels = int(table.sum())
    if pixels == 0:
        return UNDEFINED
    # Pairs of pixels, in exact integers: together in both, in the prediction only, in the truth only, in neither.
    same = int(np.square(table).sum())
    only_predicted = int(np.square(table.sum(0)).sum()) - same
    only_true = int(np.square(table.sum(1)).sum()) - same
    neither = pixels**2 - only_predicted - only_true - same
    both = same - pixels
    if only_predicted == only_true == 0:
        return 1.0
    above = 2 * (both * neither - only_true * only_predicted)
    below = (both + only_true) * (only_true + neither) + (both + only_predicted) * (only_predicted + neither)
    return above / below


def _ious(table: Table) -> NDArray[np.float64]:
    union = table.sum(1, keepdims=True) + table.sum(0, keepdims=True) - table
    return np.asarray(table / np.maximum(union, 1), np.float64)  # two segments without pixels have none in common


def _paired(overlaps: NDArray[np.float64]) -> float:
    """Pair true and predicted segments one to one for the largest sum of IoUs; a true one left over counts as 0."""
    return float(overlaps[linear_sum_assignment(overlaps, maximize=True)].sum() / len(overlaps))


def _background_miou(table: Table, parts: int, objects: int) -> float:
    """Mean IoU of the parts of the background with the components that lie mostly in them.

    `table` holds the pixels that are not in a true object; its first `parts` rows are the parts of the background, and
    its first `objects` columns predicted objects, which belong to no part.
    """
    seen = np.flatnonzero(table[:parts].any(1))
    if not len(seen):
        return UNDEFINED
    components = table[:, objects:]
    inside = components[seen]  # (parts seen, components)
    owner = np.where(inside.any(0), inside.argmax(0), -1)
    overlaps = []
    for number, part in enumerate(seen):
        mine = owner == number
        common = inside[number, mine].sum()
        overlaps.append(common / (table[part].sum() + components[:, mine].sum() - common))
    return float(np.mean(overlaps))
