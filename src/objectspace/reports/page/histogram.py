"""A histogram as inline SVG: it takes its colours from the page, light or dark.

Reads how often each whole number occurs; gives SVG with labelled axes.
"""

import math
from collections import Counter
from collections.abc import Mapping

from objectspace.reports.page.markup import escaped, plural

WIDTH, HEIGHT = 480, 240
LEFT, RIGHT, TOP, BOTTOM = 52, 8, 14, 44  # what the axes and their labels need
MOST_BARS, MOST_LABELS, MOST_LINES = 24, 12, 5


def histogram(found: Mapping[int, int], truth: Mapping[int, int] | None, across: str, up: str) -> str:
    """Bars for `found`, dashed frames for `truth`; `across` and `up` (a singular noun) say what the axes count."""
    largest = max([*found, *(truth or ()), 1])
    width = _step((largest + 1) / MOST_BARS)
    bars, frames = _binned(found, width), _binned(truth or {}, width)
    count = largest // width + 1
    tallest = max([*bars.values(), *frames.values(), 1])
    step = _step(tallest / MOST_LINES)
    top = step * math.ceil(tallest / step)
    parts = [*_lines(top, step), *_marks(count, width)]
    for index in range(count):
        span = str(index) if width == 1 else f"{index * width} to {(index + 1) * width - 1}"
        parts.append(_bar(index, count, bars[index], top, "bar", f"{span}: {plural(bars[index], up)}"))
        if frames[index]:
            words = f"{span}: {plural(frames[index], up)} in truth"
            parts.append(_bar(index, count, frames[index], top, "dash", words))
    words = f"Histogram: {across}, from 0 to {largest}; {plural(sum(found.values()), up)} in all."
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escaped(words)}">{"".join(parts)}'
        f'<text class="axis" x="{(LEFT + WIDTH - RIGHT) / 2:g}" y="{HEIGHT - 6}" text-anchor="middle">{across}</text>'
        f'<text class="axis" x="{-(TOP + HEIGHT - BOTTOM) / 2:g}" y="12" text-anchor="middle"'
        f' transform="rotate(-90)">{up}s</text></svg>'
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


def _bar(index: int, count: int, value: int, top: int, kind: str, words: str) -> str:
    gap = min(3.0, 0.12 * (_x(1, count) - LEFT))
    x, y = _x(index, count) + gap, _y(value, top)
    size = f'width="{_x(1, count) - LEFT - 2 * gap:.2f}" height="{HEIGHT - BOTTOM - y:.2f}"'
    return f'<rect class="{kind}" x="{x:.2f}" y="{y:.2f}" {size}><title>{words}</title></rect>'


def _lines(top: int, step: int) -> list[str]:
    parts = []
    for value in range(0, top + 1, step):
        y = _y(value, top)
        kind = "line" if value else "line base"
        parts.append(f'<path class="{kind}" d="M{LEFT} {y:.2f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 7}" y="{y + 4:.2f}" text-anchor="end">{value}</text>')
    return parts


def _marks(count: int, width: int) -> list[str]:
    """Numbers below the bars: in the middle of a bar that is one number, at the left edge of one that is several."""
    every = _step(count / MOST_LABELS)
    shift = 0.5 if width == 1 else 0.0
    y = HEIGHT - BOTTOM + 17
    return [
        f'<text x="{_x(index + shift, count):.2f}" y="{y}" text-anchor="middle">{index * width}</text>'
        for index in range(0, count, every)
    ]
