"""How well an image is drawn again."""

import numpy as np
from numpy.typing import NDArray


def squared_error(image: NDArray[np.uint8], reconstruction: NDArray[np.uint8]) -> float:
    """The squared error of two pictures (H, W, 3), summed over pixels and channels, which count from 0 to 1."""
    if image.shape != reconstruction.shape:
        raise ValueError(f"a reconstruction of {reconstruction.shape} does not fit an image of {image.shape}")
    difference = image.astype(np.int32) - reconstruction
    return int(np.square(difference).sum(dtype=np.int64)) / 255**2
