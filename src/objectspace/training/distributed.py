"""One process or many: how they are connected, and how they agree on what happens next.

Under torchrun the number of processes comes from its environment; otherwise Fabric starts what `--devices` asks for.
The first process reads and writes the run's files, the others get what it found, so a run's directory needs to
be seen by one machine only.
"""

import os
from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
from lightning_fabric import Fabric
from lightning_fabric.plugins.environments.torchelastic import TorchElasticEnvironment
from lightning_fabric.strategies.ddp import DDPStrategy
from lightning_fabric.utilities.rank_zero import rank_zero_only

from objectspace.errors import UserError, unknown
from objectspace.training.precision import FABRICS

T = TypeVar("T")


def connect(accelerator: str, devices: int, nodes: int, precision: str) -> Fabric:
    """This process's hold on the others; starts them unless torchrun has."""
    if precision not in FABRICS:
        raise unknown("precision", precision, list(FABRICS))
    if TorchElasticEnvironment.detect():
        devices = int(os.environ["LOCAL_WORLD_SIZE"])
        nodes = int(os.environ["WORLD_SIZE"]) // devices
    # A step in which no cell is chosen leaves the glimpse nets without a gradient.
    strategy = DDPStrategy(find_unused_parameters=True) if devices * nodes > 1 else "auto"
    try:
        fabric = Fabric(
            accelerator=accelerator, devices=devices, num_nodes=nodes, precision=FABRICS[precision], strategy=strategy
        )
    except (ValueError, RuntimeError) as error:
        raise UserError(f"cannot train with --accelerator {accelerator} --devices {devices}: {error}") from error
    fabric.launch()
    return fabric


def is_rank_zero() -> bool:
    """Whether this process has rank zero: it is the one that speaks."""
    return int(getattr(rank_zero_only, "rank", 0) or 0) == 0


def share_of(batch: int, processes: int) -> int:
    """The images of each process's part of a batch."""
    if batch % processes:
        below, above = batch // processes * processes, -(-batch // processes) * processes
        fitting = " or ".join(str(size) for size in (below, above) if size)
        raise UserError(
            f"training.batch = {batch} cannot be split evenly over {processes} processes: "
            f"use --set training.batch={fitting}, or another number of processes"
        )
    return batch // processes


def on_rank_zero(fabric: Fabric, action: Callable[[], T]) -> T:
    """Let rank zero do something; all processes get its result, or stop with its error."""
    answer: tuple[T | None, str | None] = (None, None)
    if fabric.is_global_zero:
        try:
            answer = action(), None
        except UserError as error:
            if fabric.world_size == 1:
                raise
            answer = None, str(error)
    result, problem = fabric.broadcast(answer)
    if problem is not None:
        raise UserError(problem)
    return result  # type: ignore[return-value]


def averages(fabric: Fabric, values: Mapping[str, float]) -> dict[str, float]:
    """Each value's mean over the processes, by one message."""
    if fabric.world_size == 1:
        return dict(values)
    own = torch.tensor(list(values.values()), dtype=torch.float64, device=fabric.device)
    mean = fabric.all_reduce(own, reduce_op="mean")
    assert isinstance(mean, torch.Tensor)
    return dict(zip(values, mean.tolist(), strict=True))
