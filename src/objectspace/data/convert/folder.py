"""A folder of images, nothing known about them: the way in for people with their own pictures.

<root>/**/*.png|jpg|...                  all of them one split
<root>/{train,val,test}/**/*.png|...     or one split each, where such directories exist
"""

from objectspace.data.convert.base import split_directories
from objectspace.data.convert.files import Entry, FileConverter, Listing
from objectspace.data.sample import Problem, Sample
from objectspace.errors import UserError
from objectspace.io.images import SUFFIXES, BadImage, list_images, read_deep


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
        try:
            return [Sample(read_deep(entry.path), attributes={"source": entry.name})]
        except BadImage as error:
            return [Problem(entry.name, error.reason)]
