"""The training loop: from a recipe and a data set to a run directory with weights.

    RUN/recipe.toml        the full recipe
    RUN/metrics.jsonl      a line every few steps; RUN/tensorboard the same
    RUN/latest.png         what the model makes of a few held-out images
    RUN/checkpoints/       the newest training states
    RUN/model/             the weights, as `objectspace.load` reads them
    RUN/summary.json       how it went

All randomness is a function of (seed, step, rank), so a checkpoint needs no random state to be resumed exactly.
"""

import math
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from objectspace import recipe_files
from objectspace.config import Recipe
from objectspace.data.dataset import Dataset
from objectspace.data.sampler import Sampler
from objectspace.errors import UserError
from objectspace.models.base import SceneModel
from objectspace.training import checkpoint, optimisers
from objectspace.training.journal import Journal
from objectspace.training.step import StepReport, take_step
from objectspace.training.validate import measure
from objectspace.training.watch import Collapse, Watch, vitals

MOST_SKIPPED = 20  # steps in a row without a finite gradient before a run gives up
PICTURED = 6  # images in latest.png

Say = Callable[[str], None]


@dataclass
class State:
    """Where a run stands, beyond weights and optimisers."""

    step: int = 0
    seconds: float = 0.0
    skipped: int = 0
    skipped_in_a_row: int = 0
    best: float = -math.inf
    measures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Ended:
    """How a start ended: `finished`, `stopped` (signal), `out of time`, or a collapse's name."""

    reason: str
    state: State
    collapse: Collapse | None = None


@dataclass(frozen=True)
class Start:
    """One start of a run: everything the loop works on."""

    fabric: Fabric
    recipe: Recipe
    seed: int
    model: SceneModel
    objective: nn.Module  # the model with its loss, as Fabric wraps it
    optimisers: dict[str, Any]
    train: Dataset
    held_out: Dataset
    run: Path


def run_start(start: Start, state: State, deadline: float, fatal_collapse: bool, say: Say) -> Ended:
    """Train until the last step, the deadline (`time.monotonic`), a signal, or a fatal collapse."""
    recipe, training = start.recipe, start.recipe.training
    sampler = Sampler(len(start.train), training.batch, start.seed, start.fabric.world_size)
    watch = Watch(cells=math.prod(recipe.model.foreground.grid), grace=training.watch_from)
    begun = time.monotonic() - state.seconds
    with Journal(start.run, state.step) as journal, _signals() as stop:
        while state.step < training.steps:
            images = to_images(start.train, sampler, state.step, start.fabric)
            for name, optimiser in start.optimisers.items():
                optimisers.set_rate(optimiser, optimisers.rate_at(getattr(training, name), state.step))
            report = take_step(
                start.fabric,
                start.objective,
                start.optimisers,
                images,
                state.step,
                noise(start.seed, state.step, start.fabric),
                training.clip,
            )
            state.step += 1
            state.seconds = time.monotonic() - begun
            _count_skipped(state, report)
            if state.step % training.log_every == 0:
                journal.note(state.step, {"seconds": round(state.seconds, 2)} | dict(report.terms))
                say(_line(state, training.steps, report))
            out_of_time = time.monotonic() > deadline
            if state.step % training.look_every == 0 or state.step == training.steps:
                collapse = look(start, state, journal, watch, say)
                if collapse is not None and fatal_collapse:
                    return Ended(collapse.name, state, collapse)
            if state.step % training.save_every == 0 or state.step == training.steps or stop or out_of_time:
                save(start, state)
            if stop or out_of_time:
                return Ended("stopped" if stop else "out of time", state)
    return Ended("finished", state)


def look(start: Start, state: State, journal: Journal, watch: Watch, say: Say) -> Collapse | None:
    """Measure on held-out images, draw them, and warn; gives a fatal collapse if there is one."""
    start.objective.eval()
    numbers = range(min(start.recipe.training.look_images, len(start.held_out)))
    images = [start.held_out.images[number] for number in numbers]
    scenes = start.model.decompose(images)
    start.objective.train()
    state.measures = measure(scenes, start.held_out)
    seen = vitals(scenes)
    journal.note(state.step, state.measures | {"coverage": seen.coverage, "duplicates": seen.duplicates})
    journal.picture(state.step, images[:PICTURED], scenes[:PICTURED])
    say("  ".join(f"{name} {value:.3f}" for name, value in state.measures.items()))
    collapses = watch.look(state.step, seen)
    for collapse in collapses:
        say(f"warning: {collapse.name}: {collapse.advice}")
        journal.note(state.step, {"warning": collapse.name})
    return next((collapse for collapse in collapses if collapse.fatal), None)


def to_images(dataset: Dataset, sampler: Sampler, step: int, fabric: Fabric) -> Tensor:
    """The batch of this process: (B, C, H, W) in [0, 1]."""
    pixels = torch.from_numpy(dataset.batch(sampler.indices(step, fabric.global_rank)))
    return fabric.to_device(pixels).permute(0, 3, 1, 2).float() / 255


def noise(seed: int, step: int, fabric: Fabric) -> torch.Generator:
    """A generator that depends on the seed, the step and the process alone."""
    mixed = (seed * 1_000_003 + step) * 1_009 + fabric.global_rank
    return torch.Generator(device=fabric.device).manual_seed(mixed % 2**63)


def save(start: Start, state: State) -> None:
    """Write a checkpoint (the first process does)."""
    if not start.fabric.is_global_zero:
        return
    tensors = {f"model/{name}": tensor for name, tensor in start.model.state_dict().items()}
    for name, optimiser in start.optimisers.items():
        flat = checkpoint.flatten_optimiser(optimiser.state_dict())
        tensors |= {f"{name}/{key}": tensor for key, tensor in flat.items()}
    facts = {"seed": start.seed, "state": vars(state), "recipe": recipe_files.dump(start.recipe)}
    checkpoint.save(start.run / "checkpoints", checkpoint.Checkpoint(state.step, tensors, facts))


def restore(start: Start, saved: checkpoint.Checkpoint) -> State:
    """Put a checkpoint's weights and optimiser states in place."""

    def part(name: str) -> dict[str, Tensor]:
        return {
            key.removeprefix(f"{name}/"): value for key, value in saved.tensors.items() if key.startswith(f"{name}/")
        }

    start.model.load_state_dict(part("model"))
    for name, optimiser in start.optimisers.items():
        groups = optimiser.state_dict()["param_groups"]
        optimiser.load_state_dict(checkpoint.unflatten_optimiser(part(name), groups))
    return State(**saved.facts["state"])


def _count_skipped(state: State, report: StepReport) -> None:
    state.skipped += report.skipped
    state.skipped_in_a_row = state.skipped_in_a_row + 1 if report.skipped else 0
    if state.skipped_in_a_row >= MOST_SKIPPED:
        raise UserError(
            f"the gradient was not finite in {MOST_SKIPPED} steps in a row, up to step {state.step} (loss "
            f"{report.terms['loss']}): lower training.foreground.rate and training.background.rate"
        )


def _line(state: State, steps: int, report: StepReport) -> str:
    rate = state.step / max(state.seconds, 1e-9)
    left = (steps - state.step) / max(rate, 1e-9)
    return (
        f"step {state.step}/{steps}  {rate:.2f}/s  {left / 60:.0f} min left  loss {report.terms['loss']:.0f}  "
        f"mse {report.terms['mse']:.1f}  objects {report.terms['objects']:.1f}"
    )


@contextmanager
def _signals() -> Iterator[Sequence[int]]:
    """A list that is empty until SIGINT or SIGTERM arrives; the loop then saves and leaves."""
    arrived: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        arrived.append(number)

    before = {number: signal.signal(number, remember) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
