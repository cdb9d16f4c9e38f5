"""Objects instead of pixels, for reinforcement learning: a gymnasium wrapper around any environment that has a picture.

    env = ObjectObservation(gymnasium.make("ALE/Pong-v5"), objectspace.load("run/model"), max_objects=16, track=True)

An observation is a dictionary:

    objects   (max_objects, 6 + D) float32   x0 y0 x1 y1 as fractions of the frame, depth, score, what (D,)
    mask      (max_objects,) int8            1 where a row holds an object; rows without one are zero
    ids       (max_objects,) int64           only with `track`: who it is, -1 where there is none

**Which row an object is in.** With `track`, an object keeps its row for as long as it keeps its number, so a row is an
identity; a new object takes the first row that is free. Without, rows are in reading order: from top to bottom in bands
of a sixteenth of the frame, so that objects side by side do not change places when one trembles, and from left to right
within a band. Where there are more objects than rows, those with the highest scores stay (with `track`, those that have
a row already come first).

**Where frames come from.** The observation, if it is a picture (uint8, (H, W, 3), (H, W) or (H, W, 1)); otherwise
`env.render()`, so the environment must be made with `render_mode="rgb_array"`. `frames` forces one or the other: with
grey or shrunken observations, render gives the colours that a model was trained on. The whole frame is scaled to the
model's size as `objectspace data atari` scales it; `prepare` replaces that, for data made in another way.

Only boxes, masks and latents are computed: no background, no pictures. What was found and not understood has a row like
every other object; which ones these are is in `scene`.
"""

from collections.abc import Callable
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from objectspace.data.atari.screen import scaled
from objectspace.errors import UserError, missing_extra
from objectspace.scene import Object, Picture, Scene
from objectspace.video.tracking import Tracker

try:
    import gymnasium
    from gymnasium import spaces
except ModuleNotFoundError as missing:
    raise missing_extra("gymnasium", "atari") from missing

BANDS = 16  # of the frame's height, for the reading order
PLACE = 6  # columns before `what`: x0 y0 x1 y1 depth score
LARGEST = 100.0  # depths and latents are of the order of 1; what lies beyond is cut off, so that the space is bounded
LARGEST_ID = 2**31 - 1

Observation = dict[str, NDArray[Any]]
Frames = Literal["auto", "observation", "render"]


class TakesApart(Protocol):
    """All that is asked of a model."""

    def decompose(self, images: Any, threshold: float, *, background: bool, pictures: bool) -> list[Scene]: ...


class ObjectObservation(gymnasium.ObservationWrapper[Observation, Any, Any]):
    """An environment whose observations are the objects that a model finds; see the top of this module.

    `threshold` is how sure the model must be of an object. `what_dim`, the D above, need only be given for a model
    whose config does not say it. `tracker` replaces the usual `Tracker()`. The last frame's `Scene` is in `scene`.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        model: TakesApart,
        max_objects: int = 32,
        *,
        track: bool = False,
        threshold: float = 0.5,
        frames: Frames = "auto",
        prepare: Callable[[Picture], Picture] | None = None,
        what_dim: int | None = None,
        tracker: Tracker | None = None,
    ) -> None:
        super().__init__(env)
        if max_objects < 1:
            raise UserError(f"max_objects is the number of rows, at least 1, not {max_objects}")
        self.model, self.max_objects, self.threshold = model, max_objects, threshold
        self.scene: Scene | None = None
        self._renders = _renders(env, frames)
        self._prepare = prepare or _to_size_of(model)
        self._tracker = (tracker or Tracker()) if track else None
        self._rows: dict[int, int] = {}  # of every number that has one
        self.what_dim = _what_dim(model) if what_dim is None else what_dim
        self.observation_space = self._space()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """A new episode; numbers and rows begin anew."""
        self._rows.clear()
        if self._tracker is not None:
            self._tracker.reset()
        return super().reset(seed=seed, options=options)

    def observation(self, observation: Any) -> Observation:
        """The objects of the present frame."""
        frame = self._prepare(_picture(self.env.render() if self._renders else observation))
        [self.scene] = self.model.decompose(frame, self.threshold, background=False, pictures=False)
        values = _features(self.scene, self.what_dim)  # (M, 6 + D)
        ids = None
        if self._tracker is None:
            rows = dict(enumerate(_reading_order(values, self.max_objects)))
        else:
            ids = self._tracker.update(values[:, :4], values[:, PLACE:])
            rows = self._rows_of(ids, values[:, 5])
        table = np.zeros((self.max_objects, PLACE + self.what_dim), np.float32)
        mask = np.zeros(self.max_objects, np.int8)
        numbers = np.full(self.max_objects, -1, np.int64)
        for row, index in rows.items():
            table[row], mask[row] = values[index], 1
            if ids is not None:
                numbers[row] = ids[index]
        found: Observation = {"objects": table, "mask": mask}
        return found if ids is None else found | {"ids": numbers}

    def _rows_of(self, ids: NDArray[np.int64], scores: NDArray[np.float32]) -> dict[int, int]:
        """The object in each row that has one: rows are kept, and newcomers take free ones, the surest first."""
        assert self._tracker is not None
        remembered, present = self._tracker.remembered, set(ids.tolist())
        self._rows = {number: row for number, row in self._rows.items() if number in remembered}
        for index in np.argsort(-scores, kind="stable"):
            if ids[index] in self._rows:
                continue
            free = set(range(self.max_objects)) - set(self._rows.values())
            away = next((number for number in self._rows if number not in present), None)
            if free:
                self._rows[int(ids[index])] = min(free)
            elif away is not None:  # an object that may come back loses its row to one that is here
                self._rows[int(ids[index])] = self._rows.pop(away)
        return {self._rows[int(number)]: index for index, number in enumerate(ids) if int(number) in self._rows}

    def _space(self) -> spaces.Space[Observation]:
        low = np.full((self.max_objects, PLACE + self.what_dim), -LARGEST, np.float32)
        high = -low
        for columns in (slice(0, 4), slice(5, 6)):  # fractions and probabilities
            low[:, columns], high[:, columns] = 0, 1
        entries: dict[str, spaces.Space[Any]] = {
            "objects": spaces.Box(low, high, dtype=np.float32),
            "mask": spaces.MultiBinary(self.max_objects),
        }
        if self._tracker is not None:
            entries["ids"] = spaces.Box(-1, LARGEST_ID, (self.max_objects,), np.int64)
        space: spaces.Space[Any] = spaces.Dict(entries)
        return space


def _features(scene: Scene, what_dim: int) -> NDArray[np.float32]:
    """The objects as rows (M, 6 + D), within the bounds of the space."""
    values = np.zeros((len(scene.found), PLACE + what_dim), np.float32)
    sides = scene.width, scene.height, scene.width, scene.height
    for row, item in zip(values, scene.found, strict=True):
        row[:4] = np.clip(np.divide(item.box, sides), 0, 1)
        row[4], row[5] = item.depth, min(max(item.score, 0), 1)
        row[PLACE:] = _what(item, what_dim)
    return np.clip(values, -LARGEST, LARGEST)


def _what(item: Object, what_dim: int) -> NDArray[np.float32]:
    what = np.zeros(0, np.float32) if item.what is None else item.what
    if len(what) != what_dim:
        raise UserError(f"this model describes an object by {len(what)} numbers, not by what_dim = {what_dim}")
    return what


def _reading_order(values: NDArray[np.float32], most: int) -> list[int]:
    """The objects with the highest scores, from top to bottom in bands and from left to right."""
    kept = np.argsort(-values[:, 5], kind="stable")[:most]
    x, y = (values[kept, 0] + values[kept, 2]) / 2, (values[kept, 1] + values[kept, 3]) / 2
    return [int(index) for index in kept[np.lexsort((y, x, np.floor(y * BANDS)))]]


def _renders(env: gymnasium.Env[Any, Any], frames: Frames) -> bool:
    """Whether frames are rendered, rather than observed."""
    space = env.observation_space
    observed = isinstance(space, spaces.Box) and space.dtype == np.uint8 and _is_picture(space.shape)
    if frames not in ("auto", "observation", "render"):
        raise UserError(f"frames={frames!r}: say 'observation', 'render' or 'auto'")
    if frames == "observation" and not observed:
        raise UserError(f"the observations of {env} are no pictures (uint8, height x width x 3 or grey): {space}")
    if frames == "observation" or (frames == "auto" and observed):
        return False
    if env.render_mode != "rgb_array":
        raise UserError(f"{env} shows no pictures: make it with render_mode='rgb_array', not {env.render_mode!r}")
    return True


def _is_picture(shape: tuple[int, ...]) -> bool:
    return len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3))


def _picture(frame: Any) -> Picture:
    """A frame as (H, W, 3)."""
    pixels = np.asarray(frame)
    if pixels.dtype != np.uint8 or not _is_picture(pixels.shape):
        raise UserError(f"a frame should be uint8 and (height, width, 3) or grey, not {pixels.dtype} {pixels.shape}")
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    return np.repeat(pixels, 3, axis=2) if pixels.shape[2] == 1 else pixels


def _to_size_of(model: TakesApart) -> Callable[[Picture], Picture]:
    size = getattr(getattr(model, "config", None), "image_size", None)
    return (lambda frame: frame) if size is None else (lambda frame: scaled(frame, *size))


def _what_dim(model: TakesApart) -> int:
    """How many numbers describe an object: as the model's config says it."""
    config = getattr(model, "config", None)
    for section in (model, config, getattr(config, "foreground", None)):
        dim = getattr(section, "what_dim", None)
        if isinstance(dim, int):
            return dim
    raise UserError("this model does not say how many numbers describe an object: give what_dim (0 if none do)")
