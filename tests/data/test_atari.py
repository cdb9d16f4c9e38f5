"""Real games: needs the extra `atari`."""

import hashlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from objectspace.data import store
from objectspace.data.atari import AtariSource, modes, source, streams
from objectspace.data.atari.play import GameState
from objectspace.data.generate import generate
from objectspace.data.sample import Sample
from objectspace.errors import UserError

SHORT, LONGER = 8, 24  # frames of a unit
AGENTS = """
calls = []

def watching(game, actions, seed):
    calls.append((game, actions, seed))
    def act(screen, rng):
        assert screen.shape == (210, 160, 3)
        screen[:] = 0  # an agent may do what it likes with its picture
        return rng.integers(actions)
    return act

def too_much(game, actions, seed):
    return lambda screen, rng: actions

def words(game, actions, seed):
    return lambda screen, rng: "FIRE"

def nothing(game, actions, seed):
    return None

def failing(game, actions, seed):
    return lambda screen, rng: 1 / 0

number = 7
"""


def fingerprint(samples: list[Sample]) -> str:
    digest = hashlib.sha1()
    for sample in samples:
        digest.update(sample.image.tobytes())
        digest.update(json.dumps(store.to_record(sample)).encode())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def invaders() -> list[Sample]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "UNIT", LONGER)
        return AtariSource(("SpaceInvaders",)).make("train", "SpaceInvaders", 0)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Units of a few frames, for what does not depend on how many there are."""
    monkeypatch.setattr(source, "UNIT", SHORT)


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "my_agents.py").write_text(AGENTS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_agents", raising=False)
    return "my_agents"


def test_frames_are_square_colour_images_of_one_game(invaders: list[Sample]) -> None:
    assert len(invaders) == LONGER
    assert {(sample.image.shape, str(sample.image.dtype)) for sample in invaders} == {((128, 128, 3), "uint8")}
    assert {sample.attributes["game"] for sample in invaders} == {"SpaceInvaders"}


def test_boxes_lie_inside_the_image_and_none_is_of_the_hud(invaders: list[Sample]) -> None:
    boxes = np.array([item.box for sample in invaders for item in sample.objects])
    assert boxes.min() >= 0
    assert boxes.max() <= 128
    assert (boxes[:, 2:] > boxes[:, :2]).all()
    categories = Counter(item.category for sample in invaders for item in sample.objects)
    assert set(categories) <= {"Alien", "Bullet", "Player", "Satellite", "Shield"}
    assert categories["Alien"] > 20 * len(invaders)
    assert categories["Shield"] > 2 * len(invaders)


def test_boxes_sit_on_what_can_be_seen(invaders: list[Sample]) -> None:
    """Between score and ground nothing is drawn but objects: their boxes hold nearly all the light there."""
    inside, total = 0, 0
    for sample in invaders:
        light = sample.image.max(axis=2) > 40
        light[:18], light[118:] = False, False
        covered = np.zeros_like(light)
        for item in sample.objects:
            x0, y0, x1, y1 = item.box
            covered[int(y0) : int(np.ceil(y1)), int(x0) : int(np.ceil(x1))] = True
            assert sample.image[int(y0) : int(np.ceil(y1)), int(x0) : int(np.ceil(x1))].max() > 40
        inside += int((light & covered).sum())
        total += int(light.sum())
    assert inside / total > 0.97  # an exploding alien is no object


def test_ram_and_vision_agree_on_space_invaders(invaders: list[Sample]) -> None:
    game = AtariSource(("SpaceInvaders",)).summary(store.to_record(sample) for sample in invaders)["agreement"]
    assert game["SpaceInvaders"]["rate"] > 0.97
    assert game["SpaceInvaders"]["modes"] == ["ram", "vision"]


def test_the_frames_of_a_unit_differ(invaders: list[Sample]) -> None:
    assert len({sample.image.tobytes() for sample in invaders}) > LONGER / 2


@pytest.mark.slow
@pytest.mark.usefixtures("short")
def test_a_unit_comes_from_its_own_episodes() -> None:
    units = [AtariSource(("Pong",), seed=seed).make(split, "Pong", unit) for seed, split, unit in
             ((0, "train", 0), (0, "val", 0), (0, "train", 1), (1, "train", 0))]  # fmt: skip
    assert len({fingerprint(samples) for samples in units}) == 4


@pytest.mark.slow
@pytest.mark.usefixtures("short")
def test_a_unit_is_the_same_after_others_and_in_another_process(invaders: list[Sample]) -> None:
    games = AtariSource(("Qbert", "SpaceInvaders"))
    first = games.make("train", "Qbert", 2)
    games.make("val", "Qbert", 1)
    assert fingerprint(games.make("train", "SpaceInvaders", 0)) == fingerprint(invaders[:SHORT])
    assert fingerprint(games.make("train", "Qbert", 2)) == fingerprint(first)
    code = (
        "from test_atari import *; source.UNIT = SHORT; "
        "print(fingerprint(AtariSource(('Qbert', 'SpaceInvaders')).make('train', 'Qbert', 2)))"
    )
    here = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [fingerprint(first)]
    assert done.stderr == ""  # no greetings, no warnings


def test_a_new_episode_forgets_the_state_that_ocatari_keeps_in_its_modules() -> None:
    game = modes.Modes("Carnival")
    memory = np.zeros(128, np.uint8)
    memory[[2, 55]] = 90, 60  # the player, and a missile whose place is guessed and remembered in a global variable
    game.restart()
    game.follow(memory)
    module = sys.modules["ocatari.ram.carnival"]
    assert module.x_missile != 0
    game.restart()
    assert module.x_missile == 0


def test_what_ocatari_calls_hud_is_left_out_even_where_it_lists_it() -> None:
    game = modes.Modes("KeystoneKapers")
    game.restart()
    assert {item.category for item in game.ram() or ()} & {"Score", "Timer", "BonusKops"} == set()
    assert "Krook" in {item.category for item in game.ram() or ()}


def test_vision_sees_nothing_on_a_black_screen_whatever_was_there_before() -> None:
    game = modes.Modes("SpaceInvaders")
    game.restart()
    screen = np.zeros((210, 160, 3), np.uint8)
    screen[185:195, 70:77] = 50, 132, 50
    assert [(item.category, item.box) for item in game.vision(screen) or ()] == [("Player", (70, 185, 77, 195))]
    assert game.vision(np.zeros_like(screen)) == []


@pytest.mark.slow
@pytest.mark.usefixtures("short")
def test_every_image_is_distinct_in_all_splits(tmp_path: Path) -> None:
    games = ("Pong", "Qbert")
    made = generate(AtariSource(games, size=64), tmp_path / "set", streams(games, {"train": 20, "val": 10}), workers=1)
    files = list((tmp_path / "set").rglob("*.png"))
    assert made.images == len(files) == len({path.read_bytes() for path in files}) == 60
    description = json.loads((tmp_path / "set" / "dataset.json").read_text())
    assert description["summary"]["agreement"].keys() == {"Pong", "Qbert"}
    assert "research" in description["licence"]


def test_runs_of_successive_frames_stay_whole(tmp_path: Path) -> None:
    pong = AtariSource(("Pong",), size=64, consecutive=4)
    generate(pong, tmp_path / "set", streams(("Pong",), {"train": 120}, consecutive=4), workers=1)
    images = json.loads((tmp_path / "set" / "train" / "annotations.json").read_text())["images"]
    runs = [images[start : start + 4] for start in range(0, 120, 4)]
    assert len({run[0]["sequence"] for run in runs}) == 30
    for run in runs:
        assert [image["frame"] for image in run] == [0, 1, 2, 3]
        assert len({(image["sequence"], image["episode"]) for image in run}) == 1
        assert [image["step"] - run[0]["step"] for image in run] == [0, 1, 2, 3]
        assert len({(tmp_path / "set/train/images" / image["file_name"]).read_bytes() for image in run}) > 1


def test_a_run_lies_in_one_episode_and_is_told_apart_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def short_episodes(game: str, policy: str, seeds: np.random.SeedSequence) -> Iterator[GameState]:
        rng = np.random.default_rng(0)
        for number in range(4000):
            screen = rng.integers(0, 255, (210, 160, 3), np.uint8)
            yield GameState(screen, np.zeros(128, np.uint8), episode=number // 5, step=number % 5, starting=False)

    monkeypatch.setattr("objectspace.data.atari.source.play", short_episodes)
    samples = AtariSource(("Pong",), size=16, consecutive=3).make("train", "Pong", 0)
    runs = [samples[start : start + 3] for start in range(0, len(samples), 3)]
    assert len(runs) == 22
    assert all(len({sample.attributes["episode"] for sample in run}) == 1 for run in runs)
    assert len({sample.identity for sample in samples} - {b""}) == len(samples)


@pytest.mark.usefixtures("short")
def test_the_users_agent_plays(agents: str) -> None:
    invaders = AtariSource(("SpaceInvaders",), policy=f"{agents}:watching", consecutive=2)
    samples = invaders.make("train", "SpaceInvaders", 0)
    ((game, actions, seed),) = sys.modules[agents].calls
    assert (game, actions) == ("SpaceInvaders", 6)
    assert seed >= 0
    assert min(sample.image.max() for sample in samples) > 0


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("greedy", "write 'random', or 'package.module:factory'"),
        ("my_agents:", "write 'random', or 'package.module:factory'"),
        ("no_such_package.agents:make", "cannot import no_such_package.agents"),
        ("my_agents:absent", "my_agents has no absent"),
        ("my_agents:number", "cannot call"),
    ],
)
def test_a_policy_that_cannot_be_found_is_refused_at_once(agents: str, spec: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        AtariSource(("Pong",), policy=spec)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("too_much", "answered 6 in Pong, where actions are 0 to 5"),
        ("words", "answered 'FIRE' in Pong"),
        ("nothing", "gave None for Pong"),
        ("failing", r"failed in Pong: ZeroDivisionError: division by zero \(my_agents.py, line 22\)"),
    ],
)
def test_an_agent_that_answers_wrongly_is_named(agents: str, name: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        AtariSource(("Pong",), policy=f"{agents}:{name}").make("train", "Pong", 0)


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ocatari.ram.extract_ram_info", None)
    modes._import_ocatari.cache_clear()
    with pytest.raises(UserError, match=r"objectspace\[atari\]"):
        AtariSource(("Pong",)).make("train", "Pong", 0)
