"""Verdicts follow from numbers, and say what a reader must know of them."""

from dataclasses import replace

import pytest

from objectspace.paper.findings import Finding, Findings
from objectspace.paper.items import ITEMS
from objectspace.paper.timing import faster, grows, no_room, slowest, sooner, together
from objectspace.paper.verdicts import FAILS, HOLDS, PART, UNTESTED, both, close, differs, reaches, untested


def finding(model: str, seed: int = 0, **about: object) -> Finding:
    """A finding with some numbers."""
    numbers = about.pop("numbers", {})
    return Finding(name=f"{model}-{seed}", what="models", model=model, seed=seed, numbers=numbers, **about)


def findings(**values: float) -> Findings:
    """One run of each model, with the measure m."""
    return Findings([finding(model, numbers={"m": value}) for model, value in values.items()])


@pytest.mark.parametrize(("value", "said"), [(0.9, HOLDS), (0.89, PART), (0.8, PART), (0.79, FAILS)])
def test_a_measure_is_graded_by_two_marks(value: float, said: str) -> None:
    verdict = reaches("recall", "A", "m", 0.9, 0.8)(findings(A=value))
    assert verdict.said == said
    assert f"{value:.3f}" in verdict.because


@pytest.mark.parametrize(("value", "said"), [(0.2, HOLDS), (0.5, PART), (0.51, FAILS)])
def test_marks_may_ask_for_little(value: float, said: str) -> None:
    assert reaches("recall", "A", "m", 0.2, 0.5)(findings(A=value)).said == said


def test_differences_and_likeness_of_two_models() -> None:
    near, far = findings(A=0.90, B=0.89), findings(A=0.90, B=0.80)
    assert close("AP", "m", "A", "B", 0.02, 0.05)(near).said == HOLDS
    assert close("AP", "m", "A", "B", 0.02, 0.05)(far).said == FAILS
    assert differs("AP", "m", "A", "B", 0.05, 0.01)(far).said == HOLDS
    assert differs("AP", "m", "B", "A", 0.05, 0.01)(far).said == FAILS
    assert close("AP", "m", "A", "B", 0.02, 0.05, least=0.895)(near).said == UNTESTED
    assert "+0.100" in differs("AP", "m", "A", "B", 0.05, 0.01)(far).because


def test_what_is_not_there_is_not_tested_and_named() -> None:
    verdict = close("AP", "m", "A", "B", 0.02, 0.05)(findings(A=0.9))
    assert (verdict.said, verdict.because) == (UNTESTED, "B not run here yet")
    lost = Findings([finding("A", failure="collapsed")])
    assert "A failed: collapsed" in reaches("AP", "A", "m", 1, 0)(lost).because
    assert untested("nobody asked")(lost).because == "nobody asked"


def test_a_sentence_of_several_parts() -> None:
    good, bad, open_ = (reaches("m", name, "m", 0.5, 0.4) for name in "ABC")
    known = findings(A=1.0, B=0.0)
    assert both(good, good)(known).said == HOLDS
    assert both(good, bad)(known).said == PART
    assert both(bad, bad)(known).said == FAILS
    assert both(good, open_)(known).said == PART
    assert both(open_)(known).said == UNTESTED


def test_means_are_of_the_seeds_that_did_not_fail_and_say_so() -> None:
    runs = [finding("A", seed, numbers={"m": value}) for seed, value in enumerate((0.8, 0.9, 1.0))]
    runs.append(finding("A", 3, numbers={"m": 0.0}, failure="collapsed"))
    number = Findings(runs).number("A", "m")
    assert number is not None
    assert (number.value, number.deviation) == pytest.approx((0.9, 0.1))
    assert number.seeds == 3
    assert "seed 3 failed: collapsed" in reaches("m", "A", "m", 0.5, 0.4)(Findings(runs)).because


def test_a_run_that_was_cut_off_is_nothing_to_judge_by() -> None:
    cut = finding("A", numbers={"m": 0.5}, ended="out of time", steps=10, planned=100)
    verdict = close("AP", "m", "A", "B", 0.1, 0.2)(Findings([cut, finding("B", numbers={"m": 0.5})]))
    assert verdict.said == UNTESTED
    assert "A seed 0 was cut off at step 10 of 100" in verdict.because
    whole = finding("A", 1, numbers={"m": 0.7})
    number = Findings([cut, whole]).number("A", "m")
    assert number is not None
    assert (number.value, number.cut, number.seeds) == (0.7, False, 1)


def test_a_measure_may_lie_in_tables() -> None:
    nested = finding("A", numbers={"groups": {"Atlantis": {"recall_by_category": {"Bazaar": 0.5}}}})
    assert Findings([nested]).number("A", "groups/Atlantis/recall_by_category/Bazaar") is not None
    assert Findings([nested]).number("A", "groups/Pooyan/recall_by_category/Bazaar") is None


def point(
    model: str, grid: int, seconds: float | None, estimate: float | None = None, status: str = "measured"
) -> dict:
    shown = {"shown_capacity": f"{grid}²", "capacity": grid**2, "peak": None}
    return {"model": model, "grid": grid, "seconds": seconds, "estimate": estimate, "status": status} | shown


LATENCY = Findings(
    [
        Finding(
            name="latency",
            what="latency",
            numbers={
                "points": [
                    point("space", 4, 2.0),
                    point("space", 16, 3.0),
                    point("spair", 4, 1.0),
                    point("spair", 16, 12.0),
                    point("iodine", 4, 50.0),
                    point("iodine", 16, None, 900.0, "out of memory"),
                    point("genesis", 16, None, None, "too slow"),
                ]
            },
        )
    ]
)


def test_times_of_steps() -> None:
    assert grows("spair", 4, 2)(LATENCY).said == HOLDS
    assert grows("space", 1.2, 2)(LATENCY).said == PART
    assert grows("genesis", 4, 2)(LATENCY).said == UNTESTED
    assert faster("space", "spair", 16, 10, 2)(LATENCY).said == PART
    assert faster("space", "genesis", 16, 10, 2)(LATENCY).said == UNTESTED
    assert slowest("iodine")(LATENCY).said == HOLDS
    assert slowest("spair")(LATENCY).said == FAILS
    assert no_room(("iodine",), 16)(LATENCY).said == HOLDS
    assert no_room(("iodine", "genesis"), 16)(LATENCY).said == PART
    assert grows("spair", 4, 2)(Findings([])).said == UNTESTED


def curve(model: str, grid: int, *errors: float) -> dict:
    looks = [{"step": step, "minutes": 2.0 * step, "squared_error": error} for step, error in enumerate(errors)]
    return {"model": model, "grid": grid, "capacity": "?", "failure": None, "curve": looks}


CURVES = Findings(
    [
        Finding(
            name="convergence",
            what="convergence",
            numbers={"curves": [curve("a", 4, 9, 1, 1), curve("b", 4, 9, 5, 1), curve("c", 4, 9, 8, 7)]},
        )
    ]
)


def test_times_of_convergence() -> None:
    assert sooner("a", "b", 4, 2, 1.2)(CURVES).said == HOLDS
    assert sooner("b", "a", 4, 2, 1.2)(CURVES).said == FAILS
    assert sooner("a", "c", 4, 2, 1.2)(CURVES).said == HOLDS
    assert sooner("c", "a", 4, 2, 1.2)(CURVES).said == FAILS
    assert together("a", "b", 4, 1.5, 3)(CURVES).said == PART
    assert together("a", "c", 4, 1.5, 3)(CURVES).said == FAILS
    assert together("a", "d", 4, 1.5, 3)(CURVES).said == UNTESTED
    assert sooner("a", "b", 8, 2, 1.2)(CURVES).said == UNTESTED


def test_numbers_that_are_none_do_not_count() -> None:
    known = Findings([replace(finding("A"), numbers={"m": None})])
    assert reaches("m", "A", "m", 1, 0)(known).because == "A has no m"


def test_every_claim_of_every_item_has_a_verdict_before_anything_is_run_and_none_is_won() -> None:
    for item in ITEMS:
        for claim in item.claims:
            verdict = claim.rule(Findings([]))
            assert verdict.said == (HOLDS if "by construction" in verdict.because else UNTESTED)
            assert verdict.reasons
