import pytest

from objectspace.ops.schedules import Schedule, constant, parse


@pytest.mark.parametrize(
    ("text", "step", "value"),
    [
        ("(0.1 -> 0.01):(4000 -> 10000)", 0, 0.1),
        ("(0.1 -> 0.01):(4000 -> 10000)", 4000, 0.1),
        ("(0.1 -> 0.01):(4000 -> 10000)", 7000, 0.055),
        ("(0.1 -> 0.01):(4000 -> 10000)", 10000, 0.01),
        ("(0.1 -> 0.01):(4000 -> 10000)", 10**9, 0.01),
        ("(-1.0->-2.0):(10000->20000)", 12500, -1.25),
        ("(2.5 -> 0.5):(0 -> 20000)", 0, 2.5),
        ("(1 -> 0):(50 -> 50)", 49, 1.0),
        ("(1 -> 0):(50 -> 50)", 50, 0.0),
        (0.25, 123, 0.25),
        ("(.1 -> 1e-10):(0 -> 10)", 10, 1e-10),
    ],
)
def test_a_schedule_moves_linearly_between_its_steps(text: str | float, step: int, value: float) -> None:
    assert parse(text).at(step) == pytest.approx(value, rel=1e-12)


def test_the_final_value_is_where_annealing_ends() -> None:
    assert parse("(0.1 -> 0.01):(4000 -> 10000)").final() == 0.01


@pytest.mark.parametrize("schedule", [Schedule(0.1, 1e-10, 5, 7), constant(2.5), Schedule(1 / 3, -2, 0, 10**6)])
def test_a_printed_schedule_reads_back(schedule: Schedule) -> None:
    text = str(schedule)
    assert parse(float(text) if "(" not in text else text) == schedule


@pytest.mark.parametrize(
    "text", ["", "abc", "(1 -> 2)", "(1 -> 2):(3 -> x)", "(1->2):(9->3)", "(1->2):(-1->3)", "(1->2):(0->1.5)"]
)
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="schedule"):
        parse(text)


def test_legs_follow_one_another() -> None:
    schedule = parse("(-1 -> -2):(10 -> 20) then (-2 -> -4):(30 -> 40)")
    values = {0: -1, 10: -1, 15: -1.5, 20: -2, 25: -2, 30: -2, 35: -3, 40: -4, 99: -4}
    assert {step: schedule.at(step) for step in values} == values
    assert schedule.final() == -4
    assert parse(str(schedule)) == schedule


@pytest.mark.parametrize(
    "text", ["(1 -> 2):(0 -> 9) then (3 -> 4):(9 -> 12)", "(1 -> 2):(0 -> 9) then (2 -> 4):(8 -> 12)"]
)
def test_a_leg_starts_where_the_one_before_ends(text: str) -> None:
    with pytest.raises(ValueError, match=r"must start with 2.0, at step 9 or later"):
        parse(text)
