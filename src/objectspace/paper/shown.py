"""What an item's page shows, however it is written: verdicts, tables, pictures, where each number comes from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from objectspace.paper.declared import Claim, Column, Item
from objectspace.paper.findings import FINISHED, Finding, Findings, Number
from objectspace.paper.verdicts import FAILS, HOLDS, PART, UNTESTED, Verdict, shown
from objectspace.reports.page.markup import plural

SHORT = {HOLDS: "held up", PART: "in part", FAILS: "did not", UNTESTED: "not tested"}  # in the order of a count
NOT_YET = "not run here yet"


@dataclass(frozen=True)
class Table:
    """Rows under headings; the first column names the row."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict."""

    claim: Claim
    verdict: Verdict


@dataclass(frozen=True)
class Shown:
    """An item, ready to be written."""

    item: Item
    judged: tuple[Judged, ...]
    tables: tuple[Table, ...]
    pictures: tuple[tuple[str, Path], ...]  # caption, file
    missing: tuple[str, ...]

    @property
    def has_run(self) -> bool:
        """Whether anything was measured."""
        return bool(self.tables)

    @property
    def result(self) -> str:
        """The verdicts counted."""
        return count(self.judged) if self.has_run else NOT_YET


def prepare(item: Item, findings: Findings, pictures: Path, missing: Sequence[str] = (), prefix: str = "") -> Shown:
    """Judge an item's claims and gather what its page shows; its pictures are called `<prefix><item>*.png`."""
    tables = [table for table in _tables(item, findings) if table.rows]
    own = sorted(pictures.glob(f"{prefix}{item.name}*.png")) if tables else []
    return Shown(
        item,
        tuple(Judged(claim, claim.rule(findings)) for claim in item.claims),
        tuple(tables),
        tuple(
            (path.stem.removeprefix(prefix).removeprefix(item.name).strip("-").replace("-", " ") or item.title, path)
            for path in own
        ),
        tuple(missing),
    )


def count(judged: Sequence[Judged]) -> str:
    """How many verdicts there are of each kind: `5 claims: 3 held up, 1 in part, 1 not tested`."""
    found = [each.verdict.said for each in judged]
    parts = [f"{found.count(said)} {short}" for said, short in SHORT.items() if said in found]
    return f"{plural(len(found), 'claim')}: {', '.join(parts)}"


def _tables(item: Item, findings: Findings) -> list[Table]:
    made = []
    if item.columns:
        made.append(_numbers(item, findings))
    if "latency" in item.measures and (finding := findings.one("latency")) is not None:
        made += [_latency(finding), _sources([finding])]
    if "convergence" in item.measures and (finding := findings.one("convergence")) is not None:
        made += [_convergence(finding), _sources([finding])]
    if "samples" in item.measures:
        samples = [each for model in item.models for each in findings.of(model.key, "samples")]
        made += [_samples(samples), replace(_sources(samples), title="Where these scenes come from")]
    runs = [each for model in item.models for each in findings.of(model.key)]
    if runs and item.columns:
        made += [_runs(runs, item.columns)]
    return made


def _numbers(item: Item, findings: Findings) -> Table:
    """Means over seeds, the paper's numbers in a row above ours."""
    rows = []
    for model in item.models:
        printed = [item.paper.get((model.key, column.key), "") for column in item.columns]
        if any(printed):
            rows.append((f"{model.key}, the paper", "", *printed))
        values = [findings.number(model.key, column.key) for column in item.columns]
        if not findings.of(model.key):
            rows.append((model.key, NOT_YET, *("" for _ in item.columns)))
            continue
        every = findings.of(model.key)
        whole = [run for run in every if run.failure is None and not run.cut]
        seeds = str(len(every)) if len(whole) == len(every) else f"{len(whole)} of {len(every)} finished"
        rows.append((model.key, seeds, *(_cell(value, each) for value, each in zip(values, item.columns, strict=True))))
    known = any(findings.of(model.key) for model in item.models)
    head = ("model", "seeds", *(column.title for column in item.columns))
    return Table("Numbers", head, tuple(rows) if known else ())


def _cell(value: Number | None, column: Column) -> str:
    return "-" if value is None else shown(value, column.digits).split(" (")[0]


def _runs(runs: Sequence[Finding], columns: Sequence[Column]) -> Table:
    """Where every number comes from, a row a run."""
    first = columns[0] if columns else None
    score = first.title if first else ""
    head = ("run", "training data", "training", score, "measured on", "machine, date", "remarks")
    rows = []
    for run in runs:
        number = None if first is None else Findings([run]).number(run.model, first.key)
        took = "" if run.minutes is None else f"{run.minutes:.1f} min, step {run.steps} of {run.planned or run.steps}"
        ended = [] if run.ended == FINISHED else [run.ended]
        failure = [] if run.failure is None else [f"failed: {run.failure}"]
        rows.append(
            (
                run.command or run.name,
                run.data,
                took,
                "-" if number is None or first is None else f"{number.value:.{first.digits}f}",
                run.measured_on,
                f"{run.machine} {run.date}".strip(),
                "; ".join([*ended, *failure, *run.remarks]),
            )
        )
    return Table("Where the numbers come from", head, tuple(rows))


def _sources(findings: Sequence[Finding]) -> Table:
    head = ("command", "measured on", "time", "machine, date")
    rows = tuple(
        (each.command, each.measured_on, _took(each), f"{each.machine} {each.date}".strip()) for each in findings
    )
    return Table("Where the numbers come from", head, rows)


def _latency(finding: Finding) -> Table:
    rows = []
    for point in finding.numbers["points"]:
        seconds, peak = point["seconds"], point["peak"]
        foreseen = "" if point["estimate"] is None or seconds else f"about {point['estimate']:.0f} s"
        rows.append(
            (
                point["model"],
                str(point["shown_capacity"]),
                f"{seconds:.2f} s" if seconds else point["status"],
                foreseen,
                f"{peak / 1e9:.1f} GB" if peak else "",
            )
        )
    return Table("A gradient step", ("model", "capacity", "measured", "foreseen", "memory"), tuple(rows))


def _convergence(finding: Finding) -> Table:
    rows = []
    for each in finding.numbers["curves"]:
        last, first = each["curve"][-1:], each["curve"][:1]
        rows.append(
            (
                each["model"],
                str(each["capacity"]),
                f"{first[0]['squared_error']:.0f}" if first else "-",
                f"{last[0]['squared_error']:.0f}" if last else "-",
                f"{last[0]['minutes']:.1f} min, step {last[0]['step']}" if last else "-",
                each["failure"] or "",
            )
        )
    head = ("model", "capacity", "squared error before", "at the end", "trained", "remarks")
    return Table("Squared error on held-out images", head, tuple(rows))


def _took(finding: Finding) -> str:
    return "" if finding.seconds is None else f"{finding.seconds / 60:.0f} min"


def _samples(findings: Sequence[Finding]) -> Table:
    """A row for each way of drawing, the data's own first."""
    keys = {
        "objects": "objects an image",
        "sides": "side of an object, of the image's",
        "colours": "distance of colours",
        "distance": "Fréchet distance",
        "times_floor": "times that of two halves of the data",
    }
    rows = []
    for finding in findings:
        for way, values in finding.numbers.items():
            cells = (f"{values[key]:.3g}" if values.get(key) is not None else "-" for key in keys)
            rows.append((f"{finding.model}, seed {finding.seed}: {way}", *cells))
    return Table("Scenes drawn, beside the data", ("scenes", *keys.values()), tuple(rows))
