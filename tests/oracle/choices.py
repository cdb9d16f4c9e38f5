"""Settings put together by chance, but in equal shares: in a few cases every value takes part."""

import random
from collections.abc import Sequence
from typing import Any


def balanced(cases: int, **settings: Sequence[Any]) -> list[tuple[Any, ...]]:
    """One value of each setting a case; how often two values of a setting occur differs by one at most."""
    chance = random.Random(0)  # the same cases each time
    columns = []
    for values in settings.values():
        column = [values[case % len(values)] for case in range(cases)]
        chance.shuffle(column)
        columns.append(column)
    return list(zip(*columns, strict=True))
