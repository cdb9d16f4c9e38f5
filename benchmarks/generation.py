"""How many scenes a second the generators make, PNG and annotations written, with two workers.

python -m benchmarks.generation [--scale X]
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import bar_plot, report
from objectspace.data.atari import AtariSource
from objectspace.data.generate import generate
from objectspace.data.rooms import RoomsSource
from objectspace.data.source import Source
from objectspace.data.sprites import SpritesSource
from objectspace.data.streams import Stream

WORKERS = 2
SOURCES: list[tuple[str, Source, int, str]] = [
    ("rooms small, 128 x 128", RoomsSource(variant="small"), 1500, ""),
    ("rooms large, 128 x 128", RoomsSource(variant="large"), 1000, ""),
    ("sprites, 64 x 64", SpritesSource(), 10000, ""),
    ("Space Invaders, 128 x 128", AtariSource(games=("SpaceInvaders",)), 600, "SpaceInvaders"),
    ("River Raid, 128 x 128", AtariSource(games=("Riverraid",)), 600, "Riverraid"),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="make so many times the usual number of scenes")
    scale = parser.parse_args().scale
    rows: list[dict[str, Any]] = []
    for label, source, count, group in SOURCES:
        with tempfile.TemporaryDirectory() as folder:
            made = generate(
                source, Path(folder) / "set", [Stream("train", max(1, round(count * scale)), group)], WORKERS
            )
        rows.append(
            {
                "data": label,
                "workers": WORKERS,
                "scenes": made.new,
                "seconds": made.seconds,
                "scenes/s": made.new / made.seconds,
            }
        )
    report("generation", rows)
    bar_plot("generation", [row["data"] for row in rows], [row["scenes/s"] for row in rows], "scenes a second")


if __name__ == "__main__":
    main()
