"""A folder of images, nothing known about them: the way in for people with their own pictures.

<root>/**/*.png|jpg|...                  all of them one split
<root>/{train,val,test}/**/*.png|...     or one split each, where such directories exist

Every page of a stack and every frame of an animation is an image of its own, as when images are taken apart.
"""

from objectspace.data.convert.base import split_directories
from objectspace.data.convert.files import Entry, FileConverter, Listing
from objectspace.data.sample import Attribute, Problem, Sample
from objectspace.errors import UserError
from objectspace.io.images import SUFFIXES, BadImage, list_images, read_deep_frames

MOST_PIXELS = 200_000_000  # of a stack's pages, which are in memory together


class Folder(FileConverter):
    """All image files below a directory; what is not an image by its suffix is passed over."""

    format = "folder"

    def scan(self) -> Listing:
        if not self.root.is_dir():
            raise UserError(f"{self.root} is a file: give the directory that holds the images")
        images = list_images(self.root)
        if not images:
            raise UserError(f"there are no images below {self.root}: looked for {' '.join(sorted(SUFFIXES))}")
        entries = [Entry(path, path.relative_to(self.root).as_posix()) for path in images]
        own = {path.name: split for split, path in split_directories(self.root, self.options).items()}
        listing: Listing = {}
        outside = []
        for entry in entries:
            split = own.get(entry.name.split("/")[0]) if "/" in entry.name else None
            if split is not None:
                listing.setdefault((split, ""), []).append(entry)
            else:
                outside.append(entry)
        if not listing:
            return {(self.options.split, ""): list(outside)}
        if outside:
            reason = f"{len(outside)} images lie outside the split directories and are left out, as {outside[0].name}"
            next(iter(listing.values())).insert(0, Problem(str(self.root), reason))
        return listing

    def load(self, entry: Entry) -> list[Sample | Problem]:
        made: list[Sample | Problem] = []
        pixels = 0
        try:
            for number, photo in read_deep_frames(entry.path):
                page: dict[str, Attribute] = {} if number is None else {"page": number}
                made.append(Sample(photo, attributes={"source": entry.name} | page))
                pixels += photo.shape[0] * photo.shape[1]
                if pixels > MOST_PIXELS:
                    made.append(Problem(entry.name, f"is too large a stack: its first {len(made)} pages are taken"))
                    break
        except BadImage as error:
            made.append(Problem(entry.name, error.reason))
        return made
