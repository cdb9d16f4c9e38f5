"""How well groups fit known categories.

Reads which group each object is in, and which category it truly belongs to; gives the purity: the share of objects that
belong to the commonest category of their group. It grows with the number of groups, so say that number beside it.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from objectspace.geometry.boxes import Floats, iou


def purity(assignments: Sequence[Hashable], truths: Sequence[Hashable]) -> float:
    """The share of objects whose category is their group's commonest; NaN where there are none."""
    if len(assignments) != len(truths):
        raise ValueError(f"{len(assignments)} objects in groups, but {len(truths)} with a category")
    groups = categories_in(assignments, truths)
    common = sum(counts.most_common(1)[0][1] for counts in groups.values())
    return common / len(truths) if len(truths) else float("nan")


def categories_in(assignments: Sequence[Hashable], truths: Sequence[Hashable]) -> dict[Hashable, Counter[Hashable]]:
    """How often each category occurs in each group."""
    groups: dict[Hashable, Counter[Hashable]] = defaultdict(Counter)
    for group, truth in zip(assignments, truths, strict=True):
        groups[group][truth] += 1
    return dict(groups)


def true_categories(
    boxes: Floats, true_boxes: Floats, categories: Sequence[str], least: float = 0.5
) -> list[str | None]:
    """The category of the true box that each box (n, 4) is; None where none of them (m, 4) overlaps it enough.

    A true box counts for one object only: the pair with the largest IoU comes first.
    """
    overlaps = iou(boxes, true_boxes)  # (n, m)
    found: list[str | None] = [None] * len(overlaps)
    order: NDArray[np.int64] = np.argsort(-overlaps, axis=None, kind="stable")
    taken: set[int] = set()
    for place in order:
        box, truth = divmod(int(place), overlaps.shape[1])
        if overlaps[box, truth] < least:
            break
        if found[box] is None and truth not in taken:
            found[box] = categories[truth]
            taken.add(truth)
    return found
