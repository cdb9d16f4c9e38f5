"""The paper's Table 1, with the field's measures beside it: a row for the models that differ in their seed only.

Reads the numbers of `objectspace evaluate` for trained models; gives rows with means and standard deviations over
seeds, as Markdown and as LaTeX. Models whose training failed do not enter a mean; they are named below the table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any, Literal

from objectspace.compare.trained import TrainedModel

Boxes = Literal["visible", "projected", "published"]
COLUMNS = {  # keys of `objectspace evaluate`: heading, digits behind the point
    "ap50": ("AP@0.5", 3),
    "ap": ("AP@[0.5:0.95]", 3),
    "count_error": ("count error", 3),
    "coco_ap": ("COCO AP", 3),
    "f1": ("F1", 3),
    "fg_ari": ("fg-ARI", 3),
    "miou": ("mIoU", 3),
    "squared_error": ("squared error", 1),
}
OF_BOXES = ("ap50", "ap", "coco_ap", "f1")
OF_THE_RULE = (*OF_BOXES, "count_error")  # what the published rule measures otherwise
PAIRINGS = {
    "visible": "boxes around the visible masks against what can be seen",
    "projected": "the latents' boxes (masks' boxes where there are none) against whole objects, as in the paper",
    "published": (
        "the published rule, and the count error by it too: the latents' boxes of every cell above 0.5, none left out, "
        "against whole objects; what stands beside the paper's numbers. Models without cells have none"
    ),
}


@dataclass(frozen=True)
class MeasuredModel:
    """A model with its numbers."""

    who: TrainedModel
    data: str  # the data set's name
    numbers: Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """Models that differ in their seed only, measured on one data set."""

    label: str
    data: str
    counted: tuple[MeasuredModel, ...]
    failed: tuple[MeasuredModel, ...]

    @property
    def seeds(self) -> str:
        """How many of them count: `3`, or `3 of 4`."""
        total = len(self.counted) + len(self.failed)
        return str(total) if not self.failed else f"{len(self.counted)} of {total}"

    def value(self, key: str, boxes: Boxes) -> tuple[float, float | None] | None:
        """Mean and standard deviation (of the sample; None for one model); None if a model has no such number."""
        apart = {"visible": (), "projected": OF_BOXES, "published": OF_THE_RULE}
        name = f"{boxes}_{key}" if key in apart[boxes] else key
        values = [entry.numbers.get(name) for entry in self.counted]
        known = [float(value) for value in values if value is not None]
        if not known or len(known) < len(values):
            return None
        return mean(known), stdev(known) if len(known) > 1 else None


def rows_of(entries: Sequence[MeasuredModel]) -> list[Row]:
    """The entries by recipe and data, in the order in which they were given."""
    groups: dict[tuple[str, str], list[MeasuredModel]] = {}
    for entry in entries:
        groups.setdefault((entry.data, entry.who.group), []).append(entry)
    labels = _labels([group[0].who for group in groups.values()])
    return [
        Row(
            label=labels[group[0].who],
            data=data,
            counted=tuple(entry for entry in group if entry.who.failure is None),
            failed=tuple(entry for entry in group if entry.who.failure is not None),
        )
        for (data, _), group in groups.items()
    ]


def cells(row: Row, boxes: Boxes, plus_minus: str = "±") -> list[str]:
    """A row of the table as text: label, data, seeds, and the measures."""
    shown = [row.label, row.data, row.seeds]
    for key, (_, digits) in COLUMNS.items():
        value = row.value(key, boxes)
        if value is None:
            shown.append("-")
        else:
            spread = "" if value[1] is None else f" {plus_minus} {value[1]:.{digits}f}"
            shown.append(f"{value[0]:.{digits}f}{spread}")
    return shown


def headings() -> list[str]:
    """What stands above the columns."""
    return ["model", "data", "seeds", *(heading for heading, _ in COLUMNS.values())]


def notes(rows: Sequence[Row], boxes: Boxes) -> list[str]:
    """What a reader must know: how boxes are paired, which seeds failed and how, what cannot be compared."""
    said = [
        f"AP and F1: {PAIRINGS[boxes]}. Deviations are those of a sample of seeds.",
        "the squared error is that of scenes, whose objects are above a threshold and worth their price; the "
        "paper's is that of the soft reconstruction, as `compare convergence` measures it.",
    ]
    for row in rows:
        for entry in row.failed:
            found = entry.numbers.get("ap50")
            reached = "" if found is None else f"; its AP@0.5 is {found:.3f}"
            said.append(f"not counted: {_named(entry)}: {entry.who.failure}{reached}")
        for entry in row.counted:
            said += [f"{_named(entry)}: {remark}" for remark in entry.who.remarks]
    if len({entry.who.size for row in rows for entry in (*row.counted, *row.failed)}) > 1:
        said.append(
            "the squared error is a sum over pixels: models that read images of other sizes cannot be compared."
        )
    return said


def markdown(rows: Sequence[Row], boxes: Boxes) -> str:
    """The table as Markdown, with its notes."""
    lines = [headings(), ["---"] * len(headings()), *(cells(row, boxes) for row in rows)]
    table = "\n".join(f"| {' | '.join(_plain(cell) for cell in line)} |" for line in lines)
    return f"{table}\n\n" + "".join(f"- {note}\n" for note in notes(rows, boxes))


def latex(rows: Sequence[Row], boxes: Boxes) -> str:
    """The table as LaTeX (package booktabs), a rule between data sets, with its notes as comments."""
    lines = [rf"\begin{{tabular}}{{lll{'r' * len(COLUMNS)}}}", r"\toprule"]
    lines += [" & ".join(_escaped(heading) for heading in headings()) + r" \\", r"\midrule"]
    before = rows[0].data if rows else ""
    for row in rows:
        lines += [r"\midrule"] if row.data != before else []
        before = row.data
        name, *rest = (_escaped(cell) for cell in cells(row, boxes, plus_minus="PLUSMINUS"))
        lines.append(" & ".join([name, *(cell.replace("PLUSMINUS", r"$\pm$") for cell in rest)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*lines, *(f"% {note}" for note in notes(rows, boxes))]) + "\n"


def _labels(first: Sequence[TrainedModel]) -> dict[TrainedModel, str]:
    """A name for each group: kind and capacity; where two have the same, the first model's own name too."""
    plain = {who: f"{who.kind} {who.capacity}" for who in first}
    often = [label for label in plain.values() if list(plain.values()).count(label) > 1]
    return {who: f"{label} ({who.name})" if label in often else label for who, label in plain.items()}


def _named(entry: MeasuredModel) -> str:
    return entry.who.name if entry.who.seed is None else f"{entry.who.name} (seed {entry.who.seed})"


def _plain(text: str) -> str:
    return text.replace("|", r"\|")


def _escaped(text: str) -> str:
    """Text as LaTeX prints it."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(letter, f"\\{letter}" if letter in "&%$#_{}" else letter) for letter in text)
