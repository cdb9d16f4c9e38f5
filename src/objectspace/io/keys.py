"""Keys in files of numbers that had another name before: the old ones are read for good, the new ones are written."""

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")

RENAMED = {"mse": "squared_error", "val_mse": "val_squared_error"}  # a sum over an image's pixels was never a mean


def by_new_names(content: Mapping[str, T]) -> dict[str, T]:
    """A table of numbers as today's files have it.

    >>> by_new_names({"ap50": 0.9, "mse": 24.3})
    {'ap50': 0.9, 'squared_error': 24.3}
    """
    return {RENAMED.get(key, key): value for key, value in content.items()}
