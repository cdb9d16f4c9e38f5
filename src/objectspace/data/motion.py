"""What moves: where an image differs from what stays the same in its run of successive frames.

Reads a data set whose images come in runs (`objectspace data atari --consecutive k`); gives a mask of moving pixels
for each image. What stays the same is the median of the run, so a thing must move within a run to be noticed.
Shapes: n images, B of them, k frames a run, H W image.
"""

import numpy as np
from numpy.typing import NDArray

from objectspace.data.dataset import Dataset
from objectspace.errors import UserError

LEAST_FRAMES = 3  # of a run: the median of two is neither
LEAST_CHANGE = 20  # of 255, in any channel


class Motion:
    """Which pixels of a data set's images move."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        # Games number their runs alike, so a run is told by its game too.
        named = [f"{dataset.group(i)}/{name}" if name else "" for i, name in enumerate(dataset.sequences.tolist())]
        names, run, lengths = np.unique(np.array(named, np.str_), return_inverse=True, return_counts=True)
        if not len(names) or (lengths[names != ""] < LEAST_FRAMES).all():
            raise UserError(
                f"{dataset.root} has no runs of {LEAST_FRAMES} or more successive frames in split {dataset.split}, so "
                "nothing can be seen to move: make it with  objectspace data atari ... --consecutive 16, or set "
                "anneal.motion_prior=none"
            )
        self._usable = (names[run] != "") & (lengths[run] >= LEAST_FRAMES)  # (n,)
        order = np.argsort(run, kind="stable")
        self._members = np.split(order, np.cumsum(lengths)[:-1])  # images of each run
        self._run = run
        self._still: dict[int, NDArray[np.uint8]] = {}  # by run, as they are asked for

    def of(self, indices: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The moving pixels of some images (B, H, W); none where an image is from no run."""
        moving = np.zeros((len(indices), self.dataset.height, self.dataset.width), np.bool_)
        for number, index in enumerate(indices.tolist()):
            if self._usable[index]:
                change = self.dataset.images[index].astype(np.int16) - self._median(int(self._run[index]))
                moving[number] = (np.abs(change) >= LEAST_CHANGE).any(2)
        return moving

    def _median(self, run: int) -> NDArray[np.uint8]:
        """What stays the same in a run (H, W, 3); kept, because a median takes longer than all the rest."""
        if run not in self._still:
            self._still[run] = np.median(self.dataset.images[self._members[run]], axis=0).astype(np.uint8)
        return self._still[run]
