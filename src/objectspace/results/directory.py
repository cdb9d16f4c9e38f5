"""A heap of images taken apart into a directory, a batch at a time; the same command goes on with it.

    frames/*.png         the images of animations and videos, which have no file of their own
    .journal.sqlite      what is finished, and what was found: the same command continues, and adds new images

Reads sources one after another and keeps no more than a batch, so a million files take no more memory than a hundred.
Every image is taken apart once. What else there is in the directory is for subclasses to say: `decomposition.py` makes
what `objectspace decompose` gives, `labels/labelling.py` groups what was found.
"""

import io
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

from PIL import Image

from objectspace.errors import UserError
from objectspace.io.files import shown, write_atomically
from objectspace.io.images import BadImage, read_deep, read_image
from objectspace.io.paths import ImageFile, NoImages
from objectspace.io.progress import Progress
from objectspace.io.view import stretched
from objectspace.models.base import SceneModel
from objectspace.models.card import Unexplained
from objectspace.models.parts.grid import GridModel
from objectspace.results import remarks
from objectspace.results.batch import Batch, Frame
from objectspace.results.journal import Journal
from objectspace.results.options import DecomposeOptions
from objectspace.results.record import Record
from objectspace.scene import Picture, Scene

JOURNAL = ".journal.sqlite"


@dataclass(frozen=True)
class Summary:
    """What there is now."""

    images: int
    objects: int
    new: int
    seconds: float
    problems: int


class ResultsDirectory(ABC):
    """The directory `out`, made with a model that is called `name`."""

    results: ClassVar[tuple[str, ...]]  # the names of what is written into it

    def __init__(
        self,
        out: Path,
        model: SceneModel,
        name: str,
        options: DecomposeOptions,
        usual: Unexplained | None = None,
    ) -> None:
        """`usual` is what the model leaves unexplained in the images that it was trained on."""
        self.out, self.model, self.name, self.options, self.usual = out, model, name, options, usual
        self.weights = fingerprint(model)
        self.view = model.config.view
        if self.view.stretches:  # which is done here, once, so that all that is drawn shows what the model saw
            self.model = model.seeing(self.view.without_stretch)
        if options.price is not None and not isinstance(model, GridModel):
            raise UserError(f"--price is for models of cells, and a {model.config.kind} has none: leave it out")
        if options.tile and not isinstance(model, GridModel):
            raise UserError(f"--tile is for models of cells, and a {model.config.kind} has none: leave it out")
        self._tiled = options.tile or self.view.scale > 0
        self._largest = 0, 0
        self._brightest = 0
        if options.labels is not None:
            options.labels.check_made_with(name, self.weights)
        self._new = self._problems = 0

    def settings(self) -> dict[str, Any]:
        """What must stay the same for a directory to be continued."""
        return {"weights of --model": self.weights} | self.options.settings()

    @abstractmethod
    def write(self, name: str, frame: Frame, scene: Scene) -> None:
        """Write the files of one image."""

    @abstractmethod
    def assemble(self, journal: Journal, say: Callable[[str], None]) -> None:
        """Write the files about all images."""

    def wants_pictures(self, number: int) -> bool:
        """Whether a batch that begins with this image is asked for the background and pictures, too."""
        return self.options.pictures

    def noted(self, journal: Journal, number: int, place: str, frame: Frame, scene: Scene) -> None:  # noqa: B027
        """Do what is left to do once an image is in the journal; `scene` has the pictures that were wanted."""

    def run(self, sources: Iterable[ImageFile | NoImages], total: int | None, say: Callable[[str], None]) -> Summary:
        """Take apart what is not done yet, then write what is about all images, and say what had to be left out.

        `total` is for the progress bar.
        """
        start = time.monotonic()
        sources = iter(sources)
        first = next(sources, None)
        if first is None:
            raise UserError("there is nothing to take apart: no path was given")
        _refuse_foreign(self.out, self.results)
        try:
            with Journal(self.out / JOURNAL, self.settings()) as journal:
                with Progress("decomposing", total) as progress:
                    self._take_apart(journal, chain([first], sources), progress)
                self.assemble(journal, say)
                self._remark(journal, say)
                for path, reason in journal.problems():
                    say(f"skipped: {shown(path)}: {reason}")
                return Summary(*journal.totals, self._new, time.monotonic() - start, self._problems)
        except (OSError, sqlite3.Error) as error:
            where, why = getattr(error, "filename", None), getattr(error, "strerror", None)
            reason = f"cannot write {where or self.out}: {why or error}"
            raise UserError(f"{reason}. What is finished is kept, and the same command continues") from error

    def _remark(self, journal: Journal, say: Callable[[str], None]) -> None:
        """Say what may have gone wrong."""
        (images, objects), size = journal.totals, self.model.config.image_size
        notes = [None if self._tiled else remarks.shrunk(self._largest, size)]
        if self._new:
            notes.append(remarks.dark(self._brightest))
        if self.view.stretches:
            notes.append("note: brightness was stretched as in training (model.view)")
        for note in filter(None, notes):
            say(note)
        for line in remarks.unlike_training(journal, self.usual):
            say(line)
        if images and not objects:
            say(remarks.nothing_found(images, self._tiled, self._largest, size))

    def _take_apart(self, journal: Journal, sources: Iterable[ImageFile | NoImages], progress: Progress) -> None:
        waiting = Batch()
        for source in sources:
            if isinstance(source, NoImages):
                self._skip(journal, source.path, source.reason)
                continue
            stamp = source.stamp()
            if not journal.is_finished(source.key, stamp) and not waiting.holds(source):
                try:
                    for number, pixels in self._frames(source):
                        if not journal.has_frame(source.key, number, stamp):
                            waiting.frames.append(Frame(source, stamp, number, pixels))
                        if waiting.is_full(self.options.batch):
                            waiting = self._finish(journal, waiting)
                    waiting.ended.append((source, stamp))
                except BadImage as error:
                    self._skip(journal, source.path, error.reason)
            progress.advance()
        self._finish(journal, waiting)

    def _frames(self, source: ImageFile) -> Iterator[tuple[int | None, Picture]]:
        """The images in a file as the model sees their brightness."""
        if not self.view.stretches:
            yield from source.frames()
            return
        for number, photo in source.deep_frames():
            yield number, stretched(photo, self.view)

    def _skip(self, journal: Journal, path: str, reason: str) -> None:
        if self.options.strict:
            raise UserError(f"{shown(path)} {reason}. Without --strict it would be skipped")
        journal.add_problem(path, reason)
        self._problems += 1

    def _finish(self, journal: Journal, batch: Batch) -> Batch:
        """Take a batch apart, write its files, note it down; gives the next, empty batch."""
        for frame in batch.frames:
            height, width = frame.pixels.shape[:2]
            self._brightest = max(self._brightest, int(frame.pixels.max()))
            self._largest = max(self._largest[0], height), max(self._largest[1], width)
        numbers = journal.numbers_for((frame.source.key, frame.number) for frame in batch.frames)
        wanted = self.wants_pictures(min(numbers, default=0))
        scenes = self.decomposed([frame.pixels for frame in batch.frames], pictures=wanted)
        with journal.batch():
            for frame, scene in zip(batch.frames, scenes, strict=True):
                key, name = frame.source.key, journal.name_for(frame.source.key, frame.number)
                kept = scene if self.options.pictures else bare(scene)
                self.write(name, frame, kept)
                place, origin = shown(frame.source.path), None
                if frame.number is not None:
                    place, origin = shown(str(self._frame_file(name))), place
                number = journal.add(key, frame.number, frame.stamp, name, place, origin, kept)
                self.noted(journal, number, place, frame, scene)
            for source, stamp in batch.ended:
                journal.finish(source.key, stamp)
        self._new += len(scenes)
        return Batch()

    def decomposed(self, images: list[Picture], pictures: bool) -> list[Scene]:
        """The scenes of images, labelled; with background and `pictures`, or with neither."""
        labels, threshold, price = self.options.labels, self.options.threshold, self.options.price
        asked: dict[str, Any] = {"background": pictures, "pictures": pictures, "batch": self.options.batch}
        if price is not None:
            asked["price"] = price  # which only models of cells take
        if isinstance(self.model, GridModel):
            asked["leftovers"] = self.options.leftovers
            if self.options.tile:
                asked |= {"tile": True, "scale": self.options.tile_scale}
        scenes = self.model.decompose(images, threshold, **asked)
        return scenes if labels is None else [labels.apply(scene) for scene in scenes]

    def write_frame(self, name: str, frame: Frame) -> None:
        """The image itself, if it has no file of its own."""
        if frame.number is not None:
            write_png(self._frame_file(name), Image.fromarray(frame.pixels))

    def image_of(self, record: Record, say: Callable[[str], None], where: str) -> Picture | None:
        """The image that a record is about; if it is gone since, says that it will be missing in the file `where`."""
        try:
            if record.frame is not None:
                return read_image(self._frame_file(record.name))  # written as the model saw it
            path = Path(record.key)
            return stretched(read_deep(path), self.view) if self.view.stretches else read_image(path)
        except BadImage as error:
            say(f"not in {where}: {record.file_name}: {error.reason}")
            return None

    def _frame_file(self, name: str) -> Path:
        return self.out / "frames" / f"{name}.png"


def fingerprint(model: SceneModel) -> str:
    """The same for models that do the same: of the config and all weights."""
    plain = {"view"} if model.config.view.is_plain else set[str]()  # which once could not be said
    digest = blake2b(f"{model.config.model_dump_json(exclude=plain)} {model.final}".encode(), digest_size=6)
    for name, values in model.state_dict().items():
        digest.update(name.encode())
        digest.update(values.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def bare(scene: Scene) -> Scene:
    """A scene as a model gives it when neither the background nor pictures are asked for."""
    in_parts = any(part.box is not None for part in scene.components)  # of a model that has nothing but components
    return replace(
        scene,
        objects=tuple(item.changed(crop=None) for item in scene.objects),
        components=tuple(replace(part, image=None) for part in scene.components) if in_parts else (),
        reconstruction=None,
        background=None,
        foreground=None,
        alpha=None,
    )


def write_png(path: Path, picture: Image.Image) -> None:
    """Write a picture, whole or not at all."""
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG", compress_level=3)
    write_atomically(path, buffer.getvalue(), durable=False)


def _refuse_foreign(out: Path, results: Sequence[str]) -> None:
    """Results are never written over files that came from elsewhere."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file: give a directory as --out")
    if (out / JOURNAL).exists():
        return
    for name in results:
        if (out / name).exists():
            raise UserError(f"{out / name} is there already, and not from this command: give another --out")
