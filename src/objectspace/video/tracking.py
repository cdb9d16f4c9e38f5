"""Which object is which, from one frame to the next.

Reads the boxes and the latents of a frame's objects; gives each a number that it keeps for as long as it is seen, and
over a few frames in which it is not. Objects are matched to what is remembered so that the sum of the distances is
smallest; a track is expected where it would be if it went on as it went last, so that equal objects may cross.

Convention: boxes are x0 y0 x1 y1 as fractions of the frame. Shapes: M objects, T tracks, D latent.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

Floats = NDArray[np.float64]

_FORBIDDEN = 1e6  # costs more than any number of good pairs
_HALF = 0.5  # of what is remembered of speed and appearance is new: one bad frame does not change them much


@dataclass(frozen=True)
class _Track:
    """An object as it was seen last."""

    number: int
    box: Floats  # (4,)
    speed: Floats  # (4,) what the box changes by in a frame; only the place moves, not the size
    what: Floats  # (D,)
    missed: int = 0  # frames since

    @property
    def expected(self) -> Floats:
        """Where it should be now."""
        return self.box + self.speed * (self.missed + 1)


class Tracker:
    """Numbers for objects, from 0, never used twice until `reset`.

    An object may be at most `reach` away from where it is expected, as the mean distance of the four sides, and at most
    `likeness` away in looks, in units of what separates two random latents; half of both is as far as all of one. It is
    remembered for `patience` frames without it.
    """

    def __init__(self, reach: float = 0.2, likeness: float = 1.0, patience: int = 5) -> None:
        if reach <= 0 or likeness <= 0 or patience < 0:
            raise ValueError("reach and likeness lie above 0, and patience is 0 or more")
        self.reach, self.likeness, self.patience = reach, likeness, patience
        self.reset()

    def reset(self) -> None:
        """Forget everything: another episode begins."""
        self._tracks: list[_Track] = []
        self._next = 0

    @property
    def remembered(self) -> frozenset[int]:
        """The numbers of all objects that are seen or may come back."""
        return frozenset(track.number for track in self._tracks)

    def update(self, boxes: ArrayLike, what: ArrayLike) -> NDArray[np.int64]:
        """The numbers (M,) of the objects of the next frame, from their boxes (M, 4) and latents (M, D)."""
        places = np.asarray(boxes, np.float64).reshape(-1, 4)
        looks = np.asarray(what, np.float64).reshape(len(places), -1 if len(places) else 0)
        numbers = np.full(len(places), -1, np.int64)
        tracks = []
        found = dict(self._pairs(places, looks))
        for index, track in enumerate(self._tracks):
            if index in found:
                numbers[found[index]] = track.number
                tracks.append(_seen(track, places[found[index]], looks[found[index]]))
            elif track.missed < self.patience:
                tracks.append(replace(track, missed=track.missed + 1))
        for index in np.flatnonzero(numbers < 0):
            numbers[index] = self._next
            tracks.append(_Track(self._next, places[index], np.zeros(4), looks[index]))
            self._next += 1
        self._tracks = tracks
        return numbers

    def _pairs(self, places: Floats, looks: Floats) -> list[tuple[int, int]]:
        """Which track is which object, as pairs of indices; at most one of each, none beyond the gate."""
        if not self._tracks or not len(places):
            return []
        expected = np.stack([track.expected for track in self._tracks])  # (T, 4)
        known = np.stack([track.what for track in self._tracks])  # (T, D)
        if known.shape[1] != looks.shape[1]:
            raise ValueError(
                f"latents of {looks.shape[1]} numbers after some of {known.shape[1]}: reset between models"
            )
        apart = np.abs(expected[:, None] - places[None]).mean(-1)  # (T, M)
        unlike = np.linalg.norm(known[:, None] - looks[None], axis=-1) / np.sqrt(2 * max(1, looks.shape[1]))
        cost = apart / self.reach + unlike / self.likeness
        allowed = cost <= 1
        rows, columns = linear_sum_assignment(np.where(allowed, cost, _FORBIDDEN))
        return [(int(row), int(column)) for row, column in zip(rows, columns, strict=True) if allowed[row, column]]


def _seen(track: _Track, box: Floats, what: Floats) -> _Track:
    """A track after its object was found again."""
    moved = (box - track.box) / (track.missed + 1)
    shift = np.tile((moved[:2] + moved[2:]) / 2, 2)
    speed = shift if not track.speed.any() else _HALF * shift + (1 - _HALF) * track.speed
    return _Track(track.number, box, speed, _HALF * what + (1 - _HALF) * track.what)
