"""A whole heap of images taken apart into a directory of results.

    annotations.json     COCO: boxes, masks, scores
    scenes/*.json        one `Scene` an image
    overlays/*.png       boxes and masks to look at
    report.html          the first images as a page
    crops/*/, masks/     on request
    frames/*.png         the images of animations and videos, which have no file of their own
    .journal.sqlite      what is finished: the same command continues, and adds new images
    .page/*.html         the page's part of each image, as long as it is not complete: more images can still come

Reads sources one after another and keeps no more than a batch, so a million files take no more memory than a hundred.
Every image is taken apart once: those that the page shows with the background and pictures, which nothing else needs.
"""

import io
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PIL import Image

from objectspace import __version__
from objectspace.errors import UserError
from objectspace.io.files import shown, write_atomically
from objectspace.io.images import BadImage, read_image
from objectspace.io.paths import Nothing, Source
from objectspace.io.progress import Progress
from objectspace.labels.names import Labels
from objectspace.models.base import SceneModel
from objectspace.models.parts.grid import GridModel
from objectspace.reports.html import ReportWriter, report_section
from objectspace.reports.pictures import beside, factor_to_see, palette, with_boxes, with_masks
from objectspace.results.coco import OBJECT, write_coco
from objectspace.results.counts import write_counts
from objectspace.results.cutouts import crops, label_map
from objectspace.results.journal import Journal
from objectspace.results.label_studio import write_label_studio
from objectspace.results.latents import write_latents
from objectspace.results.record import Record
from objectspace.scene import Picture, Scene
from objectspace.video import episode
from objectspace.video.animation import write_gif

JOURNAL = ".journal.sqlite"
RESULTS = ("annotations.json", "scenes", "overlays", "report.html", "crops", "masks", "frames")
SECTIONS = ".page"
COCO_NOTE, PAGE_NOTE = "annotations.json", "report.html"  # what the journal knows about them
LARGEST_BATCH = 2**24  # pixels


@dataclass(frozen=True)
class DecomposeOptions:
    """What is wanted beyond `annotations.json` and `scenes/`."""

    threshold: float = 0.5
    batch: int = 16
    price: float | None = None  # nats that an object must be worth for each of its pixels; None: the model's own
    leftovers: bool = True  # whether what a model finds and cannot draw is there
    overlays: bool = True
    crops: bool = False
    masks: bool = False
    pictures: bool = False  # the background and all pictures in every scene's file
    report_images: int = 200  # how many images the page shows; 0: no page
    latents: Path | None = None
    label_studio: Path | None = None
    csv: Path | None = None
    gif: Path | None = None
    fps: float = 15  # what an Atari game shows at the usual frame skip of 4
    scale: float | None = None  # of the GIF; None enlarges small images
    labels: Labels | None = None
    strict: bool = False

    def settings(self) -> dict[str, Any]:
        """What must stay the same for a directory to be continued."""
        given = {name: getattr(self, name) for name in ("overlays", "crops", "masks", "pictures")}
        labels = None if self.labels is None else self.labels.fingerprint
        chosen = {"--threshold": self.threshold, "--price": self.price, "--labels": labels}
        chosen["--no-leftovers"] = not self.leftovers
        return chosen | {f"--{name}": each for name, each in given.items()}


@dataclass(frozen=True)
class Summary:
    """What there is now."""

    images: int
    objects: int
    new: int
    seconds: float
    problems: int


@dataclass(frozen=True, eq=False)
class Frame:
    """An image that waits to be taken apart."""

    source: Source
    stamp: str
    number: int | None
    pixels: Picture


@dataclass
class _Waiting:
    """A batch in the making: its frames, and the sources that are at their end once these are done."""

    frames: list[Frame] = field(default_factory=list)
    ended: list[tuple[Source, str]] = field(default_factory=list)

    def is_full(self, batch: int) -> bool:
        pixels = sum(frame.pixels.shape[0] * frame.pixels.shape[1] for frame in self.frames)
        return len(self.frames) >= batch or pixels >= LARGEST_BATCH

    def holds(self, source: Source) -> bool:
        """Whether the same file was named twice."""
        return any(source.key == other.key for other, _ in self.ended)


class Decomposition:
    """The directory `out`, made with a model that is called `name`.

    What is written for an image (`write`) and about all of them (`assemble`) is for subclasses to change, with the
    names of those files (`results`) and what a directory cannot be continued without (`settings`).
    """

    results: ClassVar[tuple[str, ...]] = RESULTS

    def __init__(self, out: Path, model: SceneModel, name: str, options: DecomposeOptions) -> None:
        self.out, self.model, self.name, self.options = out, model, name, options
        self.weights = fingerprint(model)
        if options.price is not None and not isinstance(model, GridModel):
            raise UserError(f"--price is for models of cells, and a {model.config.kind} has none: leave it out")
        if options.labels is not None:
            options.labels.check_made_with(name, self.weights)
        self._new = self._problems = 0

    def settings(self) -> dict[str, Any]:
        """What must stay the same for a directory to be continued."""
        return {"weights of --model": self.weights} | self.options.settings()

    def run(self, sources: Iterable[Source | Nothing], total: int | None, say: Callable[[str], None]) -> Summary:
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
                for path, reason in journal.problems():
                    say(f"skipped: {shown(path)}: {reason}")
                return Summary(*journal.totals, self._new, time.monotonic() - start, self._problems)
        except (OSError, sqlite3.Error) as error:
            where, why = getattr(error, "filename", None), getattr(error, "strerror", None)
            reason = f"cannot write {where or self.out}: {why or error}"
            raise UserError(f"{reason}. What is finished is kept, and the same command continues") from error

    def _take_apart(self, journal: Journal, sources: Iterable[Source | Nothing], progress: Progress) -> None:
        waiting = _Waiting()
        for source in sources:
            if isinstance(source, Nothing):
                self._skip(journal, source.path, source.reason)
                continue
            stamp = source.stamp()
            if not journal.is_finished(source.key, stamp) and not waiting.holds(source):
                try:
                    for number, pixels in source.frames():
                        if not journal.has_frame(source.key, number, stamp):
                            waiting.frames.append(Frame(source, stamp, number, pixels))
                        if waiting.is_full(self.options.batch):
                            waiting = self._finish(journal, waiting)
                    waiting.ended.append((source, stamp))
                except BadImage as error:
                    self._skip(journal, source.path, error.reason)
            progress.advance()
        self._finish(journal, waiting)

    def _skip(self, journal: Journal, path: str, reason: str) -> None:
        if self.options.strict:
            raise UserError(f"{shown(path)} {reason}. Without --strict it would be skipped")
        journal.add_problem(path, reason)
        self._problems += 1

    def _finish(self, journal: Journal, batch: _Waiting) -> _Waiting:
        """Take a batch apart, write its files, note it down; gives the next, empty batch."""
        numbers = journal.numbers_for((frame.source.key, frame.number) for frame in batch.frames)
        wanted = self.options.pictures or min(numbers, default=0) <= self.options.report_images
        images = [frame.pixels for frame in batch.frames]
        scenes = self._decomposed(images, background=wanted, pictures=wanted)
        with journal.batch():
            for frame, scene in zip(batch.frames, scenes, strict=True):
                key, name = frame.source.key, journal.name_for(frame.source.key, frame.number)
                kept = scene if self.options.pictures else bare(scene)
                self.write(name, frame, kept)
                place, origin = shown(frame.source.path), None
                if frame.number is not None:
                    place, origin = shown(str(self._frame_file(name))), place
                number = journal.add(key, frame.number, frame.stamp, name, place, origin, kept)
                if number <= self.options.report_images:
                    self._write_section(number, place, frame.pixels, scene)
                    journal.set_note(PAGE_NOTE, "")
            if scenes:
                journal.set_note(COCO_NOTE, "")
            for source, stamp in batch.ended:
                journal.finish(source.key, stamp)
        self._new += len(scenes)
        return _Waiting()

    def _decomposed(self, images: list[Picture], background: bool, pictures: bool) -> list[Scene]:
        """The scenes of images, labelled."""
        labels, threshold, price = self.options.labels, self.options.threshold, self.options.price
        asked: dict[str, Any] = {"background": background, "pictures": pictures, "batch": self.options.batch}
        if price is not None:
            asked["price"] = price  # which only models of cells take
        if isinstance(self.model, GridModel):
            asked["leftovers"] = self.options.leftovers
        scenes = self.model.decompose(images, threshold, **asked)
        return scenes if labels is None else [labels.apply(scene) for scene in scenes]

    def write_frame(self, name: str, frame: Frame) -> None:
        """The image itself, if it has no file of its own."""
        if frame.number is not None:
            _write_png(self._frame_file(name), Image.fromarray(frame.pixels))

    def write(self, name: str, frame: Frame, scene: Scene) -> None:
        """The files of one image."""
        write_atomically(self.out / "scenes" / f"{name}.json", scene.to_json().encode(), durable=False)
        self.write_frame(name, frame)
        if self.options.overlays:
            _write_png(self.out / "overlays" / f"{name}.png", overlay(frame.pixels, scene))
        if self.options.masks:
            _write_png(self.out / "masks" / f"{name}.png", label_map(scene, palette(len(scene.found))))
        if self.options.crops:
            folder = self.out / "crops" / name
            shutil.rmtree(folder, ignore_errors=True)  # of an image that has changed since
            for number, crop in enumerate(crops(frame.pixels, scene)):
                _write_png(folder / f"{number:03d}.png", crop)

    def assemble(self, journal: Journal, say: Callable[[str], None]) -> None:
        """The files about all images."""
        kinds = () if self.options.labels is None else self.options.labels.kinds
        path = self.out / "annotations.json"
        if journal.note(COCO_NOTE) != "whole" or not path.exists():
            info: dict[str, Any] = {
                "description": "objects found by objectspace",
                "version": __version__,
                "model": self.name,
            }
            info |= {"threshold": self.options.threshold}
            if self.options.price is not None:
                info |= {"price": self.options.price}
            write_coco(path, journal, info, kinds or (OBJECT,))
            journal.set_note(COCO_NOTE, "whole")
        if self.options.csv is not None:
            write_counts(self.options.csv, journal)
        if self.options.latents is not None:
            write_latents(self.options.latents, journal, self.name)
        if self.options.label_studio is not None:
            write_label_studio(self.options.label_studio, journal, self.name)
        if self.options.gif is not None:
            with Progress(f"drawing {self.options.gif.name}", journal.totals[0]) as progress:
                read = partial(self.image_of, say=say, where=self.options.gif.name)
                shown = episode.pictures(journal, read, kinds, self.options.scale)
                if not write_gif(self.options.gif, _counted(shown, progress), self.options.fps):
                    say(f"not written: {self.options.gif}: there is no image to show")
        images, limit = journal.totals[0], self.options.report_images
        shows = f"the first {min(images, limit)} images"
        page = self.out / "report.html"
        if min(images, limit) and (journal.note(PAGE_NOTE) != shows or not page.exists()):
            self._write_page(page, journal, shows if images > limit else f"{images} images", say)
            journal.set_note(PAGE_NOTE, shows)

    def _write_page(self, path: Path, journal: Journal, title: str, say: Callable[[str], None]) -> None:
        """The page, of the parts that were made when the images were taken apart.

        Parts are missing where no page was asked for before, or a smaller one: only these images are taken apart again.
        """
        with (
            ReportWriter(path, title, self.name) as report,
            Progress("drawing report.html", min(journal.totals[0], self.options.report_images)) as progress,
        ):
            for batch in self._batches(journal.first(self.options.report_images)):
                self._make_missing([record for record in batch if self._section(record.number) is None], say)
                for record in batch:
                    content = self._section(record.number)
                    if content is not None:
                        found = np.array([item.box for item in record.objects], np.float64).reshape(-1, 4)
                        report.add_section(content, found)
                progress.advance(len(batch))
        if journal.totals[0] >= self.options.report_images:  # it will not grow any more
            shutil.rmtree(self.out / SECTIONS, ignore_errors=True)

    def _batches(self, records: Iterable[Record]) -> Iterator[list[Record]]:
        """Records of as many images as may be worked on at a time."""
        batch: list[Record] = []
        for record in records:
            batch.append(record)
            pixels = sum(each.height * each.width for each in batch)
            if len(batch) >= self.options.batch or pixels >= LARGEST_BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def _make_missing(self, records: Sequence[Record], say: Callable[[str], None]) -> None:
        """The page's parts for these images; one that is gone has none."""
        read = [(record, self.image_of(record, say, "report.html")) for record in records]
        there = [(record, image) for record, image in read if image is not None]
        scenes = self._decomposed([image for _, image in there], background=True, pictures=True)
        for (record, image), scene in zip(there, scenes, strict=True):
            self._write_section(record.number, record.file_name, image, scene)

    def _write_section(self, number: int, name: str, image: Picture, scene: Scene) -> None:
        content = report_section(number, name, image, scene)
        write_atomically(self._section_file(number), content.encode(), durable=False)

    def _section(self, number: int) -> str | None:
        """The page's part for an image; None if there is none, or a power cut has left some of it."""
        try:
            content = self._section_file(number).read_text(encoding="utf-8")
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        return content if content.rstrip().endswith("</section>") else None

    def _section_file(self, number: int) -> Path:
        return self.out / SECTIONS / f"{number:06d}.html"

    def image_of(self, record: Record, say: Callable[[str], None], where: str) -> Picture | None:
        """The image that a record is about; if it is gone since, says that it will be missing in the file `where`."""
        try:
            return read_image(Path(record.key) if record.frame is None else self._frame_file(record.name))
        except BadImage as error:
            say(f"not in {where}: {record.file_name}: {error.reason}")
            return None

    def _frame_file(self, name: str) -> Path:
        return self.out / "frames" / f"{name}.png"


def fingerprint(model: SceneModel) -> str:
    """The same for models that do the same: of the config and all weights."""
    digest = blake2b(f"{model.config.model_dump_json()} {model.final}".encode(), digest_size=6)
    for name, values in model.state_dict().items():
        digest.update(name.encode())
        digest.update(values.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def overlay(image: Picture, scene: Scene) -> Image.Image:
    """An image with its boxes, and its masks beside it; a small one enlarged."""
    factor = factor_to_see(image)
    return Image.fromarray(beside(with_boxes(image, scene, factor), with_masks(image, scene, factor)))


def bare(scene: Scene) -> Scene:
    """A scene as a model gives it when neither the background nor pictures are asked for."""
    in_parts = any(part.box is not None for part in scene.components)  # of a model that has nothing but components
    return replace(
        scene,
        objects=tuple(replace(item, crop=None) for item in scene.objects),
        components=tuple(replace(part, image=None) for part in scene.components) if in_parts else (),
        reconstruction=None,
        background=None,
        foreground=None,
        alpha=None,
    )


def _write_png(path: Path, picture: Image.Image) -> None:
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG", compress_level=3)
    write_atomically(path, buffer.getvalue(), durable=False)


def _counted(pictures: Iterable[Picture], progress: Progress) -> Iterator[Picture]:
    for picture in pictures:
        yield picture
        progress.advance()


def _refuse_foreign(out: Path, results: Sequence[str]) -> None:
    """Results are never written over files that came from elsewhere."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file: give a directory as --out")
    if (out / JOURNAL).exists():
        return
    for name in results:
        if (out / name).exists():
            raise UserError(f"{out / name} is there already, and not from this command: give another --out")
