"""Verdicts on how long things take: latency against capacity, and convergence. They read one measurement each.

A point of the latency is a table as `objectspace.compare.latency.Point` has it; a curve has the model, its grid, and
its squared errors over minutes of training.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from objectspace.paper.findings import Findings
from objectspace.paper.verdicts import FAILS, HOLDS, PART, UNTESTED, Rule, Verdict, graded

NOT_YET = Verdict(UNTESTED, "not run here yet")
NEAR = 1.1  # a run has arrived when its error is within this factor of the best one at the end
Table = Mapping[str, Any]


def grows(model: str, good: float, fair: float) -> Rule:
    """How many times a step grows from the smallest grid measured to the largest."""

    def rule(findings: Findings) -> Verdict:
        known = _steps(findings, model)
        if known is None:
            return NOT_YET
        if len(known) < 2:
            return Verdict(UNTESTED, f"{model} ran at {len(known)} of the capacities")
        first, last = known[0], known[-1]
        times = last["seconds"] / first["seconds"]
        side = "at least" if good >= fair else "at most"
        text = (
            f"a step of {model} takes {first['seconds']:.3g} s at {first['shown_capacity']} and "
            f"{last['seconds']:.3g} s "
            f"at {last['shown_capacity']}, {times:.2g} times as long (asked: {side} {good:g}; in part: {fair:g})"
        )
        return Verdict(graded(times, good, fair), text)

    return rule


def slowest(model: str) -> Rule:
    """A model's step is the longest at every grid where it and another were measured or estimated."""

    def rule(findings: Findings) -> Verdict:
        finding = findings.one("latency")
        if finding is None:
            return NOT_YET
        wins, said = [], []
        for grid, points in _by_grid(finding.numbers["points"]).items():
            times = {point["model"]: point["seconds"] or point["estimate"] for point in points}
            mine = times.pop(model, None)
            others = {name: value for name, value in times.items() if value is not None and "objects" not in name}
            if mine is not None and others:
                name = max(others, key=lambda each: others[each])
                wins.append(mine > others[name])
                said.append(f"{grid} x {grid}: {model} {mine:.3g} s, {name} {others[name]:.3g} s")
        if not wins:
            return Verdict(UNTESTED, f"no capacity at which {model} and another have a time")
        return Verdict(HOLDS if all(wins) else PART if any(wins) else FAILS, "; ".join(said) + " (some are estimates)")

    return rule


def no_room(models: Sequence[str], grid: int) -> Rule:
    """Models have no room from a grid on."""

    def rule(findings: Findings) -> Verdict:
        finding = findings.one("latency")
        if finding is None:
            return NOT_YET
        points = [each for each in finding.numbers["points"] if each["grid"] >= grid and each["model"] in models]
        if not points:
            return Verdict(UNTESTED, f"not measured at {grid} x {grid}")
        full = [each["status"] == "out of memory" for each in points]
        said = "; ".join(f"{each['model']} {each['shown_capacity']}: {each['status']}" for each in points)
        memory = finding.numbers.get("memory")
        room = f" (it may take {memory / 1e9:.0f} GB)" if memory else ""
        return Verdict(HOLDS if all(full) else PART if any(full) else FAILS, said + room)

    return rule


def faster(one: str, other: str, grid: int, good: float, fair: float) -> Rule:
    """How many times longer the other's step takes."""

    def rule(findings: Findings) -> Verdict:
        times = {
            name: point["seconds"]
            for name in (one, other)
            for point in _steps(findings, name) or ()
            if point["grid"] == grid
        }
        if len(times) < 2:
            return Verdict(UNTESTED, f"{one} and {other} were not both measured at {grid} x {grid}")
        ratio = times[other] / times[one]
        text = (
            f"at {grid} x {grid} a step of {one} takes {times[one]:.3g} s, of {other} {times[other]:.3g} s: "
            f"{ratio:.2g} times as long (asked: at least {good:g}; in part: {fair:g})"
        )
        return Verdict(graded(ratio, good, fair), text)

    return rule


def sooner(one: str, other: str, grid: int, good: float, fair: float) -> Rule:
    """How many times longer the other takes to come near the smallest error that any model has at that grid."""

    def rule(findings: Findings) -> Verdict:
        minutes = _arrivals(findings, grid)
        if minutes is None:
            return NOT_YET
        mine, theirs = minutes.get(one), minutes.get(other)
        if one not in minutes or other not in minutes:
            return Verdict(UNTESTED, f"{one} and {other} were not both trained at {grid} x {grid}")
        ends = {name: "never" if value is None else f"{value:.1f} min" for name, value in minutes.items()}
        text = f"{grid} x {grid}, to within {NEAR:g} times the smallest error: {one} {ends[one]}, {other} {ends[other]}"
        if mine is None:
            return Verdict(FAILS if theirs is not None else UNTESTED, text)
        if theirs is None:
            return Verdict(HOLDS, text)
        ratio = theirs / max(mine, 1e-9)
        return Verdict(
            graded(ratio, good, fair), f"{text}: {ratio:.2g} times as long (asked: {good:g}; in part: {fair:g})"
        )

    return rule


def together(one: str, other: str, grid: int, near: float, far: float) -> Rule:
    """Two models come near the smallest error in the same time, within a factor."""

    def rule(findings: Findings) -> Verdict:
        minutes = _arrivals(findings, grid)
        if minutes is None:
            return NOT_YET
        if one not in minutes or other not in minutes:
            return Verdict(UNTESTED, f"{one} and {other} were not both trained at {grid} x {grid}")
        mine, theirs = minutes[one], minutes[other]
        if mine is None or theirs is None:
            late = [name for name in (one, other) if minutes[name] is None]
            said = f"{grid} x {grid}: {' and '.join(late)} did not come near the smallest error in the given time"
            return Verdict(UNTESTED if len(late) > 1 else FAILS, said)
        ratio = max(mine, theirs) / max(min(mine, theirs), 1e-9)
        text = f"{grid} x {grid}: {one} after {mine:.1f} min, {other} after {theirs:.1f} (asked: within {near:g} times)"
        return Verdict(graded(ratio, near, far), text)

    return rule


def _steps(findings: Findings, model: str) -> list[Table] | None:
    """A model's measured points by capacity; None where the latency was not measured."""
    finding = findings.one("latency")
    if finding is None:
        return None
    mine = [point for point in finding.numbers["points"] if point["model"] == model and point["seconds"]]
    return sorted(mine, key=lambda point: float(point["capacity"]))


def _by_grid(points: Sequence[Table]) -> dict[int, list[Table]]:
    grids: dict[int, list[Table]] = {}
    for point in points:
        grids.setdefault(point["grid"], []).append(point)
    return grids


def _arrivals(findings: Findings, grid: int) -> dict[str, float | None] | None:
    """When each model came near the smallest error of a grid; None where there is no such measurement."""
    finding = findings.one("convergence")
    if finding is None:
        return None
    curves = [each for each in finding.numbers["curves"] if each["grid"] == grid]
    errors = [look["squared_error"] for each in curves for look in each["curve"][-1:]]
    if not errors:
        return {}
    target = NEAR * min(errors)
    return {
        each["model"]: next((look["minutes"] for look in each["curve"] if look["squared_error"] <= target), None)
        for each in curves
        if each["curve"]
    }
