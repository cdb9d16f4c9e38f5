"""Annealing schedules, written as the paper writes them: `(m -> n):(p -> q)`.

The value is m until step p, then moves linearly to n at step q, and stays there. A plain number is a constant.
Beyond the paper, legs can follow one another: `(m -> n):(p -> q) then (n -> o):(r -> s)`.
"""

import math
import re
from dataclasses import dataclass, replace

_NUMBER = r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*"
_PATTERN = re.compile(rf"\s*\({_NUMBER}->{_NUMBER}\)\s*:\s*\({_NUMBER}->{_NUMBER}\)\s*")


@dataclass(frozen=True)
class Schedule:
    """A value that moves linearly from `start` to `end` between the steps `begin` and `finish`.

    >>> schedule = Schedule(1.0, 0.5, begin=100, finish=200)
    >>> schedule.at(0), schedule.at(150), schedule.final()
    (1.0, 0.75, 0.5)
    """

    start: float
    end: float
    begin: int = 0
    finish: int = 0
    then: "Schedule | None" = None  # the next leg, which starts where this one ends

    def __post_init__(self) -> None:
        if not (math.isfinite(self.start) and math.isfinite(self.end)):
            raise ValueError(f"a schedule needs finite values, not {self.start} and {self.end}")
        if not 0 <= self.begin <= self.finish:
            raise ValueError(f"a schedule's steps must satisfy 0 <= p <= q, but p = {self.begin}, q = {self.finish}")
        if self.then is not None and (self.then.start != self.end or self.then.begin < self.finish):
            raise ValueError(f"the leg {self.then} must start with {self.end}, at step {self.finish} or later")

    def at(self, step: int) -> float:
        """The value at a training step, counted from 0."""
        if self.then is not None and step >= self.then.begin:
            return self.then.at(step)
        if step <= self.begin:
            return self.start if step < self.finish else self.end
        if step >= self.finish:
            return self.end
        return self.start + (self.end - self.start) * (step - self.begin) / (self.finish - self.begin)

    def final(self) -> float:
        """The value when all annealing is over, as evaluation uses it."""
        return self.values[-1]

    @property
    def values(self) -> tuple[float, ...]:
        """Where the legs start, and where the last one ends."""
        return (self.start, self.end) if self.then is None else (self.start, *self.then.values)

    def __str__(self) -> str:
        if self.then is None and self.start == self.end:
            return f"{self.start}"
        leg = f"({self.start} -> {self.end}):({self.begin} -> {self.finish})"
        return leg if self.then is None else f"{leg} then {self.then}"


def constant(value: float) -> Schedule:
    """A schedule that does not move."""
    return Schedule(value, value)


def parse(text: str | float | int) -> Schedule:
    """Read `(m -> n):(p -> q)`, several of them joined by `then`, or a number.

    >>> parse("(0.5 -> 0.25):(4000 -> 10000)").at(7000)
    0.375
    >>> print(parse(0.5))
    0.5
    """
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        return constant(float(text))
    *earlier, last = str(text).split("then")
    schedule = _parse_leg(last)
    for leg in reversed(earlier):
        schedule = replace(_parse_leg(leg), then=schedule)
    return schedule


def _parse_leg(text: str) -> Schedule:
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{text!r} is no schedule: write a number, or (m -> n):(p -> q), as in (2.5 -> 0.5):(0 -> 20000)"
        )
    start, end, begin, finish = (float(group) for group in match.groups())
    if not (begin.is_integer() and finish.is_integer()):  # which infinity is not
        raise ValueError(f"{text!r}: a schedule's steps must be whole numbers")
    return Schedule(start, end, int(begin), int(finish))
