"""Which images make up a training batch: a pure function of (seed, step, rank).

Nothing is remembered from step to step, so resuming costs nothing and several processes need not talk: each takes its
own slice of the same global batch. Every epoch is a new permutation; a batch may reach from one epoch into the next.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Sampler:
    """Batches of `batch` indices below `length` for each of `ranks` processes.

    >>> sampler = Sampler(length=8, batch=4, seed=0)
    >>> first, second = sampler.indices(step=0), sampler.indices(step=1)  # together an epoch
    >>> sorted([*first.tolist(), *second.tolist()])
    [0, 1, 2, 3, 4, 5, 6, 7]
    """

    length: int
    batch: int
    seed: int = 0
    ranks: int = 1

    def __post_init__(self) -> None:
        if min(self.length, self.batch, self.ranks) < 1:
            raise ValueError(f"a sampler needs at least one image, batch and rank, not {self}")

    def indices(self, step: int, rank: int = 0) -> Indices:
        """The batch (B,) of process `rank` at training step `step`, both counted from 0."""
        if not (0 <= rank < self.ranks and step >= 0):
            raise ValueError(f"step {step}, rank {rank} is out of range for {self.ranks} ranks")
        first = (step * self.ranks + rank) * self.batch
        positions = np.arange(first, first + self.batch)
        epochs, places = positions // self.length, positions % self.length
        return np.concatenate(
            [_permutation(self.length, self.seed, int(epoch))[places[epochs == epoch]] for epoch in np.unique(epochs)]
        )


@lru_cache(maxsize=4)
def _permutation(length: int, seed: int, epoch: int) -> Indices:
    order = np.random.default_rng([seed, epoch]).permutation(length).astype(np.int64)
    order.flags.writeable = False  # the cache hands out the same array again
    return order
