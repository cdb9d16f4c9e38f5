"""One point of the latency chart, measured in a process of its own: `python -m objectspace.compare.visit`.

A process of its own makes the peak of memory honest, and running out of it harmless. Reads one line of JSON (`Order`);
prints lines of JSON: first what a small probe estimates, then what a step took, then what inference takes. Ends when
the process that started it ends.
"""

import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from objectspace import plugins
from objectspace.compare.machine import is_out_of_memory, limit_memory, peak_memory

PROBED = (1, 2)  # images of the probe's batches
WARM = 20.0  # seconds; so long a step warms up on its way, and is not taken a second time


@dataclass(frozen=True)
class Order:
    """What is to be measured."""

    config: dict[str, Any]  # of the model
    batch: int
    limit: float  # seconds a step may be estimated to take
    memory: int  # bytes it may take
    threads: int
    probe: bool  # whether to estimate first
    files: tuple[str, ...] = ()  # that declare models

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def measure(order: Order, report: Callable[[dict[str, Any]], None]) -> None:
    """Take the steps of an order, then infer, and report what they took."""
    import torch

    from objectspace.compare.steps import model_inference, model_step
    from objectspace.config import ModelConfig

    torch.set_num_threads(order.threads)
    try:
        if not _measure_step(order, model_step(ModelConfig.model_validate(order.config)), report):
            return
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        report({"status": "out of memory"})
        return
    with suppress(MemoryError):  # the step is what was asked for
        report({"inference": _seconds(model_inference(ModelConfig.model_validate(order.config)), order.batch)})


def _measure_step(order: Order, step: Callable[[int], None], report: Callable[[dict[str, Any]], None]) -> bool:
    """Estimate if that is asked for, and take the step if it is not too much; whether it was taken."""
    from objectspace.compare.steps import seconds_of

    before = peak_memory()
    if order.probe and order.batch > max(PROBED):
        estimate = _estimate(order, before, lambda batch: seconds_of(lambda: step(batch)))
        report(estimate)
        if "status" in estimate:
            return False
    seconds = _seconds(step, order.batch)
    report({"status": "measured", "seconds": seconds, "peak": peak_memory() - before})
    return True


def _seconds(action: Callable[[int], None], batch: int) -> float:
    """How long something takes; at once if that is long, the second time if it is not."""
    from objectspace.compare.steps import seconds_of

    seconds = seconds_of(lambda: action(batch))
    return seconds if seconds >= WARM else seconds_of(lambda: action(batch))


def _estimate(order: Order, before: int, seconds_of: Callable[[int], float]) -> dict[str, Any]:
    """What a step should take in time and memory, from steps on one and on two images; with a status if too much."""
    one, two = PROBED
    first = seconds_of(one)
    if first > order.limit:
        peak = peak_memory() - before
        return {"status": "too slow", "estimate": first * order.batch, "estimated_peak": peak * order.batch}
    by_one, peak_one = seconds_of(one), peak_memory() - before
    by_two, peak_two = seconds_of(two), peak_memory() - before
    more = order.batch - two
    seconds = by_two + max(by_two - by_one, 0.0) * more
    peak = peak_two + max(peak_two - peak_one, 0) * more
    estimate: dict[str, Any] = {"estimate": seconds, "estimated_peak": peak}
    if before + peak > order.memory:
        return estimate | {"status": "out of memory"}
    return estimate | ({"status": "too slow"} if seconds > order.limit else {})


def main() -> None:
    """Do what the line on standard input asks for."""
    order = Order(**json.loads(sys.stdin.readline()))
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    limit_memory(order.memory)
    for file in order.files:
        plugins.load_file(file)
    measure(order, lambda line: print(json.dumps(line), flush=True))


def _leave_with_parent() -> None:
    sys.stdin.read()  # ends when the other side is closed, however that comes about
    os._exit(1)


if __name__ == "__main__":
    main()
