"""What is seen of pictures before anything is learned."""

import numpy as np
import pytest

from objectspace.auto.look import look, view_of


def test_plain_pictures_need_no_stretch(draw):
    seen = look(draw(8))
    assert (seen.sizes, seen.grey, seen.bits) == (((96, 96, 8),), False, 8)
    assert view_of(seen) == {}
    assert seen.noise == pytest.approx(2 / 255, rel=0.25)


def test_pictures_that_are_exposed_differently_are_stretched_one_by_one(draw):
    pictures = [(each * share).astype(np.uint8) for each, share in zip(draw(12), np.linspace(0.1, 1, 12), strict=True)]
    assert view_of(look(pictures))["stretch"] == "each"


def test_twelve_bits_in_words_are_noticed_and_stretched_alike(draw):
    seen = look([each.astype(np.uint16) * 16 for each in draw(8)])
    view = view_of(seen)
    assert seen.bits == 12
    assert view["stretch"] == "all"
    assert view["high"] < 4096 / 65535


def test_a_fixed_camera_is_told_from_a_plain_ground(draw):
    ground = np.random.default_rng(1).integers(0, 255, (96, 96, 3))
    fixed = [np.where(each.max(2, keepdims=True) > 100, each, ground).astype(np.uint8) for each in draw(10)]
    assert look(fixed).camera_fixed
    assert not look(draw(10)).camera_fixed


def test_frames_that_follow_one_another_are_noticed():
    y, x = np.mgrid[:64, :64]

    def frame(place):
        return np.repeat(((np.hypot(x - place, y - 32) < 12) * 200).astype(np.uint8)[:, :, None], 3, 2)

    places = np.linspace(12, 52, 40)
    assert look([frame(place) for place in places]).successive
    assert not look([frame(place) for place in np.random.default_rng(0).permutation(places)]).successive


def test_grey_pictures_are_grey(draw):
    assert look([np.repeat(each[:, :, :1], 3, 2) for each in draw(4)]).grey
