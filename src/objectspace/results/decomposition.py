"""What `objectspace decompose` makes of a heap of images: a directory of results (see `directory.py`).

    annotations.json     COCO: boxes, masks, scores
    scenes/*.json        one `Scene` an image
    overlays/*.png       boxes and masks to look at
    report.html          the first images as a page
    crops/*/, masks/     on request; so is yolo/
    .page/*.html         the page's part of each image, as long as it is not complete: more images can still come

The images that the page shows are taken apart with the background and pictures, which nothing else needs.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PIL import Image

from objectspace import __version__
from objectspace.io.files import write_atomically
from objectspace.io.progress import Progress
from objectspace.reports.html import ReportWriter, report_section
from objectspace.reports.pictures import beside, factor_to_see, palette, with_boxes, with_masks
from objectspace.results.batch import Frame, is_full
from objectspace.results.coco import OBJECT, write_coco
from objectspace.results.counts import beside as beside_table
from objectspace.results.counts import write_counts, write_objects
from objectspace.results.cutouts import crops, label_map
from objectspace.results.directory import ResultsDirectory, write_png
from objectspace.results.journal import Journal
from objectspace.results.label_studio import write_label_studio
from objectspace.results.latents import write_latents
from objectspace.results.record import Record
from objectspace.results.yolo import write_yolo
from objectspace.scene import Picture, Scene
from objectspace.video import episode
from objectspace.video.animation import write_gif

SECTIONS = ".page"
COCO_NOTE, PAGE_NOTE = "annotations.json", "report.html"  # what the journal knows about them


class Decomposition(ResultsDirectory):
    """The directory `out`, made with a model that is called `name`."""

    results: ClassVar[tuple[str, ...]] = (
        "annotations.json",
        "scenes",
        "overlays",
        "report.html",
        "crops",
        "masks",
        "frames",
        "yolo",
    )

    def wants_pictures(self, number: int) -> bool:
        return self.options.pictures or number <= self.options.report_images

    def write(self, name: str, frame: Frame, scene: Scene) -> None:
        """The files of one image."""
        write_atomically(self.out / "scenes" / f"{name}.json", scene.to_json().encode(), durable=False)
        self.write_frame(name, frame)
        if self.options.overlays:
            write_png(self.out / "overlays" / f"{name}.png", overlay(frame.pixels, scene))
        if self.options.masks:
            write_png(self.out / "masks" / f"{name}.png", label_map(scene, palette(len(scene.found))))
        if self.options.crops:
            folder = self.out / "crops" / name
            shutil.rmtree(folder, ignore_errors=True)  # of an image that has changed since
            for number, crop in enumerate(crops(frame.pixels, scene)):
                write_png(folder / f"{number:03d}.png", crop)

    def noted(self, journal: Journal, number: int, place: str, frame: Frame, scene: Scene) -> None:
        """Write the page's part of an image; what is about all images is to be written anew."""
        journal.set_note(COCO_NOTE, "")
        if number <= self.options.report_images:
            self._write_section(number, place, frame.pixels, scene)
            journal.set_note(PAGE_NOTE, "")

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
            write_objects(beside_table(self.options.csv), journal)
        if self.options.yolo:
            write_yolo(self.out / "yolo", journal, kinds or (OBJECT,))
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
            for batch in _batches(journal.first(self.options.report_images), self.options.batch):
                self._make_missing([record for record in batch if self._section(record.number) is None], say)
                for record in batch:
                    content = self._section(record.number)
                    if content is not None:
                        found = np.array([item.box for item in record.objects], np.float64).reshape(-1, 4)
                        report.add_section(content, found)
                progress.advance(len(batch))
            for record in journal.after(self.options.report_images):  # the totals are about all images
                report.count(np.array([item.box for item in record.objects], np.float64).reshape(-1, 4))
        if journal.totals[0] >= self.options.report_images:  # it will not grow any more
            shutil.rmtree(self.out / SECTIONS, ignore_errors=True)

    def _make_missing(self, records: Sequence[Record], say: Callable[[str], None]) -> None:
        """The page's parts for these images; one that is gone has none."""
        read = [(record, self.image_of(record, say, "report.html")) for record in records]
        there = [(record, image) for record, image in read if image is not None]
        scenes = self.decomposed([image for _, image in there], pictures=True)
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


def overlay(image: Picture, scene: Scene) -> Image.Image:
    """An image with its boxes, and its masks beside it; a small one enlarged."""
    factor = factor_to_see(image)
    return Image.fromarray(beside(with_boxes(image, scene, factor), with_masks(image, scene, factor)))


def _batches(records: Iterable[Record], batch: int) -> Iterator[list[Record]]:
    """Records of as many images as may be worked on at a time."""
    some: list[Record] = []
    for record in records:
        some.append(record)
        if is_full(((each.height, each.width) for each in some), batch):
            yield some
            some = []
    if some:
        yield some


def _counted(pictures: Iterable[Picture], progress: Progress) -> Iterator[Picture]:
    for picture in pictures:
        yield picture
        progress.advance()
