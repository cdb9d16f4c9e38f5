"""What an evaluation gives back: every number, and the flat table of them that goes into JSON.

None (null) means that a number is undefined or cannot be known; a NaN is never kept.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

Number = float | None
VARIANTS = ("published", "strict", "moving")


@dataclass(frozen=True)
class BoxMeasures:
    """One pairing of predicted and true boxes."""

    ap50: Number = None  # the paper's definition
    ap: Number = None
    coco_ap50: Number = None
    coco_ap: Number = None
    precision: Number = None
    recall: Number = None
    f1: Number = None
    f1_30: Number = None  # at an IoU of 0.3, for things of a few pixels
    recall_by_category: Mapping[str, float] | None = None


@dataclass(frozen=True)
class RuleMeasures:
    """Boxes and counts of the same images by another rule."""

    objects: int
    predicted: int
    boxes: BoxMeasures
    count_error: Number
    accuracy: Number
    overcount: int
    undercount: int

    def to_dict(self) -> dict[str, Any]:
        """The numbers by name, flat."""
        content = asdict(self)
        boxes: dict[str, Any] = content.pop("boxes")
        return boxes | content


@dataclass(frozen=True)
class Report:
    """How good scenes are; docs/evaluation.md defines every number."""

    images: int
    objects: int  # true ones
    predicted: int  # objects found
    seconds: float
    iou: float  # the threshold of precision, recall and F1
    visible: BoxMeasures = BoxMeasures()  # `box` against what can be seen
    projected: BoxMeasures = BoxMeasures()  # `where_box` against the whole object, as in the paper
    count_error: Number = None
    accuracy: Number = None
    overcount: int | None = None  # images
    undercount: int | None = None  # images
    empty_images: int | None = None  # images without a true object
    squared_error: Number = None  # of the pixels, summed over an image
    ari: Number = None
    fg_ari: Number = None
    miou: Number = None
    mbo: Number = None
    background_miou: Number = None
    mask_images: int = 0  # images whose masks were compared
    published: RuleMeasures | None = None  # every cell above one half, `where_box` against whole objects
    strict: RuleMeasures | None = None  # what lies on regions that count neither way counts as false
    moving: RuleMeasures | None = None  # without the categories that stand still
    still: Mapping[str, Sequence[str]] | None = None  # which those are, for each group
    groups: "Mapping[str, Report]" = field(default_factory=dict)  # of each game or the like, if there are several

    def to_dict(self) -> dict[str, Any]:
        """The numbers by name, flat and ready for JSON; those of the projected pairing begin with `projected_`.

        Those of a variant begin with its name, such as `published_`; one that was not measured is not there. Only
        `groups` is nested, such a table for each, and `group_means`, the mean of each number over the groups.
        """
        apart = ("visible", "projected", "groups", "still", *VARIANTS)
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in apart}
        content: dict[str, Any] = asdict(self.visible) | own | _prefixed("projected", asdict(self.projected))
        for name in VARIANTS:
            variant: RuleMeasures | None = getattr(self, name)
            content |= {} if variant is None else _prefixed(name, variant.to_dict())
        for key, value in content.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{key} is {value}: a measure is a number or None")
        if self.still is not None:
            content["still"] = {group: list(names) for group, names in self.still.items()}
        groups = {name: report.to_dict() for name, report in self.groups.items()}
        return content | {"groups": groups, "group_means": _means(list(groups.values()))}


def _prefixed(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{name}_{key}": value for key, value in content.items()}


def _means(tables: Sequence[Mapping[str, Any]]) -> dict[str, Number]:
    """The mean of each number over the tables in which it is defined."""
    known: dict[str, list[float]] = {}
    for table in tables:
        for key, value in table.items():
            if value is None or isinstance(value, int | float):
                known.setdefault(key, []).extend([] if value is None else [value])
    return {key: sum(values) / len(values) if values else None for key, values in known.items()}


def defined(value: float) -> Number:
    """A measure as reports keep it: the NaN by which the functions say "undefined" becomes None."""
    return None if math.isnan(value) else float(value)
