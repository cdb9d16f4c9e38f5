"""A polygon as a mask.

Convention: pixel (x, y) has its centre at (x + 0.5, y + 0.5); it is inside where its centre is, by the even-odd rule.
"""

import numpy as np
from numpy.typing import NDArray


def rasterise(points: NDArray[np.float64], height: int, width: int) -> NDArray[np.bool_]:
    """The mask (H, W) of the polygon with corners `points` (M, 2), x and y; it may reach outside the image.

    Along each row of pixel centres, every edge that crosses the row flips all that lies to the right of it.
    """
    flips = np.zeros((height, width + 1), np.int32)
    for (x0, y0), (x1, y1) in zip(points, np.roll(points, -1, axis=0), strict=True):
        top, bottom = min(y0, y1), max(y0, y1)
        first, end = (int(np.clip(np.ceil(y - 0.5), 0, height)) for y in (top, bottom))
        if first < end:
            rows = np.arange(first, end)
            crossing = x0 + (rows + 0.5 - y0) * ((x1 - x0) / (y1 - y0))
            np.add.at(flips, (rows, np.clip(np.ceil(crossing - 0.5), 0, width).astype(int)), 1)
    return np.asarray(np.cumsum(flips[:, :width], axis=1) % 2 == 1)
