"""`labels.html`: groups of objects that look alike, to be given names; one file that needs nothing else.

Reads groups with pictures of their members, and the content of labels.json; gives a page that hands that file back
with the names typed in. As `report.html`, it forbids itself the network and any style or script but its own.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from objectspace import __version__
from objectspace.io.files import write_atomically
from objectspace.reports.page.markup import escaped, image_tag, plural, shrink
from objectspace.reports.page.shell import part, policy
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
    values = {
        "title": escaped(title),
        "model": escaped(str(labels["model"])),
        "policy": policy(style, script),
        "style": style,
        "script": script,
        "groups": "\n".join(_section(number, group) for number, group in enumerate(groups)),
        "labels": json.dumps(labels).replace("<", "\\u003c"),  # so that no name can end the script
        "version": __version__,
    }
    write_atomically(path, Template(part("labels.html")).substitute(values).encode())


def _section(number: int, group: Group) -> str:
    value = "" if group.name == group.default else f' value="{escaped(group.name)}"'
    pictures = (image_tag(shrink(picture, SIDE), f"an object of {group.name}") for picture in group.members)
    members = "".join(f'<li><div class="frame">{tag}</div></li>' for tag in pictures)
    facts = plural(group.objects, "object") + (f" · {escaped(group.truth)}" if group.truth else "")
    return (
        f'<section class="group"><header><label for="name-{number}">name</label>'
        f'<input id="name-{number}" placeholder="{escaped(group.default)}"{value} maxlength="200">'
        f'<span class="note">{facts}</span></header><ul class="crops">{members}</ul></section>'
    )
