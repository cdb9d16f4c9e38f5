"""The training loop: from a recipe and a data set to a run directory with weights.

    RUN/recipe.toml        the full recipe
    RUN/ladder.json        which background was chosen and why, where the recipe leaves that open
    RUN/metrics.jsonl      a line every few steps; RUN/tensorboard the same
    RUN/latest.png         what the model makes of a few held-out images
    RUN/checkpoints/       the newest training states
    RUN/model/             the weights, as `objectspace.load` reads them
    RUN/summary.json       how it went

All randomness is a function of (seed, step, rank), so a checkpoint needs no random state to be resumed exactly. With
several processes each takes its part of the batch; whatever decides about the run is agreed on, so that all of them
leave the loop at the same step.
"""

import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
from lightning_fabric import Fabric

from objectspace.data.motion import Motion
from objectspace.data.sampler import Sampler
from objectspace.errors import UserError
from objectspace.training import optimisers, signs
from objectspace.training.batches import noise, to_images, to_motion
from objectspace.training.display import Display, Say
from objectspace.training.distributed import averages, on_rank_zero, share_of
from objectspace.training.ground import background_leaves, ground_share
from objectspace.training.log import MetricsLog
from objectspace.training.monitor import Collapse, Watch
from objectspace.training.signals import stop_signals
from objectspace.training.state import Start, State, save
from objectspace.training.step import StepReport, take_step
from objectspace.training.validation import tell, validate

MOST_SKIPPED = 20  # steps in a row without a finite gradient before a run gives up
PHASES = {
    "background": "the background learns alone; what it cannot explain is unknown",
    "warm": "what is unexplained teaches the first objects",
    "objects": "objects and background learn, each by a bound of its own",
    "sharpen": "all learn together, by one bound",
}
MOST_GROUND = 0.02  # of the pixels: a background that leaves more ground than this has failed; good ones leave 0.004


class DivergedError(UserError):
    """The gradient was not finite for too long."""


@dataclass(frozen=True)
class Ended:
    """How a start ended: `finished`, `stopped` (signal), `out of time`, or a collapse's name."""

    reason: str
    state: State
    collapse: Collapse | None = None


def run_start(start: Start, state: State, deadline: float, fatal_collapse: bool, say: Say) -> Ended:
    """Train until the last step, the deadline (`time.monotonic`), a signal, or a fatal collapse."""
    fabric, training = start.fabric, start.recipe.training
    share = share_of(training.batch, fabric.world_size)
    sampler = Sampler(len(start.train), share, start.seed, fabric.world_size)
    config, anneal = start.recipe.model, start.recipe.anneal
    grace = max(training.watch_from, anneal.objects_from)
    watch = Watch(config.cells, config.collapses, grace, Counter(state.lasting))
    steps = signs.Steps(config.cells, signs.first_step(anneal.objects_from), anneal.objects_from or training.watch_from)
    moving = None if anneal.motion_prior is None else Motion(start.train)
    phase = anneal.phase_at(training.steps)  # a training of one phase says nothing of it
    apart = start.model.clip_groups() if training.clip_apart else None
    begun, computed = time.monotonic() - state.seconds, time.process_time() - state.processor
    with (
        MetricsLog(start.run, state.step) if fabric.is_global_zero else nullcontext() as log,
        Display(
            training.steps + state.put_back, state.step, deadline, say, silent=not fabric.is_global_zero
        ) as display,
        stop_signals() as arrived,
    ):
        while state.clock < training.steps:
            if anneal.phase_at(state.clock) != phase:
                phase = anneal.phase_at(state.clock)
                say(f"phase {phase}: {PHASES[phase]}")
            images = to_images(start.train, sampler, state.step, fabric)
            motion = None if moving is None else to_motion(moving, sampler, state.step, fabric)
            for name, optimiser in start.optimisers.items():
                optimisers.set_rate(optimiser, optimisers.rate_at(getattr(training, name), state.clock))
            generator = noise(start.seed, state.step, fabric)
            report = take_step(
                fabric, start.objective, start.optimisers, images, state.clock, generator, training.clip, motion, apart
            )
            state.step += 1
            state.seconds, state.processor = time.monotonic() - begun, time.process_time() - computed
            report, stopped, late = agree(fabric, report, bool(arrived), time.monotonic() > deadline)
            _count_skipped(state, report)
            if not report.skipped:
                start.model.after_step(report.terms)
            if state.clock == anneal.background_first and training.background_repeats:
                repeat_background(start, state, say)
                display.lengthen(training.steps + state.put_back)
            logged, last = state.step % training.log_every == 0, state.clock == training.steps
            if logged and log is not None:
                facts: dict[str, float | str] = {"seconds": round(state.seconds, 2), "phase": phase}
                log.write(state.step, facts | dict(report.terms))
            early = steps.warnings(state.clock, report.terms)
            tell(early, state, log, say)
            state.warnings |= early
            display.show(state.step, _numbers(state, report), line=logged)
            if last or state.step % training.validate_every == 0:
                collapse = validate(start, state, log, watch, say)
                if collapse is not None and fatal_collapse:
                    return Ended(collapse.name, state, collapse)
            if last or stopped or late or state.step % training.save_every == 0:
                save(start, state)
            if (stopped or late) and not last:
                return Ended("stopped" if stopped or arrived else "out of time", state)  # perhaps during the save
    return Ended("finished", state)


def agree(fabric: Fabric, report: StepReport, stopped: bool, late: bool) -> tuple[StepReport, bool, bool]:
    """The report over all processes; whether any of them got a signal; whether the first one's time is up."""
    late = late and fabric.is_global_zero
    mean = averages(fabric, {"stopped": stopped, "late": late} | dict(report.terms))
    stopped, late = mean.pop("stopped") > 0, mean.pop("late") > 0
    return replace(report, terms=mean), stopped, late


def repeat_background(start: Start, state: State, say: Say) -> None:
    """Put the clock back to the first step if the background, at the end of its phase, leaves ground unexplained.

    It goes on from where it stands, with the wide sigma and the rate of the first steps.
    """
    first = start.recipe.anneal.background_first
    left = on_rank_zero(start.fabric, lambda: _ground_left(start, state))
    if left <= MOST_GROUND:
        return
    done = state.put_back // first
    if done >= start.recipe.training.background_repeats:
        say(
            f"warning: {left:.1%} of the held-out pixels are ground that the background does not explain: objects will "
            "draw it; give phases.background more steps, or the background more components or stills"
        )
        return
    state.put_back += first
    say(f"{left:.1%} of the held-out pixels are ground that the background does not explain: its phase is done again")


def _ground_left(start: Start, state: State) -> float:
    """The share of held-out pixels that are ground, and that the background alone does not explain."""
    stage = replace(start.recipe.anneal.at(state.clock - 1), background_only=True)
    images = start.held_out.batch(np.arange(min(start.recipe.training.validate_images, len(start.held_out))))
    start.objective.eval()
    share = ground_share(*background_leaves(start.model, images, stage, start.recipe.training.batch))
    start.objective.train()
    return share


def _count_skipped(state: State, report: StepReport) -> None:
    state.skipped += report.skipped
    state.skipped_in_a_row = state.skipped_in_a_row + 1 if report.skipped else 0
    if state.skipped_in_a_row >= MOST_SKIPPED:
        raise DivergedError(
            f"the gradient was not finite in {MOST_SKIPPED} steps in a row, up to step {state.step} (loss "
            f"{report.terms['loss']}): lower training.foreground.rate and training.background.rate"
        )


def _numbers(state: State, report: StepReport) -> dict[str, float]:
    """What the display shows of a step: its own numbers, and the AP of the last validation where boxes exist."""
    found = {"AP@0.5": state.measures["val_ap50"]} if "val_ap50" in state.measures else {}
    terms = report.terms
    return {"loss": terms["loss"], "squared error": terms["squared_error"], "objects": terms["objects"]} | found
