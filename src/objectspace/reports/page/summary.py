"""The top of the page: what was looked at, the numbers, and how many objects of what size there are.

Reads the boxes of one image after another, and keeps only counts of them; gives HTML.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from objectspace.reports.page.histogram import histogram
from objectspace.reports.page.markup import number
from objectspace.reports.page.shell import render

RULES = {  # the beginning of a key: heading, meaning
    "": ("visible", "boxes around what can be seen"),
    "projected_": ("projected", "around whole objects, hidden parts included"),
    "published_": ("published", "as the published evaluation counts: every cell above 0.5, none left out"),
    "strict_": ("strict", "what is found on regions that count neither way is false"),
    "moving_": ("moving", "without the categories that stand still"),
}

# key -> what people call it, what it means
MEASURES = {
    "ap50": (
        "AP at IoU 0.5",
        "Average precision of the boxes by the paper's 11 points: at most 10/11 = 0.909 without perfect recall.",
    ),
    "ap": ("AP, IoU 0.5 to 0.95", "The same, averaged over ten IoU thresholds; the same bound of 0.909 holds."),
    "coco_ap50": ("COCO AP at IoU 0.5", "Average precision of the boxes by the COCO definition; 1 is perfect."),
    "coco_ap": ("COCO AP, IoU 0.5 to 0.95", "The same, averaged over ten IoU thresholds."),
    "precision": ("precision", "Share of the found boxes that match a true one; 1 is perfect."),
    "recall": ("recall", "Share of the true boxes that were found; 1 is perfect."),
    "f1": ("F1", "Harmonic mean of precision and recall; 1 is perfect."),
    "f1_30": ("F1 at IoU 0.3", "The same, where boxes need to overlap less: for things of a few pixels."),
    "count_error": ("count error", "Mean of |found − true| / true objects an image; 0 is perfect."),
    "accuracy": ("count accuracy", "Share of the images with exactly the right number of objects; 1 is perfect."),
    "overcount": ("overcount", "Images in which too many objects were found; 0 is perfect."),
    "undercount": ("undercount", "Images in which too few objects were found; 0 is perfect."),
    "fg_ari": ("foreground ARI", "Agreement of the segmentation with the true objects, on their pixels; 1 is perfect."),
    "ari": ("ARI", "Agreement of the segmentation with the truth on all pixels; 1 is perfect, 0 is chance."),
    "miou": ("mIoU", "Mean overlap of true masks with the found masks matched to them; 1 is perfect."),
    "mbo": ("mBO", "Mean overlap of true masks with the best found mask for each; 1 is perfect."),
    "background_miou": (
        "background mIoU",
        "Mean overlap of the background's true parts with components; 1 is best.",
    ),
    "squared_error": (
        "squared error",
        "Of a reconstruction, summed over pixels and colours (0 to 1); 0 is perfect.",
    ),
    "images": ("images", "Images that were measured."),
    "mask_images": ("images with masks", "Images whose segmentation was measured."),
    "empty_images": ("empty images", "Images without a true object: they count in all but the count error."),
    "objects": ("true objects", "Objects in these images."),
    "predicted": ("found objects", "Objects that were found in them."),
    "iou": ("IoU threshold", "How much a found box must overlap a true one, for precision, recall and F1."),
    "seconds": ("seconds", "How long it took."),
}
WHOLE = {"overcount", "undercount", "images", "mask_images", "empty_images", "objects", "predicted", "seconds"}


class Tally:
    """Counts over all images; its size does not grow with their number."""

    def __init__(self) -> None:
        self.images = self.objects = self.most = self.shown = 0
        self.counts: Counter[int] = Counter()  # objects in an image -> images
        self.sizes: Counter[int] = Counter()  # side of an object in pixels -> objects
        self.true_counts: Counter[int] = Counter()
        self.true_sizes: Counter[int] = Counter()

    def add(self, found: NDArray[np.float64], truth: NDArray[np.float64] | None, shown: bool = True) -> None:
        """Count an image by the boxes (n, 4) that were found in it and, where they are known, the true ones (m, 4)."""
        self.images += 1
        self.objects += len(found)
        self.shown += shown
        self.most = max(self.most, len(found) if shown else 0)
        self.counts[len(found)] += 1
        self.sizes.update(_sides(found))
        if truth is not None:
            self.true_counts[len(truth)] += 1
            self.true_sizes.update(_sides(truth))


def summary(tally: Tally, model: str, metrics: Mapping[str, float | None]) -> Markup:
    """The summary as HTML, without its heading."""
    average = number(tally.objects / tally.images, 1) if tally.images else "–"
    images = str(tally.images) + (f", {tally.shown} shown" if tally.shown < tally.images else "")
    about = {"model": model, "images": images, "objects": tally.objects, "objects an image": average}
    # Where something was measured by several rules, their values stand beside one another.
    rules = [rule for rule in RULES if not rule or any(key.startswith(rule) for key in metrics)]
    several = len(rules) > 1
    return render(
        "summary.html",
        about=about,
        charts=_charts(tally),
        has_truth=bool(tally.true_counts),
        heads=[RULES[rule][0] for rule in rules] if several else ["value"],
        rows=[_row(key, metrics, rules) for key in _ordered({plain_key(key) for key in metrics})],
        note="; ".join(": ".join(RULES[rule]) for rule in rules) + "." if several else "",
    )


def _sides(boxes: NDArray[np.float64]) -> list[int]:
    """The side of a square as large as the box, in whole pixels."""
    lengths = (boxes[:, 2:] - boxes[:, :2]).clip(min=0)
    return [round(side) for side in np.sqrt(lengths.prod(axis=1)).tolist()]


def _charts(tally: Tally) -> list[dict[str, str]]:
    if not tally.images:
        return []
    known = bool(tally.true_counts)
    counts = histogram(tally.counts, tally.true_counts if known else None, "objects in an image", "image")
    charts = [{"drawing": counts, "caption": "How many objects an image has"}]
    if tally.objects or tally.true_sizes:
        sizes = histogram(tally.sizes, tally.true_sizes if known else None, "√(width × height) in pixels", "object")
        charts.append({"drawing": sizes, "caption": "How large the objects are"})
    return charts


def plain_key(key: str) -> str:
    """A key without the name of its rule."""
    return next((key.removeprefix(rule) for rule in RULES if rule and key.startswith(rule)), key)


def _row(key: str, metrics: Mapping[str, float | None], rules: Iterable[str]) -> dict[str, object]:
    name, meaning = MEASURES.get(key, (key, ""))
    return {"name": name, "meaning": meaning, "cells": [_value(rule + key, metrics) for rule in rules]}


def _value(key: str, metrics: Mapping[str, float | None]) -> str:
    if key not in metrics:
        return ""
    value = metrics[key]
    if value is None or not math.isfinite(value):
        return "–"  # not defined for these images
    if plain_key(key) in WHOLE:
        return str(round(value))
    return f"{value:.2g}" if 0 < abs(value) < 0.01 else f"{value:.3f}"


def _ordered(keys: Iterable[str]) -> list[str]:
    """The measures in the order of the table above, those that it does not know at the end."""
    place = {key: index for index, key in enumerate(MEASURES)}
    return sorted(keys, key=lambda key: (place.get(key, len(place)), key))
