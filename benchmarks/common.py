"""What the measurements share: tables, JSON with the machine's description, a bar plot."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from objectspace.compare.machine import machine

RESULTS = Path(__file__).parent / "results"


def report(name: str, rows: Sequence[dict[str, Any]]) -> None:
    """Print the rows as a table and write them, with the machine, to results/<name>.json."""
    table = Table(*rows[0], title=name, box=None, header_style="bold", padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*(f"{value:,.2f}" if isinstance(value, float) else str(value) for value in row.values()))
    Console().print(table)
    RESULTS.mkdir(exist_ok=True)
    content = {"machine": machine(), "rows": list(rows)}
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n")


def bar_plot(name: str, labels: Sequence[str], values: Sequence[float], unit: str) -> None:
    """Write results/<name>.png with one bar a value."""
    figure = Figure(figsize=(7, 0.6 + 0.45 * len(labels)), layout="constrained")
    axes = figure.subplots()
    bars = axes.barh(range(len(labels)), values, color="#2b6cb0")
    axes.set_yticks(range(len(labels)), labels)
    axes.bar_label(bars, fmt="{:,.0f}", padding=3)
    axes.margins(x=0.12)
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / f"{name}.png", dpi=110)
