"""Objects as observations: rows that can be relied on, in spaces that gymnasium accepts."""

import warnings
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from numpy.typing import NDArray

import objectspace
from objectspace.data.atari.screen import scaled
from objectspace.errors import UserError
from objectspace.rl import ObjectObservation
from objectspace.scene import Box, Object, Scene

COLORS = ((230, 40, 40), (40, 80, 230), (240, 220, 40))
SIDE = 96


class Squares(gymnasium.Env[NDArray[np.uint8], np.int64]):
    """Coloured squares that drift over a black screen."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, shape: tuple[int, ...] = (SIDE, SIDE, 3), render_mode: str | None = None) -> None:
        self.observation_space = spaces.Box(0, 255, shape, np.uint8)
        self.action_space = spaces.Discrete(2)
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._places = self.np_random.integers(0, SIDE - 16, (len(COLORS), 2))
        return self._observed(), {}

    def step(self, action: np.int64) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._places = (self._places + 1 + action) % (SIDE - 16)
        return self._observed(), 0.0, False, False, {}

    def render(self) -> NDArray[np.uint8]:
        screen = np.zeros((SIDE, SIDE, 3), np.uint8)
        for (x, y), color in zip(self._places, COLORS, strict=True):
            screen[y : y + 16, x : x + 16] = color
        return screen

    def _observed(self) -> NDArray[np.uint8]:
        shape = self.observation_space.shape
        return self.render() if shape == (SIDE, SIDE, 3) else self.render().max(2).reshape(shape)


class Scripted:
    """A model that finds, frame after frame, what it was told."""

    def __init__(self, *frames: Sequence[Object]) -> None:
        self.frames, self.seen, self.asked = list(frames), list[NDArray[np.uint8]](), dict[str, Any]()

    def decompose(self, images: Any, threshold: float, **asked: bool) -> list[Scene]:
        self.seen.append(images)
        self.asked = {"threshold": threshold} | asked
        return [Scene(100, 200, tuple(self.frames[(len(self.seen) - 1) % len(self.frames)]))]


class BySegments:
    """A model that sees every colour as an object, with the colour as its latent."""

    def decompose(self, images: Any, threshold: float, *, background: bool, pictures: bool) -> list[Scene]:
        objects = []
        for color in COLORS:
            rows, columns = np.nonzero((images == color).all(2))
            if len(rows):
                place = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
                objects.append(Object(place, place, 0.9, what=np.asarray(color, np.float32) / 50))
        height, width = images.shape[:2]
        return [Scene(height, width, tuple(objects))]


def thing(x: float, y: float, score: float = 0.9, what: float = 0.0) -> Object:
    """A square of 10 pixels around a place in a frame of 200 x 100, with a latent of one number."""
    place: Box = (x - 5, y - 5, x + 5, y + 5)
    return Object(place, place, score, depth=-0.5, what=np.array([what], np.float32))


def run(model: Scripted, rows: int, steps: int = 0, **options: Any) -> list[dict[str, NDArray[Any]]]:
    env = ObjectObservation(Squares(), model, rows, what_dim=1, **options)
    seen = [env.reset(seed=0)[0]]
    seen += [env.step(0)[0] for _ in range(steps)]
    assert all(each in env.observation_space for each in seen)
    return seen


def places(observation: dict[str, NDArray[Any]]) -> list[tuple[float, float] | None]:
    """The centre of the object in each row, in pixels."""
    rows = zip(observation["objects"], observation["mask"], strict=True)
    return [(round(100 * (row[0] + row[2])), round(50 * (row[1] + row[3]))) if here else None for row, here in rows]


def test_a_row_holds_fractions_depth_score_and_latent() -> None:
    [seen] = run(Scripted([thing(50, 40, 0.75, what=2.5)]), rows=2)
    assert seen["objects"][0].tolist() == pytest.approx([0.225, 0.35, 0.275, 0.45, -0.5, 0.75, 2.5])
    assert not seen["objects"][1].any()
    assert seen["mask"].tolist() == [1, 0]
    assert seen["objects"].dtype == np.float32
    assert seen["mask"].dtype == np.int8
    assert "ids" not in seen


def test_only_boxes_and_latents_are_asked_for() -> None:
    model = Scripted([])
    run(model, rows=2, threshold=0.3)
    assert model.asked == {"threshold": 0.3, "background": False, "pictures": False}


def test_rows_are_in_reading_order_and_do_not_mind_trembling() -> None:
    first = [thing(150, 20), thing(20, 81), thing(100, 22), thing(50, 80)]
    second = [thing(150, 22), thing(20, 80), thing(100, 20), thing(50, 81)]
    before, after = run(Scripted(first, second), rows=4, steps=1)
    assert [place[0] for place in places(before)] == [100, 150, 20, 50]
    assert [place[0] for place in places(after)] == [100, 150, 20, 50]


def test_of_too_many_objects_the_surest_stay_in_order() -> None:
    [seen] = run(Scripted([thing(30, 50, 0.6), thing(60, 50, 0.9), thing(90, 50, 0.7), thing(120, 50, 0.8)]), rows=2)
    assert places(seen) == [(60, 50), (120, 50)]


@pytest.mark.parametrize("track", [False, True])
def test_no_object_is_an_observation_too(track: bool) -> None:
    [seen] = run(Scripted([]), rows=3, track=track)
    assert not seen["objects"].any()
    assert not seen["mask"].any()
    if track:
        assert seen["ids"].tolist() == [-1, -1, -1]


def test_what_leaves_the_frame_or_is_huge_is_cut_to_the_space() -> None:
    item = Object((-20, -5, 300, 120), (-20, -5, 300, 120), 1.0, depth=1e9, what=np.array([-1e9], np.float32))
    [seen] = run(Scripted([item]), rows=1)
    assert seen["objects"][0].tolist() == [0, 0, 1, 1, 100, 1, -100]


def test_a_tracked_object_keeps_its_row_through_a_crossing() -> None:
    frames = [[thing(20 + 20 * step, 50), thing(180 - 20 * step, 50)][:: 1 if step < 4 else -1] for step in range(9)]
    seen = run(Scripted(*frames), rows=3, steps=8, track=True)
    assert all(each["ids"].tolist() == [0, 1, -1] for each in seen)
    assert [places(each)[0] for each in seen] == [(20 + 20 * step, 50) for step in range(9)]


def test_a_row_waits_for_an_object_that_is_away_and_a_newcomer_takes_a_free_one() -> None:
    here, other, new = thing(20, 50), thing(100, 50), thing(180, 50)
    seen = run(Scripted([here, other], [other], [other, new], [other, new, here]), rows=3, steps=3, track=True)
    assert [each["ids"].tolist() for each in seen] == [[0, 1, -1], [-1, 1, -1], [-1, 1, 2], [0, 1, 2]]
    assert seen[2]["mask"].tolist() == [0, 1, 1]


def test_an_absent_object_gives_its_row_up_when_there_is_no_other() -> None:
    here, other, new = thing(20, 50), thing(100, 50), thing(180, 50)
    seen = run(Scripted([here, other], [other, new], [other, new, here]), rows=2, steps=2, track=True)
    assert [each["ids"].tolist() for each in seen] == [[0, 1], [2, 1], [2, 1]]


def test_those_who_have_a_row_stay_when_surer_ones_come() -> None:
    seen = run(Scripted([thing(20, 50, 0.6)], [thing(180, 50, 0.99), thing(20, 50, 0.6)]), 1, steps=1, track=True)
    assert [each["ids"].tolist() for each in seen] == [[0], [0]]


def test_a_new_episode_begins_with_new_numbers() -> None:
    model = Scripted([thing(20, 50)], [thing(180, 50)])
    env = ObjectObservation(Squares(), model, 2, what_dim=1, track=True)
    env.reset()
    assert env.step(0)[0]["ids"].tolist() == [-1, 1]
    assert env.reset()[0]["ids"].tolist() == [0, -1]


@pytest.mark.parametrize("shape", [(SIDE, SIDE, 3), (SIDE, SIDE), (SIDE, SIDE, 1)])
def test_frames_are_the_observations_where_these_are_pictures(shape: tuple[int, ...]) -> None:
    model = Scripted([])
    env = ObjectObservation(Squares(shape), model, 1, what_dim=1)
    env.reset(seed=3)
    expected = env.unwrapped.render()
    grey = np.repeat(expected.max(2, keepdims=True), 3, axis=2)
    assert np.array_equal(model.seen[0], expected if shape == (SIDE, SIDE, 3) else grey)


@pytest.mark.parametrize(("shape", "frames"), [((SIDE * SIDE,), "auto"), ((SIDE, SIDE), "render")])
def test_frames_are_rendered_where_observations_are_no_pictures_or_on_request(shape: Any, frames: Any) -> None:
    model = Scripted([])
    env = ObjectObservation(Squares(shape, "rgb_array"), model, 1, what_dim=1, frames=frames)
    env.reset(seed=3)
    assert np.array_equal(model.seen[0], env.unwrapped.render())


def test_frames_are_scaled_as_the_data_sets_are_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    model = objectspace.load("space-sprites")
    seen: list[NDArray[np.uint8]] = []
    original = model.decompose

    def noted(frame: NDArray[np.uint8], *rest: Any, **more: Any) -> list[Scene]:
        seen.append(frame)
        return original(frame, *rest, **more)

    monkeypatch.setattr(model, "decompose", noted)
    env = ObjectObservation(Squares(), model, 4)
    env.reset(seed=0)
    assert np.array_equal(seen[0], scaled(env.unwrapped.render(), *model.config.image_size))
    env = ObjectObservation(Squares(), model, 4, prepare=lambda frame: frame[:50])
    env.reset(seed=0)
    assert np.array_equal(seen[1], env.unwrapped.render()[:50])


@pytest.mark.parametrize("track", [False, True])
@pytest.mark.parametrize("shipped", [False, True])
def test_gymnasiums_own_checker_is_content(track: bool, shipped: bool) -> None:
    model = objectspace.load("space-sprites") if shipped else BySegments()
    env = ObjectObservation(Squares(render_mode="rgb_array"), model, 5, track=track, what_dim=None if shipped else 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version")  # it is a wrapper
        warnings.filterwarnings("ignore", message=".*not having a spec")  # the environment here has no registered name
        check_env(env)


def test_a_real_model_finds_the_squares_and_tracks_them() -> None:
    env = ObjectObservation(Squares(), objectspace.load("space-sprites"), 8, track=True)
    first, _ = env.reset(seed=1)
    assert first["mask"].sum() >= 2
    for _ in range(4):
        last = env.step(0)[0]
    assert len(set(first["ids"]) & set(last["ids"]) - {-1}) >= 2
    assert env.scene is not None
    assert len(env.scene.objects) == last["mask"].sum()


def test_what_cannot_work_is_said_at_once() -> None:
    with pytest.raises(UserError, match="render_mode='rgb_array'"):
        ObjectObservation(Squares((7,)), Scripted([]), what_dim=1)
    with pytest.raises(UserError, match="are no pictures"):
        ObjectObservation(Squares((7,)), Scripted([]), what_dim=1, frames="observation")
    with pytest.raises(UserError, match="at least 1"):
        ObjectObservation(Squares(), Scripted([]), 0, what_dim=1)
    with pytest.raises(UserError, match="give what_dim"):
        ObjectObservation(Squares(), Scripted([]))
    with pytest.raises(UserError, match=r"by 1 numbers, not by what_dim = 2"):
        ObjectObservation(Squares(), Scripted([thing(50, 50)]), what_dim=2).reset()
    with pytest.raises(UserError, match="say 'observation'"):
        ObjectObservation(Squares(), Scripted([]), what_dim=1, frames="pixels")
