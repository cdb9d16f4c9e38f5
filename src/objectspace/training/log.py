"""What a run tells while it runs: metrics.jsonl, TensorBoard, and a picture."""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from PIL import Image
from torch.utils.tensorboard import SummaryWriter

from objectspace.io.files import write_atomically
from objectspace.io.keys import by_new_names
from objectspace.io.lines import read_lines
from objectspace.reports.pictures import scene_rows
from objectspace.scene import Picture, Scene


class MetricsLog:
    """The log of a run, continued at `step`: what an interrupted run wrote beyond it is dropped."""

    def __init__(self, run: Path, step: int) -> None:
        self._run = run
        self._path = run / "metrics.jsonl"
        _keep_until(self._path, step)
        self._file = self._path.open("a", encoding="utf-8")
        self._board = SummaryWriter(str(run / "tensorboard"), purge_step=step + 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._board.close()

    def write(self, step: int, measures: Mapping[str, float | str]) -> None:
        """Add a line; numbers go to TensorBoard too."""
        self._file.write(json.dumps({"step": step} | dict(measures)) + "\n")
        self._file.flush()
        for name, value in measures.items():
            if isinstance(value, (int, float)) and np.isfinite(value):
                self._board.add_scalar(name, value, step)

    def picture(self, step: int, images: Sequence[Picture], scenes: Sequence[Scene]) -> None:
        """Write latest.png: one row an image, with all that the model makes of it."""
        rows = scene_rows(images, scenes)
        png = io.BytesIO()
        Image.fromarray(rows).save(png, format="PNG")
        write_atomically(self._run / "latest.png", png.getvalue())
        self._board.add_image("scenes", rows, step, dataformats="HWC")


def _keep_until(path: Path, step: int) -> None:
    """Drop the lines after `step`, and a torn last one; the others get today's names, so that a number has one."""
    if path.exists():
        numbered = (line for line in read_lines(path) if isinstance(line.get("step"), int))
        kept = (by_new_names(line) for line in numbered if line["step"] <= step)
        write_atomically(path, [f"{json.dumps(line)}\n".encode() for line in kept])
