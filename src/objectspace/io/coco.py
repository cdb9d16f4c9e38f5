"""A COCO file as lines of JSON, one entry a line: made as it is written, so that its length costs no memory."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Entry = Mapping[str, Any]


def coco_lines(
    info: Entry, categories: Sequence[Entry], images: Iterable[Entry], annotations: Iterable[Entry]
) -> Iterator[bytes]:
    """The text of the file; images are walked to their end before the first annotation is asked for."""
    yield b'{"info": ' + json.dumps(info).encode()
    yield b',\n"categories": ' + json.dumps(categories).encode()
    yield b',\n"images": ['
    yield from list_items(images)
    yield b'],\n"annotations": ['
    yield from list_items(annotations)
    yield b"]}\n"


def list_items(entries: Iterable[Entry]) -> Iterator[bytes]:
    """The inside of a JSON list, an entry a line."""
    separator = b"\n"
    for entry in entries:
        yield separator + json.dumps(entry).encode()
        separator = b",\n"
