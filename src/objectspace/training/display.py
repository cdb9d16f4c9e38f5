"""What a run shows: a live bar on a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from objectspace.io.progress import Pace, duration

Say = Callable[[str], None]

DIGITS = {"loss": 0, "squared error": 1, "objects": 1, "AP@0.5": 3}  # behind the point, in the order shown


class Display:
    """Follows a run of `steps` steps from step `done` on; `deadline` (`time.monotonic`) may end it earlier.

    What is printed while the bar lives appears above it. `silent` is for the processes other than the first; `what`
    names what the steps are for, where they are not those of the run itself.
    """

    def __init__(self, steps: int, done: int, deadline: float, say: Say, silent: bool = False, what: str = "") -> None:
        self._steps, self._deadline, self._say, self._what = steps, deadline, say, what and f"{what}  "
        self._pace = Pace()
        console = Console()  # standard output, where `say` prints: if that is a file, it gets plain lines
        self._bar: Progress | None = None
        self._task = TaskID(0)
        if console.is_terminal and not silent:
            self._bar = Progress(
                MofNCompleteColumn(),
                BarColumn(bar_width=10),
                TextColumn("{task.description}", markup=False),
                console=console,
                refresh_per_second=4,
            )
            self._task = self._bar.add_task("", total=steps, completed=done)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, step: int, numbers: Mapping[str, float], line: bool) -> None:
        """Say that `step` steps are done, with the `numbers` named in DIGITS; `line`: where there is no bar, say so."""
        self._pace.tick()
        text = f"{self._what}{self._pace.rate:.2f}/s  {duration(self._left(step))} left  " + "  ".join(
            f"{name} {numbers[name]:.{digits}f}" for name, digits in DIGITS.items() if name in numbers
        )
        if self._bar is not None:
            self._bar.update(self._task, completed=step, description=text)
        elif line:
            self._say(f"step {step}/{self._steps}  {text}")

    def lengthen(self, steps: int) -> None:
        """Say that there are so many steps in all."""
        self._steps = steps
        if self._bar is not None:
            self._bar.update(self._task, total=steps)

    def _left(self, step: int) -> float:
        """Seconds until the last step, or the deadline."""
        by_steps = (self._steps - step) / max(self._pace.rate, 1e-9)
        return max(0.0, min(by_steps, self._deadline - time.monotonic()))
