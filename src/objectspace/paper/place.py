"""Where everything lies: data, runs, measurements and pages, made here or brought in.

    DIR/paper.json           how the directory was begun
    DIR/data/<name>          data sets, as `objectspace data` makes them
    DIR/runs/<name>          run directories, as `objectspace train` makes them
    DIR/measurements/*.json  what was measured, each with where it comes from
    DIR/pictures/*.png
    DIR/<item>.html, DIR/index.html

What somebody made before is used where it lies, and only read: `runs_from` and `data_from` have the same names in them.
"""

from dataclasses import dataclass
from pathlib import Path

from objectspace.errors import UserError
from objectspace.io.files import check_writable, read_json, write_json


@dataclass(frozen=True)
class Place:
    """A directory of the paper's items."""

    out: Path
    full: bool = False  # the paper's own recipes, steps and numbers of images
    runs_from: Path | None = None
    data_from: Path | None = None

    @property
    def measurements(self) -> Path:
        return self.out / "measurements"

    @property
    def pictures(self) -> Path:
        return self.out / "pictures"

    def run(self, name: str) -> Path:
        """A run's directory: the one that was brought in, if it has weights, or else our own."""
        brought = self.runs_from / name if self.runs_from is not None else None
        return brought if brought is not None and has_weights(brought) else self.out / "runs" / name

    def is_brought(self, run: Path) -> bool:
        """Whether a run is somebody else's, to be read only."""
        return self.runs_from is not None and run.parent == self.runs_from

    def data(self, name: str) -> Path:
        """A data set's directory: the one that was brought in, if it has training images, or else our own."""
        brought = self.data_from / name if self.data_from is not None else None
        return brought if brought is not None and has_split(brought, "train") else self.out / "data" / name

    def tested_on(self, name: str) -> Path:
        """Where the test images are: a data set that was brought in may have them in one of its own, `<name>-test`."""
        brought = self.data_from / f"{name}-test" if self.data_from is not None else None
        return brought if brought is not None and has_split(brought, "test") else self.data(name)

    def begin(self) -> None:
        """Find out now, not after hours, that nothing can be written, or that the directory is of another kind."""
        about = self.out / "paper.json"
        if about.exists():
            before = bool(read_json(about).get("full"))
            if before != self.full:
                how = "with --full" if before else "without --full"
                raise UserError(f"{self.out} was begun {how}: go on like that, or give another --out")
            return
        for folder in (self.runs_from, self.data_from):
            if folder is not None and not folder.is_dir():
                raise UserError(f"{folder} is no directory: give one with runs or data sets in it")
        check_writable(about)
        try:
            write_json(about, {"full": self.full})
        except OSError as error:
            raise UserError(f"cannot write into {self.out}: {error}; give another --out") from error


def has_split(data: Path, split: str) -> bool:
    """Whether a data set is there, and has images of a split."""
    return (data / split).is_dir()


def has_weights(run: Path) -> bool:
    """Whether a run has come to an end, or to a stop, that left weights."""
    return (run / "summary.json").exists() and (run / "model" / "config.json").exists()
