"""What `objectspace compare` measures becomes an item's page, and the verdicts find the lines that they ask for."""

from collections.abc import Sequence
from pathlib import Path

from objectspace.compare import convergence, latency
from objectspace.compare.candidates import Candidate
from objectspace.compare.convergence import Curve, Run, Trial, Validation
from objectspace.data.generate import generate
from objectspace.data.sprites import SpritesSource
from objectspace.data.streams import Stream
from objectspace.paper import compared
from objectspace.paper.claims import boxes, times
from objectspace.paper.declared import Claim
from objectspace.paper.findings import read_findings
from objectspace.paper.items import by_name
from objectspace.paper.pages import write_pages
from objectspace.paper.place import Place
from objectspace.paper.trainings import Say
from objectspace.paper.verdicts import HOLDS, PART, UNTESTED

SECONDS = {"space": 1.0, "spair": 20.0, "genesis": 5.0, "iodine": 50.0}  # a step at 8 x 8
ERRORS = {"space": (90, 10, 10), "spair": (90, 50, 10), "genesis": (90, 70, 60), "iodine": (90, 80, 80)}


def nobody(*_: object, **__: object) -> list:
    raise AssertionError("this has been measured before")


def verdicts(claims: Sequence[Claim], place: Place) -> list[str]:
    findings = read_findings(place.measurements)
    return [claim.rule(findings).said for claim in claims]


def test_the_latency_is_measured_once_and_its_lines_are_those_that_verdicts_read(tmp_path, monkeypatch) -> None:
    def answer(candidate: Candidate, settings: latency.Settings, probe: bool) -> dict[str, object]:
        kind, grown = candidate.config.kind, candidate.grid / 8
        if candidate.grid == 32 and not candidate.config.cells:
            return {"status": latency.NO_ROOM, "estimate": 18 * SECONDS[kind], "estimated_peak": 9}
        if kind == "iodine" and candidate.grid == 16:
            return {"status": latency.FAILED, "message": "it broke"}
        seconds = SECONDS[kind] * (1 if kind == "space" else grown)
        return {"status": latency.MEASURED, "seconds": seconds, "peak": 10**9, "inference": seconds / 2}

    monkeypatch.setattr(latency, "_visit", answer)
    place = Place(tmp_path)
    found = compared.latency(place, 10.0, lambda _: None, grids=(8, 16, 32))
    assert (found.numbers["limit"], found.seed) == (30.0, None)
    assert {point["model"] for point in found.numbers["points"]} >= {"space, 20 objects", "spair, all cells", "iodine"}
    assert verdicts(times.LATENCY, place) == [HOLDS, PART, HOLDS, PART, HOLDS, HOLDS, UNTESTED]
    faster = [claim for claim in boxes.TABLE1 if "step" in claim.asked]
    assert verdicts(faster, place) == [PART], "the step is known, and boxes are not"
    write_pages(by_name("latency"), place, {})
    page = (tmp_path / "latency.html").read_text()
    assert "space, 20 objects" in page
    assert "failed: it broke" in page
    assert "data:image/png" in page
    monkeypatch.setattr(latency, "_visit", nobody)
    assert compared.latency(place, 10.0, lambda _: None) == found


def test_the_convergence_is_raced_once_and_judged(tmp_path: Path, monkeypatch) -> None:
    raced: list[str] = []

    def race(runs: Sequence[Run], trial: Trial, say: Say) -> list[Curve]:
        raced.extend(run.name for run in runs)
        assert (trial.minutes, trial.turns, len(trial.images)) == (2.0, compared.SLICES, 1)
        return [
            Curve(
                run.candidate,
                tuple(Validation(n, 60.0 * n, error) for n, error in enumerate(ERRORS[run.candidate.model])),
                "out of memory" if run.candidate.model == "iodine" else None,
            )
            for run in runs
        ]

    place = Place(tmp_path)
    streams = [Stream("train", 1), Stream("val", 1)]
    generate(SpritesSource(height=32, width=32), place.data("rooms-small"), streams, workers=1)
    monkeypatch.setattr(convergence, "race", race)
    found = compared.convergence(place, 2.0, lambda _: None)
    assert len(raced) == compared.RACES
    assert "spair-grid16-seed0" in raced
    assert found.measured_on == "1 held-out images of rooms-small"
    assert verdicts(times.CONVERGENCE, place) == [HOLDS, PART, HOLDS]
    write_pages(by_name("convergence"), place, {})
    page = (tmp_path / "convergence.html").read_text()
    assert "256+5" in page
    assert "out of memory" in page
    assert "data:image/png" in page
    monkeypatch.setattr(convergence, "race", nobody)
    assert compared.convergence(place, 2.0, lambda _: None) == found
