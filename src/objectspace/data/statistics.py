"""A data set in numbers."""

import numpy as np
from numpy.typing import NDArray

from objectspace.data.dataset import Dataset
from objectspace.io.images import BadImage, read_deep

MEASURED, OPENED = 50, 20  # images whose brightness, and whose depth, is looked at
ADVICE = "model.view.stretch"


def statistics(dataset: Dataset) -> dict[str, str]:
    """What a user wants to know about a split, as named cells of a table row."""
    counts = np.array([len(dataset.boxes(index)) for index in range(len(dataset))])
    boxes = np.concatenate([dataset.visible_boxes(index) for index in range(len(dataset))])
    sides = np.concatenate([boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]])
    return {
        "split": dataset.split,
        "images": f"{len(dataset):,}",
        "size": _sizes(dataset),
        "objects": f"{len(boxes):,}",
        "in an image": f"{counts.min()} to {counts.max()}, mean {counts.mean():.1f}",
        "visible width or height": (
            f"{sides.min():.0f} to {sides.max():.0f} pixels, median {np.median(sides):.0f}" if len(sides) else "-"
        ),
        "brightness": _brightness(dataset),
        "depth": _depth(dataset),
        "left out": str(len(dataset.problems)),
    }


def _brightness(dataset: Dataset) -> str:
    """Between which values, of 255, nearly all pixels of some images lie."""
    some = dataset.batch(_some(dataset, MEASURED))
    low, middle, high = (round(float(value)) for value in np.percentile(some, [1, 50, 99]))
    return f"{low} to {high} of 255, median {middle}"


def _depth(dataset: Dataset) -> str:
    """How many bits the files have, and how many of them are used."""
    folder, most, deep = dataset.root / dataset.split / "images", 0, False
    for index in _some(dataset, OPENED).tolist():
        try:
            photo = read_deep(folder / dataset.names[index])
        except BadImage:
            continue  # it has changed since it was decoded
        deep = deep or photo.dtype == np.uint16
        most = max(most, int(photo.max()) if photo.dtype == np.uint16 else 0)
    if not deep:
        return "8 bit"
    used = max(1, most.bit_length())
    return f"{used} of 16 bit" + (f": set {ADVICE}" if used < 16 else "")


def _some(dataset: Dataset, most: int) -> NDArray[np.int64]:
    return np.linspace(0, len(dataset) - 1, min(most, len(dataset))).astype(np.int64)


def _sizes(dataset: Dataset) -> str:
    """The size of the images, or from which to which if they differ."""
    (low_height, low_width), (high_height, high_width) = dataset.annotated_sizes.min(0), dataset.annotated_sizes.max(0)
    if (low_height, low_width) == (high_height, high_width):
        return f"{dataset.height} x {dataset.width}"
    return f"{low_height} x {low_width} to {high_height} x {high_width}, seen at {dataset.height} x {dataset.width}"
