"""Sizes and numbers, from regions of what the simplest grounds leave, against what was drawn."""

import numpy as np
import pytest

from objectspace.auto import choose, guess
from objectspace.auto.look import look
from objectspace.config import View


def found_in(pictures):
    seen = look(pictures)
    return seen, guess.first(pictures, seen, View())


@pytest.mark.parametrize(("radius", "side"), [(5, 96), (9, 96), (16, 160)])
def test_sizes_and_numbers_are_those_of_the_drawn_discs(draw, radius, side):
    _, guessed = found_in(draw(10, side, (radius,), number=4))
    assert guessed.found.side == pytest.approx(2 * radius + 1, rel=0.2)
    assert guessed.found.number == pytest.approx(4, rel=0.2)
    assert guessed.found.kinds == ()


def test_two_kinds_of_sizes_are_told_apart(draw):
    _, guessed = found_in(draw(12, 128, (5, 12)))
    small, large = guessed.found.kinds
    assert small == pytest.approx(11, rel=0.2)
    assert large == pytest.approx(25, rel=0.2)


@pytest.mark.slow
def test_small_things_in_large_pictures_are_looked_at_closer(draw):
    _, guessed = found_in(draw(4, 900, (6,), number=30))
    assert guessed.found.side == pytest.approx(13, rel=0.2)
    assert guessed.scale > 0.5


def test_light_from_one_side_wants_a_plane(draw):
    slope = np.linspace(0, 70, 96).astype(np.uint8)[None, :, None]
    _, guessed = found_in([(each // 2 + slope) for each in draw(8)])
    assert guessed.left.name == "one plane of colour an image"


def test_what_holds_nothing_gives_no_sizes():
    generator = np.random.default_rng(0)
    _, guessed = found_in([generator.normal(100, 2, (64, 64, 3)).clip(0, 255).astype(np.uint8) for _ in range(6)])
    assert guessed.found is None


@pytest.mark.slow
def test_large_objects_are_seen_in_whole_pictures_and_small_ones_in_tiles(draw):
    seen, guessed = found_in(draw(6, 160, (16,), number=3))
    image, _ = choose.resolution(seen, guessed.found)
    assert "view" not in image
    assert 11 <= guessed.found.side * choose.model_scale(seen, image) <= 30
    seen, guessed = found_in(draw(6, 400, (6,), number=20))
    image, _ = choose.resolution(seen, guessed.found)
    assert image["image_size"] == [128, 128]
    assert guessed.found.side * image["view"]["scale"] == pytest.approx(choose.WANTED, rel=0.05)


def test_sigma_lets_half_of_an_objects_contrast_be_unknown():
    for contrast in (0.2, 0.3, 0.5):
        sigma = choose.sigma_for(contrast, 0.01, grey=True)
        assert choose.unknown_from(sigma) <= 0.5 * contrast * 3**0.5 or sigma == choose.SHARPEST
    assert choose.sigma_for(0.2, 0.07, grey=True) >= 0.07


def test_steps_fit_the_time():
    cost = dict.fromkeys(choose.PHASES, 0.5)
    plenty, share = choose.steps(choose.background("one colour an image"), 1e6, cost)
    assert share == 1
    some, share = choose.steps(choose.background("one colour an image"), 0.5 * sum(plenty.values()) / 2, cost)
    assert share == pytest.approx(0.5)
    assert sum(some.values()) < 0.6 * sum(plenty.values())
