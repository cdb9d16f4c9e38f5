"""What there is to see about pictures before anything is learned: sizes, depth, brightness, camera, order, noise.

Pure numpy, on the pictures that `pictures.py` has read. Brightness is in fractions of the full range.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from objectspace.io.images import Photo, resize
from objectspace.io.view import to_bytes

SEEN = 128  # pixels of the longer side at which pictures are held against one another
LOW, HIGH = 1.0, 99.7  # the percentiles that say how a picture is exposed
GREY = 3  # channels that differ by no more, of 255, are grey
NEAR = 0.06  # a pixel so near to the median of all pictures shows what that does
FIXED = 0.75  # share of such pixels, and so much more than each picture's own colour explains, for a fixed camera ...
BEYOND = 0.1
FOLLOWS = 0.5  # neighbours in order differ by so much less than any two pictures: successive frames
UNLIKE = 2.5  # times as wide a range in well exposed pictures as in others: each needs a stretch of its own
NARROW = 0.6  # of the full range, used by all pictures together: all need one


@dataclass(frozen=True)
class Look:
    """What was seen."""

    pictures: int
    sizes: tuple[tuple[int, int, int], ...]  # width, height, how many; the commonest first
    grey: bool
    bits: int  # that are used
    brightness: float  # of the middle pixel
    low: float  # percentiles over all pictures
    high: float
    exposure: float  # how many times wider the range of the well exposed pictures is: the ninth tenth by the first
    fixed: float  # share of the pixels that are near the median of all pictures; 0 where sizes differ
    camera_fixed: bool
    successive: bool
    noise: float  # stdev, at the pictures' own size

    @property
    def side(self) -> int:
        """The longer side of the commonest size."""
        return max(self.sizes[0][:2])


def look(pictures: Sequence[Photo]) -> Look:
    """Look at some pictures (H, W, 3), in their order."""
    values = [_sampled(each) for each in pictures]
    lows, highs = (np.array([np.percentile(each, share) for each in values]) for share in (LOW, HIGH))
    together = np.concatenate([each.ravel() for each in values])
    small = [_small(each) for each in pictures]
    grey = float(np.mean([(np.ptp(each.astype(int), axis=2) <= GREY).mean() for each in small])) > 0.99
    fixed, camera = _fixed(small)
    depth = max(int(each.max()) if each.dtype != np.uint8 else 255 for each in pictures)
    ranges = np.maximum(highs - lows, 1 / 255)
    return Look(
        pictures=len(pictures),
        sizes=tuple(
            (width, height, count)
            for (height, width), count in Counter(each.shape[:2] for each in pictures).most_common()
        ),
        grey=grey,
        bits=max(8, depth.bit_length()),
        brightness=float(np.median(together)),
        low=float(np.percentile(together, LOW)),
        high=float(np.percentile(together, HIGH)),
        exposure=float(np.quantile(ranges, 0.9) / np.quantile(ranges, 0.1)),
        fixed=fixed,
        camera_fixed=camera,
        successive=_successive(small),
        noise=float(np.median([_noise(each) for each in pictures])),
    )


def view_of(seen: Look) -> dict[str, Any]:
    """How the brightness of such pictures should be stretched: keys of a recipe's `model.view`.

    Never by a gamma: it lifts the blur around bright things, and boxes then end outside of them.
    """
    if seen.exposure > UNLIKE:
        view: dict[str, Any] = {"stretch": "each", "low": LOW, "high": HIGH}
    elif seen.high - seen.low < NARROW:
        view = {"stretch": "all", "low": round(seen.low, 5), "high": round(max(seen.high, seen.low + 1e-4), 5)}
    else:
        return {}
    return view


def _sampled(picture: Photo) -> NDArray[np.float32]:
    """At most some ten thousand pixels (h, w, 3) as fractions of the full range."""
    step = max(1, int(np.sqrt(picture.shape[0] * picture.shape[1] / 10_000)))
    return picture[::step, ::step].astype(np.float32) / np.iinfo(picture.dtype).max


def _small(picture: Photo) -> NDArray[np.uint8]:
    height, width = picture.shape[:2]
    factor = min(1.0, SEEN / max(height, width))
    return resize(to_bytes(picture), max(1, round(height * factor)), max(1, round(width * factor)))


def _fixed(small: Sequence[NDArray[np.uint8]]) -> tuple[float, bool]:
    """The share of pixels near the median picture, and whether that says that the camera stands still."""
    if len({each.shape for each in small}) > 1 or len(small) < 4:
        return 0.0, False
    stack = np.stack(small[:: max(1, len(small) // 60)]).astype(np.float32) / 255
    near = float((np.abs(stack - np.median(stack, axis=0)).max(3) < NEAR).mean())
    plain = np.median(stack, axis=(1, 2), keepdims=True)  # of each picture: one colour
    alone = float((np.abs(stack - plain).max(3) < NEAR).mean())
    return near, near > FIXED and near > alone + BEYOND


def _successive(small: Sequence[NDArray[np.uint8]]) -> bool:
    """Whether each picture is much like the next one, more than like any other."""
    if len({each.shape for each in small}) > 1 or len(small) < 8:
        return False
    stack = np.stack(small).astype(np.float32)
    following = np.abs(stack[1:] - stack[:-1]).mean()
    other = np.abs(stack - np.roll(stack, len(stack) // 2, axis=0)).mean()
    return bool(following < FOLLOWS * other)


def _noise(picture: Photo) -> float:
    """The stdev of what changes from pixel to pixel, robustly: from second differences, which slopes have not."""
    crop = picture[: 2 * (min(picture.shape[0], 1024) // 2), : 2 * (min(picture.shape[1], 1024) // 2), 1]
    values = crop.astype(np.float32) / np.iinfo(picture.dtype).max
    if min(values.shape) < 3:
        return 0.0
    bent = values[2:, 1:-1] + values[:-2, 1:-1] + values[1:-1, 2:] + values[1:-1, :-2] - 4 * values[1:-1, 1:-1]
    return 1.4826 * float(np.median(np.abs(bent))) / float(np.sqrt(20))
