"""The example plays: with a shipped model from the outside, and by its rule from the inside."""

from typing import Any

import numpy as np
import pytest

from examples.atari_agent import FIRE, LEFT_FIRE, RIGHT_FIRE, Rule, main


def seen(*centres: tuple[float, float]) -> dict[str, Any]:
    """An observation with objects at these places, among empty rows."""
    objects, mask = np.zeros((8, 10), np.float32), np.zeros(8, np.int8)
    for row, (x, y) in enumerate(centres, start=1):
        objects[row, :4], mask[row] = (x - 0.03, y - 0.03, x + 0.03, y + 0.03), 1
    return {"objects": objects, "mask": mask}


@pytest.mark.parametrize(
    ("alien", "action"), [((0.8, 0.3), RIGHT_FIRE), ((0.1, 0.3), LEFT_FIRE), ((0.51, 0.6), FIRE), ((0.5, 0.05), FIRE)]
)
def test_it_goes_under_an_alien_and_shoots(alien: tuple[float, float], action: int) -> None:
    assert Rule()(seen((0.5, 0.9), alien)) == action


def test_it_prefers_an_alien_that_no_shield_is_below() -> None:
    assert Rule()(seen((0.5, 0.9), (0.4, 0.3), (0.8, 0.3), (0.4, 0.8))) == RIGHT_FIRE
    assert Rule()(seen((0.5, 0.9), (0.4, 0.3), (0.4, 0.8))) == LEFT_FIRE


def test_it_remembers_where_it_was() -> None:
    rule = Rule()
    rule(seen((0.6, 0.9)))
    assert rule(seen((0.7, 0.3))) == RIGHT_FIRE
    assert rule(seen()) == FIRE


def test_a_game_is_played_with_a_model_that_was_never_meant_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--model", "space-sprites", "--episodes", "1", "--steps", "3"])
    assert capsys.readouterr().out.startswith("by the boxes: 0   at random: 0")
