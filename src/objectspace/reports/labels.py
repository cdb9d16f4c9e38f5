"""`labels.html`: groups of objects that look alike, to be given names; one file that needs nothing else.

Reads groups with pictures of their members, and the content of labels.json; gives a page that hands that file back
with the names typed in. As `report.html`, it forbids itself the network and any style or script but its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from objectspace import __version__
from objectspace.io.files import write_atomically
from objectspace.reports.page.markup import embedded, plural, shrink
from objectspace.reports.page.shell import part, pieces, policy
from objectspace.scene import Picture

SIDE = 160  # pixels of the longer side of a member's picture


@dataclass(frozen=True, eq=False)
class Group:
    """Objects that look alike."""

    default: str  # what it is called as long as nobody gives it a name
    name: str
    objects: int
    members: Sequence[Picture]  # of the nearest ones
    truth: str = ""  # what they are, where that is known


def write_labels_page(path: Path, title: str, groups: Sequence[Group], labels: Mapping[str, Any]) -> None:
    """Write the page; `labels` is what labels.json holds, with a cluster for each group, in their order."""
    style, script = part("style.css") + part("labels.css"), part("labels.js")
    page = pieces(
        "labels.html",
        title=title,
        model=labels["model"],
        policy=policy(style, script),
        style=style,
        script=script,
        groups=(_shown(group) for group in groups),
        labels=labels,
        version=__version__,
    )
    write_atomically(path, (piece.encode() for piece in page))


def _shown(group: Group) -> dict[str, object]:
    return {
        "default": group.default,
        "name": group.name,
        "facts": plural(group.objects, "object") + (f" · {group.truth}" if group.truth else ""),
        "members": [embedded(shrink(picture, SIDE)) for picture in group.members],
    }
