"""The charts of the comparison, after those of the paper: latency against capacity, pixel error against time."""

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator

from objectspace.compare.convergence import Curve
from objectspace.compare.latency import NO_ROOM, TOO_SLOW, Point
from objectspace.io.files import write_atomically

COLORS = ("#2b6cb0", "#dd6b20", "#2f855a", "#805ad5", "#c53030", "#4a5568", "#b7791f", "#319795")
MARKS = {TOO_SLOW: ("^", "too slow: estimated"), NO_ROOM: ("X", "out of memory: estimated")}


def latency_chart(points: Sequence[Point], path: Path) -> None:
    """Seconds and memory of a step, and seconds of inference, against the capacity.

    What was not run is marked where a probe estimates it.
    """
    figure = Figure(figsize=(17, 4.2), layout="constrained")
    left, right, third = figure.subplots(1, 3)
    colors = _colors([point.model for point in points])
    for model, color in colors.items():
        mine = sorted((point for point in points if point.model == model), key=lambda point: point.capacity)
        _draw(left, mine, [(point.seconds, point.estimate) for point in mine], color)
        _draw(right, mine, [(_giga(point.peak), _giga(point.estimated_peak)) for point in mine], color)
        third.plot(
            [point.capacity for point in mine if point.inference is not None],
            [point.inference for point in mine if point.inference is not None],
            "o-",
            color=color,
        )
    labels = {left: "seconds a gradient step", right: "peak memory of a step, GB", third: "seconds to infer a batch"}
    for axes, label in labels.items():
        shown = [(point.inference, None) if axes is third else (point.seconds, point.estimate) for point in points]
        if not any(value is not None for pair in shown for value in pair):
            axes.set_ylim(1, 10)  # nothing ran, not even a probe: a logarithmic axis needs some range
        axes.set(xlabel="decomposition capacity", ylabel=label, xscale="log", yscale="log")
        capacities = sorted({4 ** round(_log4(point.capacity)) for point in points})
        axes.set_xticks(capacities, [str(capacity) for capacity in capacities])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    handles = [Line2D([], [], color=color, marker="o", label=model) for model, color in colors.items()]
    used = {point.status for point in points}
    handles += [
        Line2D([], [], color="#4a5568", linestyle=":", marker=mark, markerfacecolor="white", label=label)
        for status, (mark, label) in MARKS.items()
        if status in used
    ]
    figure.legend(handles=handles, frameon=False, fontsize="small", loc="outside right upper")
    _save(figure, path)


def convergence_chart(curves: Sequence[Curve], path: Path) -> None:
    """Pixel error on held-out images against minutes of training, one panel a grid."""
    grids = sorted({curve.candidate.grid for curve in curves})
    figure = Figure(figsize=(0.6 + 4 * len(grids), 3.8), layout="constrained")
    panels = figure.subplots(1, len(grids), sharey=True, squeeze=False)[0]
    colors = _colors([curve.candidate.model for curve in curves])
    for axes, grid in zip(panels, grids, strict=True):
        for curve in curves:
            if curve.candidate.grid == grid:
                known = curve.validations
                minutes, errors = [each.seconds / 60 for each in known], [each.squared_error for each in known]
                label = f"{curve.candidate.model} {curve.candidate.config.capacity}"
                axes.plot(minutes, errors, color=colors[curve.candidate.model], marker=".", label=label)
        axes.set(title=f"{grid} x {grid}", xlabel="minutes of training", yscale="log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize="small")
    panels[0].set_ylabel("squared error an image, held out")
    _save(figure, path)


def _draw(axes: Any, points: Sequence[Point], values: Sequence[tuple[float | None, float | None]], color: str) -> None:
    """A model's line through what was measured, and dotted on to what was estimated."""
    known = [(point.capacity, value) for point, (value, _) in zip(points, values, strict=True) if value is not None]
    axes.plot([x for x, _ in known], [y for _, y in known], "o-", color=color)
    last = known[-1:]
    for point, (value, estimate) in zip(points, values, strict=True):
        if value is None and estimate is not None and point.status in MARKS:
            here = (point.capacity, estimate)
            axes.plot(*zip(*last, here, strict=True), ":", color=color)
            axes.plot(*here, marker=MARKS[point.status][0], color=color, markerfacecolor="white", markersize=8)
            last = [here]
        elif value is None and point.status == NO_ROOM:  # not even a probe had room: at the upper edge
            mark = MARKS[point.status][0]
            axes.plot(point.capacity, 0.97, mark, color=color, markersize=8, transform=axes.get_xaxis_transform())


def _colors(models: Sequence[str]) -> dict[str, str]:
    return {model: COLORS[number % len(COLORS)] for number, model in enumerate(dict.fromkeys(models))}


def _giga(size: int | None) -> float | None:
    return None if size is None else size / 1e9


def _log4(value: float) -> float:
    return math.log(value, 4)


def _save(figure: Figure, path: Path) -> None:
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=110)
    write_atomically(path, content.getvalue())
