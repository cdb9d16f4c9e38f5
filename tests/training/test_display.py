import time

import pytest

from objectspace.io.progress import Pace, duration
from objectspace.training import display
from objectspace.training.display import Display

NUMBERS = {"loss": 1234.5, "squared error": 21.25, "objects": 4.06, "AP@0.5": 0.8125}


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_pace_is_the_present_one() -> None:
    clock = Clock()
    pace = Pace(window=10, clock=clock)
    assert pace.rate == 0
    for seconds in [5.0] * 20 + [0.5] * 10:
        clock.now += seconds
        pace.tick()
    assert pace.rate == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0 s"), (59, "59 s"), (90, "2 min"), (3540, "59 min"), (3600, "1 h 00 min")]
)
def test_durations_are_said_as_people_say_them(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_without_a_terminal_there_are_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, said = Clock(), list[str]()
    monkeypatch.setattr(time, "monotonic", clock)
    monkeypatch.setattr(display, "Pace", lambda: Pace(clock=clock))
    with Display(steps=3000, done=2000, deadline=float("inf"), say=said.append) as shown:
        for step in (2001, 2002):
            clock.now += 2
            shown.show(step, NUMBERS, line=step == 2002)
    assert said == ["step 2002/3000  0.50/s  33 min left  loss 1234  squared error 21.2  objects 4.1  AP@0.5 0.812"]


def test_the_time_left_ends_with_the_time_given(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, said = Clock(), list[str]()
    monkeypatch.setattr(time, "monotonic", clock)
    with Display(steps=10**9, done=0, deadline=clock.now + 30, say=said.append) as shown:
        shown.show(1, {"loss": 1.0}, line=True)
    assert "  30 s left  loss 1" in said[0]


def test_on_a_terminal_there_is_a_bar_with_the_numbers_and_lines_appear_above_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with Display(steps=40, done=0, deadline=float("inf"), say=print) as shown:
        print("a warning")
        shown.show(40, NUMBERS, line=True)
    output = capsys.readouterr().out
    assert output.index("a warning") < output.index("40/40")
    assert "\u2501" in output
    assert "loss 1234  squared error 21.2  objects 4.1  AP@0.5 0.812" in output
    assert "step 40/40" not in output


def test_the_other_processes_show_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Display(steps=4, done=0, deadline=float("inf"), say=lambda line: None, silent=True) as shown:
        shown.show(1, NUMBERS, line=True)
    assert capsys.readouterr().out == ""
