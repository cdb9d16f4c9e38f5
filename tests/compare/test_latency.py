"""Steps are measured in rounds, each visit in a process of its own; nothing is measured twice."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from objectspace.compare import latency, steps, visit
from objectspace.compare.candidates import Candidate, candidate
from objectspace.compare.charts import latency_chart
from objectspace.compare.latency import Point, Settings, growth, measure_all, relative
from objectspace.compare.regimes import regime
from objectspace.config import Anneal, ModelConfig
from objectspace.models import SceneModel, create

SETTINGS = Settings(batch=12, repeats=2, limit=10.0, memory=10**9, threads=1)
GOOD = {"status": "measured", "seconds": 2.0, "peak": 5}


@pytest.fixture
def visits(monkeypatch):
    """Replaces the measuring: `answers` by model, and the list of who was asked."""
    asked: list[str] = []
    answers: dict[str, dict] = {}

    def answer(candidate, settings, probe):
        asked.append(f"{candidate.model}{'?' if probe else ''}")
        return dict(answers.get(candidate.model, GOOD))

    monkeypatch.setattr(latency, "_visit", answer)
    return asked, answers


def measure(tmp_path: Path, candidates: list[Candidate], settings: Settings = SETTINGS):
    return measure_all(candidates, settings, tmp_path / "latency.jsonl", lambda _: None)


@pytest.fixture
def two(tiny: Candidate) -> list[Candidate]:
    return [replace(tiny, model="a"), replace(tiny, model="b")]


def test_points_are_visited_alternately_and_probed_once(visits, two, tmp_path) -> None:
    points = measure(tmp_path, two)
    assert visits[0] == ["a?", "b?", "a", "b"]
    assert [(point.model, point.seconds, point.visits) for point in points] == [("a", 2.0, 2), ("b", 2.0, 2)]


def test_what_is_in_the_journal_is_not_measured_again(visits, two, tmp_path) -> None:
    first = measure(tmp_path, two)
    visits[0].clear()
    with (tmp_path / "latency.jsonl").open("a") as journal:
        journal.write('{"key": "torn')
    assert measure(tmp_path, two) == first
    assert visits[0] == []
    measure(tmp_path, two, replace(SETTINGS, repeats=3))
    assert visits[0] == ["a", "b"]
    measure(tmp_path, two, replace(SETTINGS, batch=4))
    assert visits[0][2:] == ["a?", "b?", "a", "b"]


def test_the_median_counts_and_the_largest_peak(visits, two, tmp_path) -> None:
    for seconds, peak in ((9.0, 1), (1.0, 7), (2.0, 3)):
        visits[1]["a"] = {"status": "measured", "seconds": seconds, "peak": peak}
        done = len(visits[0])
        measure(tmp_path, two[:1], replace(SETTINGS, repeats=done + 1))
    point = measure(tmp_path, two[:1], replace(SETTINGS, repeats=3))[0]
    assert (point.seconds, point.fastest, point.slowest, point.peak) == (2.0, 1.0, 9.0, 7)


@pytest.mark.parametrize("status", ["too slow", "out of memory"])
def test_what_cannot_be_run_is_asked_once_and_marked_with_its_estimate(visits, two, tmp_path, status) -> None:
    visits[1]["a"] = {"status": status, "estimate": 99.0, "estimated_peak": 8}
    point = measure(tmp_path, two)[0]
    assert visits[0] == ["a?", "b?", "b"]
    assert (point.status, point.seconds, point.estimate, point.estimated_peak) == (status, None, 99.0, 8)
    measure(tmp_path, two)
    assert visits[0] == ["a?", "b?", "b"]
    more = replace(SETTINGS, limit=100.0, memory=2 * SETTINGS.memory)
    visits[1].clear()
    assert measure(tmp_path, two, more)[0].status == "measured"


def test_a_step_above_the_limit_is_kept_but_not_repeated(visits, two, tmp_path) -> None:
    visits[1]["a"] = {"status": "measured", "seconds": 11.0, "peak": 1}
    assert measure(tmp_path, two[:1])[0].seconds == 11.0
    assert visits[0] == ["a?"]


def test_a_failure_is_told_and_tried_again_next_time(visits, two, tmp_path) -> None:
    visits[1]["a"] = {"status": "failed", "message": "ValueError: no"}
    point = measure(tmp_path, two[:1])[0]
    assert (point.status, point.message) == ("failed", "ValueError: no")
    visits[1].clear()
    assert measure(tmp_path, two[:1])[0].status == "measured"


def test_ratios_are_those_at_the_same_grid(visits, tiny, tmp_path) -> None:
    visits[1]["b"] = {"status": "measured", "seconds": 5.0, "peak": 1}
    candidates = [replace(tiny, model="a"), replace(tiny, model="b"), replace(tiny, model="b", grid=2)]
    points = measure(tmp_path, candidates)
    assert list(relative(points, to="a").values()) == [1.0, 2.5, None]


def test_sentences_say_how_a_step_grows_and_of_which_line(tiny) -> None:
    def point(model: str, capacity: int, seconds: float | None) -> Point:
        return Point(model, 1, capacity, str(capacity), "measured", seconds)

    points = [
        point("space, all cells", 261, 38.0),
        point("space, all cells", 21, 10.0),
        point("space, 20 objects", 261, 10.5),
        point("iodine", 21, 3.0),
        point("iodine", 261, None),
    ]
    assert growth(points) == ["space, all cells: from 21 to 261 a step takes 3.80 times as long"]


@pytest.mark.parametrize("kind", ["space", "spair", "genesis", "iodine"])
def test_each_model_is_timed_in_its_own_regime(kind, tiny, monkeypatch) -> None:
    used: list[Any] = []

    def tiny_in_its_place(config: ModelConfig, anneal: Anneal) -> SceneModel:
        used.append(anneal)
        return create(tiny.config, anneal)

    monkeypatch.setattr(steps, "create", tiny_in_its_place)
    monkeypatch.setattr(steps, "stepper", lambda loss, groups, training: used.append(training))
    steps.model_step(candidate(kind, 128, 4, 5).config)
    assert used == [regime(kind).anneal, regime(kind).training]


@pytest.mark.parametrize(
    ("code", "late", "complaints", "status"),
    [
        (0, True, "", "too slow"),
        (-9, False, "", "out of memory"),
        (1, False, "MemoryError\n", "out of memory"),
        (-6, False, "terminate called: std::bad_alloc\n", "out of memory"),
        (1, False, "Traceback ...\nValueError: broken\n", "failed"),
    ],
)
def test_how_a_process_ended_tells_what_happened(code, late, complaints, status) -> None:
    assert latency._ended(code, late, complaints)["status"] == status


def order(tiny: Candidate, **changes) -> visit.Order:
    values = {"batch": 12, "limit": 100.0, "memory": 10**12, "threads": 1, "probe": True}
    return visit.Order(config=tiny.config.model_dump(mode="json"), **(values | changes))


def test_a_visit_reports_what_a_probe_estimates_and_what_a_step_takes(tiny) -> None:
    reported: list[dict] = []
    visit.measure(order(tiny, batch=3), reported.append)
    keys = [{"estimate", "estimated_peak"}, {"status", "seconds", "peak"}, {"inference"}]
    assert [line.keys() for line in reported] == keys
    assert 0 < reported[2]["inference"] < 100
    assert 0 < reported[1]["seconds"] < 100


def test_time_and_memory_are_estimated_from_batches_of_one_and_two(tiny, monkeypatch) -> None:
    peaks = iter([1100, 1150])  # after a step on one image, after one on two
    monkeypatch.setattr(visit, "peak_memory", lambda: next(peaks))
    seconds = {1: 2.0, 2: 2.5}
    reported = visit._estimate(order(tiny), 1000, seconds.__getitem__)
    assert reported == {"estimate": 2.5 + 10 * 0.5, "estimated_peak": 150 + 10 * 50}


@pytest.mark.parametrize(
    ("changes", "status"),
    [({"limit": 7.0}, "too slow"), ({"memory": 1600}, "out of memory"), ({"limit": 1.0}, "too slow")],
)
def test_too_much_is_refused_before_it_is_tried(tiny, monkeypatch, changes, status) -> None:
    peaks = iter([1100, 1150])
    monkeypatch.setattr(visit, "peak_memory", lambda: next(peaks))
    reported = visit._estimate(order(tiny, **changes), 1000, {1: 2.0, 2: 2.5}.__getitem__)
    assert reported["status"] == status
    assert reported["estimate"] > 7


def test_memory_beyond_the_limit_is_a_result_and_not_a_crash() -> None:
    """In a process of its own, whose limit would otherwise stay."""
    script = (
        "from objectspace.compare.machine import limit_memory\n"
        "limit_memory(400_000_000)\n"
        "try:\n    bytearray(10**9)\nexcept MemoryError:\n    print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"


@pytest.mark.slow
def test_a_visit_ends_with_the_process_that_asked_for_it(tiny) -> None:
    command = [sys.executable, "-m", "objectspace.compare.visit"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        out, _ = process.communicate(order(tiny).to_json() + "\n", timeout=100)  # which closes its standard input
    assert process.returncode == 1
    assert "measured" not in out


@pytest.mark.parametrize("unable", [{"b"}, {"a", "b"}])
def test_the_chart_marks_what_was_not_run_even_if_nothing_was(visits, two, tmp_path, unable) -> None:
    visits[1].update({model: {"status": "out of memory"} for model in unable})
    latency_chart(measure(tmp_path, two), tmp_path / "latency.png")
    assert (tmp_path / "latency.png").read_bytes().startswith(b"\x89PNG")
