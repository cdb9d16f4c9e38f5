"""The boundary loss's weight over the steps, from the four keys that said it before `anneal.boundary` did.

Recipes and run directories of earlier versions have them: `boundary_weight`, which counts from `boundary_start` on,
after rising over `boundary_ramp` steps, until `boundary_stop`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from objectspace.ops.schedules import Schedule, constant, parse

OLD_KEYS = ("boundary_weight", "boundary_start", "boundary_ramp", "boundary_stop")


def from_old_keys(given: Mapping[str, Any], now: Schedule) -> Schedule:
    """The schedule that some of the old keys stand for; what they do not say stays as it is in `now`."""
    weight, start, ramp, stop = _taken_apart(now)
    if "boundary_weight" in given:
        value = given["boundary_weight"]
        weight = value if isinstance(value, Schedule) else parse(value)
    start, ramp = (_steps(given, f"boundary_{name}", before) for name, before in (("start", start), ("ramp", ramp)))
    stop = _steps(given, "boundary_stop", stop) if "boundary_stop" in given else stop
    full = start + ramp
    if stop is not None and stop <= start:
        return constant(0.0)
    if stop is not None and ramp and stop < full:
        raise ValueError(
            f"boundary_stop = {stop} cuts the ramp of the boundary loss off, which reaches its full weight at "
            f"{start} + {ramp} steps"
        )
    moving = [leg for leg in _legs(weight) if leg.start != leg.end]
    if any(leg.begin < full and start < leg.finish for leg in moving if ramp):
        raise ValueError("boundary_weight moves while it rises over boundary_ramp: set anneal.boundary instead")
    value, legs = weight.at(full), list[Schedule]()
    if full:
        legs.append(Schedule(0.0, value, start, full))
    for leg in moving:
        begin, finish = max(leg.begin, full), leg.finish if stop is None else min(leg.finish, stop)
        if begin <= finish and full < finish:
            legs.append(Schedule(value, leg.at(finish), begin, finish))
            value = legs[-1].end
    if stop is not None:
        legs.append(Schedule(value, 0.0, stop, stop))
    return _joined(legs) if legs else constant(value)


def _taken_apart(schedule: Schedule) -> tuple[Schedule, int, int, int | None]:
    """The weight, the start, the ramp and the stop, None if there is none, that make up a schedule."""
    if not any(schedule.values):
        return constant(1.0), 0, 0, 0
    legs, weight, start, ramp, stop = list(_legs(schedule)), schedule.start, 0, 0, None
    if weight == 0:
        weight, start, ramp = legs[0].end, legs[0].begin, legs[0].finish - legs[0].begin
        legs = legs[1:]
    if legs and legs[-1].end == 0 and legs[-1].begin == legs[-1].finish:
        stop = legs[-1].begin
        legs = legs[:-1]
    return _joined(legs) if legs else constant(weight), start, ramp, stop


def _legs(schedule: Schedule | None) -> Iterator[Schedule]:
    while schedule is not None:
        yield replace(schedule, then=None)
        schedule = schedule.then


def _joined(legs: Sequence[Schedule]) -> Schedule:
    whole = legs[-1]
    for leg in reversed(legs[:-1]):
        whole = replace(leg, then=whole)
    return whole


def _steps(given: Mapping[str, Any], name: str, before: int | None) -> int:
    value = given.get(name, before)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} is a number of steps, at least 0, not {value!r}")
    return value
