"""Data sets of other formats, as sources that `generate` drives into ours. One module a format."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from objectspace.data.convert.base import Converter, ConvertOptions
from objectspace.data.convert.coco import Coco
from objectspace.data.convert.dm import DeepMind
from objectspace.data.convert.folder import Folder
from objectspace.data.convert.hdf5 import EmorlHdf5, OclHdf5
from objectspace.data.convert.masks import VARIANTS
from objectspace.data.convert.obj3d import Obj3d
from objectspace.data.convert.space_atari import SpaceAtari
from objectspace.data.source import Source
from objectspace.data.store import SPLITS
from objectspace.data.streams import Stream
from objectspace.errors import UserError, unknown

FORMATS: Mapping[str, Callable[[Path, ConvertOptions], Converter]] = {
    kind.format: kind for kind in (Folder, Coco, Obj3d, SpaceAtari, DeepMind, OclHdf5, EmorlHdf5)
}


def open_source(src: Path, format: str, **options: Any) -> tuple[Source, list[Stream]]:
    """A source of that format and all its streams, ready for `generate`.

    `options` are the fields of `ConvertOptions`; split_names may be a dictionary.
    """
    if format not in FORMATS:
        raise unknown("format", format, list(FORMATS))
    options["split_names"] = tuple(dict(options.get("split_names") or ()).items())
    chosen = ConvertOptions(**options)
    if chosen.variant is not None:
        if format not in ("dm-tfrecord", "ocl-hdf5", "emorl-hdf5"):
            raise UserError(f"--variant says which of DeepMind's data sets it is; the format {format} has none")
        if chosen.variant not in VARIANTS:
            raise unknown("variant", chosen.variant, list(VARIANTS))
    if chosen.crop and format != "dm-tfrecord":
        raise UserError(f"--crop is for the format dm-tfrecord, not for {format}: leave it out")
    if chosen.images is not None and format != "coco":
        raise UserError(f"--images is for the format coco, not for {format}: leave it out")
    if not src.exists():
        raise UserError(f"{src} does not exist: give the file or directory to convert")
    if src.is_file() and format in (Folder.format, Obj3d.format, SpaceAtari.format):
        raise UserError(f"{src} is a file: the format {format} is a directory")
    try:
        source = FORMATS[format](src, chosen)
    except OSError as error:
        raise UserError(f"cannot read {src}: {error}") from error
    streams = sorted(source.streams(), key=lambda stream: (SPLITS.index(stream.split), stream.group))
    for stream, other in pairwise(streams):
        if stream.name == other.name:
            raise UserError(f"{src} has two parts named {stream.name}: rename one, or convert them one at a time")
    return source, streams
