"""The Atari images published with SPACE.

    <root>/<Game>-v0/{train,validation,test}/*.png     128 x 128, no boxes, the channels stored as blue, green, red

The channels are put in order here: the data set holds RGB. A game or a split that is not there is not missed.
"""

import numpy as np

from objectspace.data.convert.base import split_directories
from objectspace.data.convert.files import Entry, FileConverter, Listing
from objectspace.data.sample import Problem, Sample
from objectspace.errors import UserError
from objectspace.io.images import BadImage, list_images, read_image


class SpaceAtari(FileConverter):
    """Images of several games, a group for each; `root` may also be the directory of one game."""

    format = "space-atari"

    def scan(self) -> Listing:
        games = [self.root] if split_directories(self.root, self.options) else sorted(self.root.iterdir())
        listing: Listing = {}
        for directory in games:
            if not directory.is_dir() or directory.name.startswith("."):
                continue
            if (directory / "dataset.json").exists():
                raise UserError(f"{directory} is a data set of ours, in RGB already: there is nothing to convert")
            game = directory.resolve().name.removesuffix("-v0")
            for split, folder in split_directories(directory, self.options).items():
                entries = [Entry(path, path.relative_to(self.root).as_posix(), game) for path in list_images(folder)]
                if entries:
                    listing[split, game] = list(entries)
        if not listing:
            expected = "<Game>-v0/{train,validation,test}/*.png"
            raise UserError(f"{self.root} does not look like SPACE's Atari images: expected {expected} in it")
        return listing

    def load(self, entry: Entry) -> list[Sample | Problem]:
        try:
            image = read_image(entry.path, matte=None)
        except BadImage as error:
            return [Problem(entry.name, error.reason)]
        return [Sample(np.ascontiguousarray(image[:, :, ::-1]), (), {"source": entry.name, "game": entry.truth})]
