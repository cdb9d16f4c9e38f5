"""A data set in numbers."""

import numpy as np

from objectspace.data.dataset import Dataset


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
        "left out": str(len(dataset.problems)),
    }


def _sizes(dataset: Dataset) -> str:
    """The size of the images, or from which to which if they differ."""
    (low_height, low_width), (high_height, high_width) = dataset.annotated_sizes.min(0), dataset.annotated_sizes.max(0)
    if (low_height, low_width) == (high_height, high_width):
        return f"{dataset.height} x {dataset.width}"
    return f"{low_height} x {low_width} to {high_height} x {high_width}, seen at {dataset.height} x {dataset.width}"
