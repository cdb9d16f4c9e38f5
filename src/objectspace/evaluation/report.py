"""What an evaluation gives back: every number, and the flat table of them that goes into JSON.

None (null) means that a number is undefined or cannot be known; a NaN is never kept.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

Number = float | None


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
    mse: Number = None
    ari: Number = None
    fg_ari: Number = None
    miou: Number = None
    mbo: Number = None
    background_miou: Number = None
    mask_images: int = 0  # images whose masks were compared
    groups: "Mapping[str, Report]" = field(default_factory=dict)  # of each game or the like, if there are several

    def to_dict(self) -> dict[str, Any]:
        """The numbers by name, flat and ready for JSON; those of the projected pairing begin with `projected_`.

        Only `groups` is nested: such a table for each.
        """
        own = {key: value for key, value in asdict(self).items() if key not in ("visible", "projected", "groups")}
        projected = {f"projected_{key}": value for key, value in asdict(self.projected).items()}
        content: dict[str, Any] = asdict(self.visible) | own | projected
        for key, value in content.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{key} is {value}: a measure is a number or None")
        return content | {"groups": {name: report.to_dict() for name, report in self.groups.items()}}


def defined(value: float) -> Number:
    """A measure as reports keep it: the NaN by which the functions say "undefined" becomes None."""
    return None if math.isnan(value) else float(value)
