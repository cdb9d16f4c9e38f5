"""`report.html`: scenes as a page to look at, one file that needs nothing else and fetches nothing.

Reads images and their `Scene`s one at a time; the sections wait in a temporary file until the summary above them is
known, so memory does not grow with their number. The page appears under its name whole, or not at all.

The page forbids itself the network (`Content-Security-Policy`), and any style or script but its own, by their hashes.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from objectspace import __version__
from objectspace.errors import UserError
from objectspace.evaluation.boxes import as_boxes
from objectspace.io.files import write_atomically
from objectspace.io.keys import by_new_names
from objectspace.reports.page.section import section
from objectspace.reports.page.shell import part, pieces, policy
from objectspace.reports.page.summary import MEASURES, Tally, plain_key, summary
from objectspace.scene import Picture, Scene

# Without JavaScript, each object number that is to be lit needs a rule; a page with more objects is still complete.
MOST_RULES = 128


class ReportWriter:
    """Writes a page: `with ReportWriter(path, title, model) as report: report.add(...)`."""

    def __init__(self, path: Path, title: str, model: str) -> None:
        self._path, self._title, self._model = Path(path), title, model
        self._metrics: dict[str, float | None] = {}
        self._tally = Tally()
        self._sections: IO[str] | None = None

    def __enter__(self) -> Self:
        if self._path.is_dir():
            raise UserError(f"{self._path} is a directory; the report needs the name of a file, such as report.html")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # Without a name: gone when it is closed, however that comes about.
            self._sections = tempfile.TemporaryFile("w+", encoding="utf-8", newline="", dir=self._path.parent)
        except OSError as error:
            raise UserError(f"cannot write a report into {self._path.parent}: {error.strerror}") from error
        return self

    def add(self, name: str, image: Picture, scene: Scene, truth: NDArray[np.float64] | None = None) -> None:
        """Add an image (H, W, 3) with its scene and, where they are known, the true boxes (m, 4)."""
        content = report_section(self._tally.images + 1, name, image, scene, truth)
        self.add_section(content, scene.boxes, None if truth is None else as_boxes(truth))

    def add_section(self, content: str, found: NDArray[np.float64], truth: NDArray[np.float64] | None = None) -> None:
        """Add what `report_section` made, with the boxes (n, 4) that were found and the true ones (m, 4)."""
        if self._sections is None:
            raise ValueError("a report takes images only inside its with block")
        self._sections.write(content)
        self._tally.add(found, truth)

    def count(self, found: NDArray[np.float64]) -> None:
        """Count an image, by the boxes (n, 4) that were found in it, that the page does not show."""
        self._tally.add(found, None, shown=False)

    def metrics(self, values: Mapping[str, object]) -> None:
        """Numbers for the summary, by the keys of `objectspace evaluate`; None is one that is not defined.

        What is no number and no known measure is left out, so the whole table of an evaluation can be given.
        """
        for key, value in by_new_names(values).items():
            if isinstance(value, int | float):
                self._metrics[key] = float(value)
            elif value is None and plain_key(key) in MEASURES:
                self._metrics[key] = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._sections is not None
        with self._sections as sections:
            self._sections = None
            if kind is None:
                self._assemble(sections)

    def _assemble(self, sections: IO[str]) -> None:
        sections.seek(0)
        style, script = part("style.css") + _rules(min(self._tally.most, MOST_RULES)), part("script.js")
        page = pieces(
            "page.html",
            title=self._title,
            policy=policy(style, script),
            style=style,
            script=script,
            summary=summary(self._tally, self._model, self._metrics),
            sections=map(Markup, iter(lambda: sections.read(1 << 20), "")),
            version=__version__,
        )
        try:
            write_atomically(self._path, (piece.encode() for piece in page))
        except OSError as error:
            raise UserError(f"cannot write {self._path}: {error.strerror}") from error


def report_section(
    number: int, name: str, image: Picture, scene: Scene, truth: NDArray[np.float64] | None = None
) -> str:
    """The part of a page for one image (H, W, 3); its number, from 1, is what links within the page go by."""
    if image.shape != (scene.height, scene.width, 3) or image.dtype != np.uint8:
        size = f"({scene.height}, {scene.width}, 3)"
        raise ValueError(f"the image must be uint8 {size} as its scene, but is {image.dtype} {image.shape}")
    return section(number, name, image, scene, None if truth is None else as_boxes(truth))


def _rules(count: int) -> Markup:
    """Style that lights an object's parts when one of them is pointed at, for pages that run no script."""
    state = ":is(:hover, :focus-visible, :target)"
    return Markup(
        "".join(f":root:not(.js) .scene:has(.thing.k{k}{state}) .k{k} {{ --lit: 1 }}\n" for k in range(count))
    )
