"""HDF5 files that are not believed: opened, and their arrays checked before anything is read."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from objectspace.data.convert.masks import MAX_ENTITIES
from objectspace.errors import UserError, missing_extra

UNIT_BYTES = 32 * 2**20  # of a unit of work, in memory
UNIT_IMAGES = 64
MAX_BYTES = 2**28  # of one image with its masks


def load_h5py() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise missing_extra("h5py", "hdf5") from error
    return h5py


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    try:
        with load_h5py().File(path, "r") as file:
            yield file
    except (OSError, RuntimeError, KeyError) as error:  # HDF5 has no one way to say that a file is broken
        reason = str(error).replace("\n", " ")
        raise UserError(
            f"cannot read {path}: {reason}. It is no HDF5 file, or truncated or damaged: fetch it again"
        ) from error


def own_array(file: Any, name: str) -> Any:
    """The array of that name that lies in the file itself, or None. Links can point at any file of the machine."""
    h5py = load_h5py()
    node = file
    for part in name.split("/"):
        if not isinstance(node, h5py.Group) or not isinstance(node.get(part, getlink=True), h5py.HardLink):
            return None
        node = node[part]
    is_own = isinstance(node, h5py.Dataset) and not node.is_virtual and not node.external
    return node if is_own else None


def unit_size(path: Path, images: Any, masks: Any, labels: bool) -> int:
    """Refuse arrays that do not fit each other; gives the number of images that make a unit of work."""
    shape, mask_shape = images.shape, masks.shape
    layout = "(N, H, W, 1)" if labels else "(N, K, H, W, C)"
    is_right = len(shape) == 4 and shape[3] in (1, 3) and len(mask_shape) == (4 if labels else 5)
    is_right = is_right and mask_shape[0] == shape[0] and mask_shape[-3:-1] == shape[1:3]
    is_right = is_right and images.dtype.kind in "uif" and masks.dtype.kind in ("ui" if labels else "uifb")
    is_right = is_right and mask_shape[-1] in ((1,) if labels else (1, 3)) and min(shape[1:3], default=0) > 0
    if not is_right or not (labels or 1 <= mask_shape[1] <= MAX_ENTITIES):
        raise UserError(
            f"{path}: {images.name} {shape} {images.dtype} and {masks.name} {mask_shape} {masks.dtype} do not fit each "
            f"other or the format: expected images (N, H, W, 1 or 3) and masks {layout}"
        )
    if not shape[0]:
        raise UserError(f"{path}: {images.name} holds no images")
    size = sum(math.prod(array.shape[1:]) * array.dtype.itemsize for array in (images, masks))
    if size > MAX_BYTES:
        raise UserError(
            f"{path}: {images.name} and {masks.name} have {size:,} bytes an image, {MAX_BYTES:,} are allowed"
        )
    unit = max(1, min(UNIT_IMAGES, UNIT_BYTES // size))
    stored = images.chunks[0] if images.chunks else 1  # images that are packed together, and unpacked together
    return int(max(unit // stored, 1) * stored if stored * size <= MAX_BYTES else unit)
