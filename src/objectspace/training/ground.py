"""What a background leaves unexplained: which of it may be objects, and which is ground.

Objects are compact: connected, small against the image, filled. Noise falls into specks, edges and stripes are thin or
long, and a ground that is half explained is large. Shapes: n images, H W image.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor

from objectspace.config import Stage
from objectspace.geometry.regions import Region, find_regions
from objectspace.models.base import SceneModel

LEAST_PIXELS = 4  # of a region that is more than a speck
LARGEST = 0.4  # of each side of the image that a compact region's box may take
FILLED = 0.3  # of its box
SOLID = 0.4  # of its pixels that belong to full squares of 2 x 2, which noise and thin lines do not have
WIDEST = 0.6  # of a side of the image: what touching objects are taken apart into is smaller
LONGEST = 4.0  # times as long as wide
MOST_AREA = 0.25  # of the image


@torch.no_grad()
def background_leaves(
    model: SceneModel, images: NDArray[np.uint8], stage: Stage, batch: int
) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
    """Which pixels of images (n, H, W, 3) in RGB a model's background, alone, does not explain, at posterior means.

    Maps (n, H, W), and what the model has seen of the images, (n, H, W, 3) in [0, 1]: SPAIR-P sees patches.
    """
    device = next(model.parameters()).device
    maps, seen = list[Tensor](), list[Tensor]()
    for part in torch.split(torch.from_numpy(images).permute(0, 3, 1, 2), batch):
        pixels = part.flip(1) if model.config.channels == "bgr" else part
        output = model(pixels.to(device).float() / 255, stage, sample=False)
        maps.append(output.unexplained.cpu() > 0.5)
        seen.append(output.target.cpu())
    return torch.cat(maps).numpy(), torch.cat(seen).permute(0, 2, 3, 1).numpy()


def ground_share(unexplained: NDArray[np.bool_], images: NDArray[np.float32]) -> float:
    """The share of all pixels that are unexplained and ground: in regions too long or too large for objects.

    Maps (n, H, W) and images (n, H, W, 3) in [0, 1]. Touching objects are taken apart first: many of them side by side
    are as long as a wall.
    """
    ground = sum(int(ground_pixels(left, image).sum()) for left, image in zip(unexplained, images, strict=True))
    return ground / unexplained.size


def ground_pixels(unexplained: NDArray[np.bool_], image: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Those of one image's unexplained pixels (H, W) that are ground; see `ground_share`."""
    ground = np.zeros_like(unexplained)
    for region in find_regions(unexplained, image):
        if _is_ground(region, unexplained.shape):
            x0, y0, x1, y1 = region.box
            ground[y0:y1, x0:x1] |= region.mask
    return ground


def _is_ground(region: Region, image: tuple[int, ...]) -> bool:
    x0, y0, x1, y1 = region.box
    large = y1 - y0 > WIDEST * image[0] or x1 - x0 > WIDEST * image[1] or region.area > MOST_AREA * image[0] * image[1]
    return large or region.length > LONGEST


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
