"""What the training images were like, noted at the end of a run: how many objects they have, and how these look."""

import numpy as np
from numpy.typing import NDArray

from objectspace.data.dataset import Dataset
from objectspace.models.base import SceneModel

NOTED = 128  # images, at most


def note_seen(model: SceneModel, dataset: Dataset, seed: int) -> None:
    """Have a model note what its training images, in its own channel order, are like."""
    images = dataset.batch(spread(dataset, NOTED))
    model.learn_seen(list(images[..., ::-1] if model.config.channels == "bgr" else images), seed)


def spread(dataset: Dataset, most: int) -> NDArray[np.int64]:
    """The numbers of some images, evenly over the data set."""
    return np.linspace(0, len(dataset) - 1, min(len(dataset), most)).astype(np.int64)
