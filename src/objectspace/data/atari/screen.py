"""How a console's screen becomes an image: for data sets, and for whoever shows a model frames like theirs."""

import numpy as np
from numpy.typing import NDArray

from objectspace.io.images import resize


def scaled(screen: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    """The whole screen (H, W, 3) as (height, width, 3). Every pixel counts, so that a thin missile stays visible."""
    return resize(screen, height, width, keep_thin=True)
