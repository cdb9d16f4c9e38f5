"""A histogram as inline SVG: it takes its colours from the page, light or dark.

Reads how often each whole number occurs; gives SVG with labelled axes.
"""

import math
from collections import Counter
from collections.abc import Mapping

from markupsafe import Markup

from objectspace.reports.page.markup import plural
from objectspace.reports.page.shell import render

WIDTH, HEIGHT = 480, 240
LEFT, RIGHT, TOP, BOTTOM = 52, 8, 14, 44  # what the axes and their labels need
MOST_BARS, MOST_LABELS, MOST_LINES = 24, 12, 5


def histogram(found: Mapping[int, int], truth: Mapping[int, int] | None, across: str, up: str) -> Markup:
    """Bars for `found`, dashed frames for `truth`; `across` and `up` (a singular noun) say what the axes count."""
    largest = max([*found, *(truth or ()), 1])
    width = _step((largest + 1) / MOST_BARS)
    bars, frames = _binned(found, width), _binned(truth or {}, width)
    count = largest // width + 1
    tallest = max([*bars.values(), *frames.values(), 1])
    step = _step(tallest / MOST_LINES)
    top = step * math.ceil(tallest / step)
    drawn = []
    for index in range(count):
        span = str(index) if width == 1 else f"{index * width} to {(index + 1) * width - 1}"
        drawn.append(_bar(index, count, bars[index], top, "bar", f"{span}: {plural(bars[index], up)}"))
        if frames[index]:
            words = f"{span}: {plural(frames[index], up)} in truth"
            drawn.append(_bar(index, count, frames[index], top, "dash", words))
    return render(
        "histogram.svg",
        width=WIDTH,
        height=HEIGHT,
        words=f"Histogram: {across}, from 0 to {largest}; {plural(sum(found.values()), up)} in all.",
        lines=_lines(top, step),
        marks=_marks(count, width),
        bars=drawn,
        across=across,
        middle=f"{(LEFT + WIDTH - RIGHT) / 2:g}",
        up=up,
        centre=f"{(TOP + HEIGHT - BOTTOM) / 2:g}",
    )


def _step(least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, ... that is not below `least`."""
    power = int(10 ** math.floor(math.log10(max(least, 1))))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)


def _binned(counts: Mapping[int, int], width: int) -> Counter[int]:
    binned: Counter[int] = Counter()
    for value, times in counts.items():
        binned[value // width] += times
    return binned


def _x(index: float, count: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * index / count


def _y(value: float, top: int) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / top


def _bar(index: int, count: int, value: int, top: int, kind: str, words: str) -> dict[str, str]:
    gap = min(3.0, 0.12 * (_x(1, count) - LEFT))
    y = _y(value, top)
    return {
        "kind": kind,
        "x": f"{_x(index, count) + gap:.2f}",
        "y": f"{y:.2f}",
        "width": f"{_x(1, count) - LEFT - 2 * gap:.2f}",
        "height": f"{HEIGHT - BOTTOM - y:.2f}",
        "words": words,
    }


def _lines(top: int, step: int) -> list[dict[str, str]]:
    return [
        {
            "kind": "line" if value else "line base",
            "path": f"M{LEFT} {_y(value, top):.2f}H{WIDTH - RIGHT}",
            "x": f"{LEFT - 7}",
            "y": f"{_y(value, top) + 4:.2f}",
            "value": f"{value}",
        }
        for value in range(0, top + 1, step)
    ]


def _marks(count: int, width: int) -> list[dict[str, str]]:
    """Numbers below the bars: in the middle of a bar that is one number, at the left edge of one that is several."""
    every = _step(count / MOST_LABELS)
    shift = 0.5 if width == 1 else 0.0
    y = HEIGHT - BOTTOM + 17
    return [
        {"x": f"{_x(index + shift, count):.2f}", "y": f"{y}", "value": f"{index * width}"}
        for index in range(0, count, every)
    ]
