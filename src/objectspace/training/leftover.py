"""What a background leaves unexplained: which of it may be objects.

Objects are compact: connected, small against the image, filled. Noise falls into specks, edges and stripes are thin or
long, and a ground that is half explained is large. Shapes: H W image.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

LEAST_PIXELS = 4  # of a region that is more than a speck
LARGEST = 0.4  # of each side of the image that a compact region's box may take
FILLED = 0.3  # of its box
SOLID = 0.4  # of its pixels that belong to full squares of 2 x 2, which noise and thin lines do not have


def compact_regions(unexplained: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Those of one image's unexplained pixels (H, W) that lie in compact regions."""
    numbers, _ = ndimage.label(unexplained, np.ones((3, 3)))
    solid = ndimage.binary_opening(unexplained, np.ones((2, 2)))
    kept = np.zeros_like(unexplained)
    for number, place in enumerate(ndimage.find_objects(numbers), start=1):
        region = numbers[place] == number
        if _is_compact(region, solid[place] & region, unexplained.shape):
            kept[place] |= region
    return kept


def _is_compact(region: NDArray[np.bool_], solid: NDArray[np.bool_], image: tuple[int, ...]) -> bool:
    (height, width), area = region.shape, int(region.sum())
    small = height <= LARGEST * image[0] and width <= LARGEST * image[1]
    return bool(small and area >= LEAST_PIXELS and area >= FILLED * region.size and solid.sum() >= SOLID * area)
