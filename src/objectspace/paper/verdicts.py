"""Verdicts on the paper's sentences, and the rules that most of them share.

A rule asks `Findings` for numbers and says which they are. What was not measured is not tested; what was measured on
trainings that were cut off is not tested either, but shown; runs that failed are named.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from objectspace.paper.findings import Findings, Number

HOLDS, PART, FAILS, UNTESTED = "holds here", "holds in part", "does not hold", "not tested"
Rule = Callable[[Findings], "Verdict"]


@dataclass(frozen=True)
class Verdict:
    """What became of a claim here, and the number that says so."""

    said: str  # holds here, holds in part, does not hold, not tested
    because: str  # a line a reason

    @property
    def reasons(self) -> list[str]:
        """One for each part of the claim."""
        return self.because.splitlines()


def graded(value: float, good: float, fair: float) -> str:
    """Holds from `good` on, in part from `fair` on; the better values may be the small ones."""
    if good >= fair:
        return HOLDS if value >= good else PART if value >= fair else FAILS
    return HOLDS if value <= good else PART if value <= fair else FAILS


def reaches(name: str, model: str, key: str, good: float, fair: float, what: str = "models") -> Rule:
    """One measure of one model, against two marks."""

    def rule(findings: Findings) -> Verdict:
        number = findings.number(model, key, what)
        if number is None:
            return missing(findings, [model], key, what)
        side = "at least" if good >= fair else "at most"
        text = f"{name} of {model} {shown(number)} (asked: {side} {good:g}; in part: {fair:g})"
        return _judged(graded(number.value, good, fair), text, number)

    return rule


def differs(name: str, key: str, one: str, other: str, good: float, fair: float) -> Rule:
    """The measure of one model less that of another, against two marks."""

    def rule(findings: Findings) -> Verdict:
        first, second = findings.number(one, key), findings.number(other, key)
        if first is None or second is None:
            return missing(findings, [one, other], key)
        gain = first.value - second.value
        side = "at least" if good >= fair else "at most"
        text = (
            f"{name}: {one} {shown(first)}, {other} {shown(second)}, difference {round(gain, 3) + 0.0:+.3f} "
            f"(asked: {side} {good:+g}; in part: {fair:+g})"
        )
        return _judged(graded(gain, good, fair), text, first, second)

    return rule


def close(name: str, key: str, one: str, other: str, near: float, far: float, least: float = -math.inf) -> Rule:
    """Two models have the same measure, nearly; below `least` that says nothing."""

    def rule(findings: Findings) -> Verdict:
        first, second = findings.number(one, key), findings.number(other, key)
        if first is None or second is None:
            return missing(findings, [one, other], key)
        apart = abs(first.value - second.value)
        text = (
            f"{name}: {one} {shown(first)}, {other} {shown(second)}, {apart:.3f} apart "
            f"(asked: at most {near:g}; in part: {far:g})"
        )
        if min(first.value, second.value) < least:
            return Verdict(UNTESTED, f"{text}: too little learned to compare (asked: {least:g} of both)")
        return _judged(graded(apart, near, far), text, first, second)

    return rule


def both(*rules: Rule) -> Rule:
    """A sentence with several parts: it holds if all do; a part that is not tested leaves it in part at the most."""

    def rule(findings: Findings) -> Verdict:
        found = [each(findings) for each in rules]
        tested = [each.said for each in found if each.said != UNTESTED]
        because = "\n".join(dict.fromkeys(reason for each in found for reason in each.reasons))
        if not tested:
            return Verdict(UNTESTED, because)
        if set(tested) == {FAILS}:
            return Verdict(FAILS, because)
        whole = set(tested) == {HOLDS} and len(tested) == len(found)
        return Verdict(HOLDS if whole else PART, because)

    return rule


def untested(why: str) -> Rule:
    """A sentence that nothing here measures."""
    return lambda findings: Verdict(UNTESTED, why)


def by_construction(why: str) -> Rule:
    """A sentence about how a model is made, which needs no measurement."""
    return lambda findings: Verdict(HOLDS, f"by construction: {why}")


def missing(findings: Findings, models: Sequence[str], key: str, what: str = "models") -> Verdict:
    """Which models of a comparison have no number, and why."""
    said = []
    for model in models:
        failed = findings.failed(model, what)
        if findings.number(model, key, what) is not None:
            continue
        if not findings.of(model, what):
            said.append(f"{model} not run here yet")
        else:
            said.append(f"{model} failed: {failed[0].failure}" if failed else f"{model} has no {key}")
    return Verdict(UNTESTED, "\n".join(said))


def shown(number: Number, digits: int = 3) -> str:
    """A number with its deviation and the seeds it is of."""
    if number.deviation is None:
        return f"{number.value:.{digits}f}"
    return f"{number.value:.{digits}f} ± {number.deviation:.{digits}f} ({number.seeds} seeds)"


def _judged(said: str, text: str, *numbers: Number) -> Verdict:
    """A verdict with what a reader must know besides; trainings that were cut off are nothing to judge by."""
    caveats = dict.fromkeys(caveat for number in numbers for caveat in number.caveats)
    cut = any(number.cut for number in numbers)
    return Verdict(UNTESTED if cut else said, f"{text}. But {'; '.join(caveats)}" if caveats else text)
