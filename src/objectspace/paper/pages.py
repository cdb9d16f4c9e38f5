"""An item as a page that holds all it shows, and the items as one page of Markdown."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from objectspace import __version__
from objectspace.errors import UserError
from objectspace.io.files import write_atomically
from objectspace.paper.declared import Item
from objectspace.paper.findings import read_findings
from objectspace.paper.items import ITEMS
from objectspace.paper.listing import HEAD, row_of
from objectspace.paper.place import Place
from objectspace.paper.shown import Shown, Table, count, prepare
from objectspace.paper.verdicts import FAILS, HOLDS, PART, UNTESTED
from objectspace.reports.page.markup import embedded
from objectspace.reports.page.shell import part, policy, render

KINDS = {HOLDS: "holds", PART: "part", FAILS: "fails", UNTESTED: "untested"}
PAPER = "SPACE: Unsupervised Object-Oriented Scene Representation via Spatial Attention and Decomposition (ICLR 2020)"
PIPE = r"\|"
NOTHING = "Nothing of this has been run here yet."


def write_pages(items: Sequence[Item], place: Place, missing: Mapping[str, Sequence[str]]) -> None:
    """The page of each item, and the index of all."""
    findings = read_findings(place.measurements)
    every = [*ITEMS, *(item for item in items if item not in ITEMS)]
    shown = {item.name: prepare(item, findings, place.pictures, missing.get(item.name, ())) for item in every}
    try:
        for item in items:
            write_atomically(place.out / f"{item.name}.html", page(shown[item.name]).encode())
        write_atomically(place.out / "index.html", index(list(shown.values()), place).encode())
    except OSError as error:
        raise UserError(f"cannot write the pages into {place.out}: {error}; the same command continues") from error


def page(shown: Shown) -> str:
    """One item."""
    claims = [
        {
            "kind": KINDS[each.verdict.said],
            "said": each.verdict.said,
            "says": each.claim.says,
            "where": each.claim.where,
            "asked": each.claim.asked,
            "reasons": each.verdict.reasons,
        }
        for each in shown.judged
    ]
    pictures = [{"caption": caption, "picture": embedded(_read(path))} for caption, path in shown.pictures]
    return _page(
        title=shown.item.title,
        shows=shown.item.shows,
        state="" if shown.has_run else NOTHING,
        claims=claims,
        tally=count(shown.judged),
        tables=[_unbroken(table) for table in shown.tables],
        pictures=pictures,
        notes=_notes(shown),
    )


def index(shown: Sequence[Shown], place: Place) -> str:
    """All items with what became of them."""
    rows = [
        {"name": each.item.name, "there": (place.out / f"{each.item.name}.html").exists(), "cells": _cells(each)}
        for each in shown
    ]
    return _page(
        title="The paper, item by item", shows=PAPER, links={"head": ("item", "shows", "result"), "rows": rows}
    )


def markdown(shown: Sequence[Shown], pictures: Path | None, prefix: str = "paper-") -> str:
    """All items as Markdown; pictures are copied into a folder beside it, or left out."""
    said = [each for one in shown for each in one.judged]
    lines = [
        "# The paper, item by item",
        "",
        f"{PAPER}: tables, figures and claims as they come out here, by `objectspace paper run ITEM --out DIR`.",
        "What the paper says stands here in our words, with the section that says it; the marks by which it is judged "
        "are ours, too, and are printed beside it.",
        "",
        f"All together: {count(said)}.",
        "",
        *_table(Table("", HEAD, tuple(row_of(one.item, one.result) for one in shown))),
    ]
    for one in shown:
        command = f"`objectspace paper run {one.item.name} --out DIR`"
        lines += ["", f"## {one.item.name}: {one.item.title}", "", f"{_sentence(one.item.shows)} {command}."]
        lines += ["", f"**{NOTHING}**" if not one.has_run else _sentence(one.result)]
        lines += ["", *_table(_verdicts(one))]
        for table in one.tables:
            lines += ["", f"### {table.title}: {one.item.name}", "", *_table(table)]
        for caption, path in one.pictures if pictures is not None else ():
            assert pictures is not None
            name = f"{prefix}{path.name.removeprefix(prefix)}"
            pictures.mkdir(parents=True, exist_ok=True)
            if path.resolve() != (pictures / name).resolve():
                shutil.copyfile(path, pictures / name)
            lines += ["", f"![{caption}]({pictures.name}/{name})"]
        lines += ["", *(f"- {note}" for note in _notes(one))]
    return "\n".join(lines) + "\n"


def _verdicts(shown: Shown) -> Table:
    rows = tuple(
        (
            f"{each.claim.says} ({each.claim.where})",
            f"**{each.verdict.said}**",
            each.claim.asked,
            "; ".join(each.verdict.reasons),
        )
        for each in shown.judged
    )
    return Table("", ("what the paper says, in our words", "here", "looked at", "number"), rows)


def _page(**values: object) -> str:
    style = part("style.css") + part("paper.css")
    empty: dict[str, object] = {"state": "", "links": None, "claims": (), "tally": "", "tables": (), "pictures": ()}
    fixed: dict[str, object] = {"policy": policy(style, ""), "style": style, "version": __version__, "notes": ()}
    return render("paper.html", **{**empty, **fixed, **values})


def _unbroken(table: Table) -> Table:
    """The table with no line breaks within a number and its deviation."""
    rows = (tuple(cell.replace(" ± ", "\u00a0±\u00a0") for cell in row) for row in table.rows)
    return Table(table.title, table.head, tuple(rows))


def _cells(shown: Shown) -> tuple[str, str]:
    return shown.item.shows, shown.result


def _notes(shown: Shown) -> list[str]:
    left_out = [f"Left out, since this version has no recipe {name}." for name in shown.missing]
    return [
        *shown.item.notes,
        *left_out,
        f"Time here: {shown.item.here}. With the paper's settings: {shown.item.there}.",
    ]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _table(table: Table) -> list[str]:
    rows = [table.head, ("---",) * len(table.head), *table.rows]
    return [f"| {' | '.join(cell.replace('|', PIPE) for cell in row)} |" for row in rows]


def _read(path: Path) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
    with Image.open(path) as opened:
        return np.asarray(opened.convert("RGB"))
