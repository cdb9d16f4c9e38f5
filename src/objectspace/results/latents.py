"""The latents of all objects as one safetensors file.

    image        (n,) int64       which image each object is in, counted from 0
    what         (n, D) float32   what it looks like
    boxes        (n, 4) float32   x0 y0 x1 y1, visible
    where_boxes  (n, 4) float32   hidden parts included
    whole_boxes  (n, 4) float32   tight around the object before others hide it; where unknown, the one before
    scores       (n,) float32
    evidence     (n,) float32     nats, NaN where unknown
    depths       (n,) float32     smaller is nearer
    understood   (n,) bool        false where it was found and the model cannot draw it: its `what` says little

The metadata holds `model` and, as a JSON list, `names`: the images' file names. It is written here rather than by the
library, which wants all tensors in memory. Shapes: n objects, D latent.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from objectspace.io.files import write_atomically
from objectspace.results.record import Record

LARGEST_NAMES = 50_000_000  # bytes; the library refuses headers above 100 million
TOO_MANY = "too many to be held here: image i is the one with id i + 1 in annotations.json"

_COLUMNS: dict[str, tuple[str, Callable[[Record], NDArray[Any]]]] = {
    "image": ("I64", lambda record: np.full(len(record.objects), record.number - 1, np.int64)),
    "what": ("F32", lambda record: record.what),
    "boxes": ("F32", lambda record: np.array([item.box for item in record.objects])),
    "where_boxes": ("F32", lambda record: np.array([item.where_box for item in record.objects])),
    "whole_boxes": ("F32", lambda record: np.array([item.whole_box or item.where_box for item in record.objects])),
    "scores": ("F32", lambda record: np.array([item.score for item in record.objects])),
    "evidence": ("F32", lambda record: np.array([_known(item.evidence) for item in record.objects])),
    "depths": ("F32", lambda record: np.array([item.depth for item in record.objects])),
    "understood": ("BOOL", lambda record: np.array([item.understood for item in record.objects])),
}
_DTYPES = {"I64": "<i8", "F32": "<f4", "BOOL": "|b1"}


def write_latents(path: Path, records: Iterable[Record], model: str) -> None:
    """Write the file, streaming; `records` is walked once for every tensor, so it must not be a generator."""
    write_atomically(path, _pieces(records, model))


def _pieces(records: Iterable[Record], model: str) -> Iterator[bytes]:
    header = json.dumps(_header(records, model)).encode()
    header += b" " * (-len(header) % 8)  # so that the tensors are aligned
    yield len(header).to_bytes(8, "little") + header
    for dtype, values in _COLUMNS.values():
        for record in records:
            if record.objects:
                yield values(record).astype(_DTYPES[dtype]).tobytes()


def _header(records: Iterable[Record], model: str) -> dict[str, Any]:
    count, dim, size = 0, 0, 0
    names: list[str] = []
    for record in records:
        count += len(record.objects)
        dim = record.what.shape[1] if record.objects else dim
        size += len(record.file_name.encode()) + 4
        if size <= LARGEST_NAMES:
            names.append(record.file_name)
    listed = json.dumps(names) if size <= LARGEST_NAMES else TOO_MANY
    header: dict[str, Any] = {"__metadata__": {"made_by": "objectspace", "model": model, "names": listed}}
    widths, end = {"what": (dim,), "boxes": (4,), "where_boxes": (4,), "whole_boxes": (4,)}, 0
    for name, (dtype, _) in _COLUMNS.items():
        shape = [count, *widths.get(name, ())]
        start, end = end, end + math.prod(shape) * np.dtype(_DTYPES[dtype]).itemsize
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
    return header


def _known(evidence: float | None) -> float:
    return math.nan if evidence is None else evidence
