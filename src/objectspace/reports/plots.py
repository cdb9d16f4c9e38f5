"""Plots of numbers about scenes, drawn without a display."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from objectspace.scene import Scene

COLOR = "#2b6cb0"


def object_statistics(scenes: Sequence[Scene], path: Path, title: str) -> None:
    """How many objects a scene has, how large they are and where they lie, as three plots in one picture."""
    counts = np.array([len(scene.found) for scene in scenes])
    boxes = np.concatenate([scene.boxes / _frame(scene) for scene in scenes])  # (M, 4) in fractions of the image
    figure = Figure(figsize=(12, 3.6), layout="constrained")
    figure.suptitle(title)
    number, size, place = figure.subplots(1, 3)
    number.hist(counts, bins=np.arange(counts.max() + 2) - 0.5, color=COLOR, rwidth=0.85)
    number.set(xlabel="objects in an image", ylabel="images")
    if len(boxes):
        size.hist(boxes[:, 2] - boxes[:, 0], bins=30, color=COLOR, alpha=0.8, label="width")
        size.hist(boxes[:, 3] - boxes[:, 1], bins=30, color="#dd6b20", alpha=0.6, label="height")
        size.legend(frameon=False)
        middle = (boxes[:, :2] + boxes[:, 2:]) / 2
        place.hist2d(middle[:, 0], middle[:, 1], bins=24, range=[[0, 1], [0, 1]], cmap="viridis")
    size.set(xlabel="visible size / image size", ylabel="objects")
    place.set(xlabel="x of the centre / width", ylabel="y / height", aspect="equal")
    place.invert_yaxis()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def _frame(scene: Scene) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.array([scene.width, scene.height] * 2, np.float64)
