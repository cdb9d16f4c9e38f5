"""Deterministic weights and images for the golden vectors beside this file.

`weights(shapes)` fills every tensor of a published SPACE checkpoint (names and shapes:
../official_checkpoint_keys.json) from a generator seeded by the tensor's name, so that anyone can rebuild the very
checkpoint that the vectors were computed with, without shipping it. `images(count, size, seed)` gives the inputs.
"""

from zlib import crc32

import numpy as np


def weights(shapes: dict[str, list[int]], salt: int = 0) -> dict[str, np.ndarray]:
    out = {}
    for name, shape in shapes.items():
        rng = np.random.default_rng([crc32(name.encode()), salt])
        leaf = name.rsplit(".", 1)[-1]
        if leaf == "num_batches_tracked":
            value: np.ndarray = np.zeros(shape, np.int64)
        elif leaf == "running_var":
            value = 1 + 0.1 * np.abs(rng.standard_normal(shape))
        elif leaf == "weight" and len(shape) == 1:  # norm
            value = 1 + 0.1 * rng.standard_normal(shape)
        elif leaf.startswith("weight"):
            value = rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
        else:  # biases, running means, initial states
            value = 0.1 * rng.standard_normal(shape)
        out[name] = value if value.dtype == np.int64 else value.astype(np.float32)
    return out


def images(count: int, size: int = 128, seed: int = 0) -> np.ndarray:
    """Smooth colour fields with a few flat discs: (count, 3, size, size) float32 in [0, 1]."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:size, 0:size] / size
    out = np.empty((count, 3, size, size))
    for image in out:
        a, b, c = rng.uniform(0.2, 0.6, (3, 3))
        image[:] = (a[:, None, None] * x + b[:, None, None] * y + c[:, None, None]) / 1.8
        for _ in range(6):
            cx, cy, r = rng.uniform(0.1, 0.9), rng.uniform(0.1, 0.9), rng.uniform(0.04, 0.1)
            image[:, (x - cx) ** 2 + (y - cy) ** 2 < r * r] = rng.uniform(0, 1, 3)[:, None]
    return out.astype(np.float32)
