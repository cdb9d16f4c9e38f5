"""Nothing goes wrong in silence: what is said of images that were taken apart."""

from pathlib import Path

import numpy as np
import pytest

from objectspace.models.card import Unexplained
from objectspace.results import remarks
from objectspace.results.journal import Journal
from objectspace.scene import Object, Scene

USUAL = Unexplained(images=200, median=0.01, most=0.03)


def noted(path: Path, shares: list[float]) -> Journal:
    journal = Journal(path / ".journal.sqlite", {})
    for number, share in enumerate(shares):
        unexplained = np.arange(100).reshape(10, 10) < 100 * share
        scene = Scene(10, 10, (Object((0, 0, 1, 1), (0, 0, 1, 1)),), unexplained=unexplained)
        journal.add(f"/{number}.png", None, "", f"{number}", f"{number}.png", None, scene)
    return journal


def test_images_unlike_the_training_images_are_named_the_worst_first(tmp_path: Path) -> None:
    with noted(tmp_path, [0.02, 0.3, 0.06, 0.6]) as journal:
        head, *named = remarks.unlike_training(journal, USUAL)
        assert "2 of 4 images" in head
        assert named == ["  3.png: 60% unexplained", "  1.png: 30% unexplained"]
        assert list(remarks.unlike_training(journal, None)) == [], "no claim where nothing is known"


def test_many_are_counted(tmp_path: Path) -> None:
    with noted(tmp_path, [0.5] * 12) as journal:
        assert "and 2 more" in list(remarks.unlike_training(journal, USUAL))[-1]


@pytest.mark.parametrize(("largest", "told"), [((128, 128), False), ((129, 64), True), ((64, 900), True)])
def test_shrinking_a_lot_is_said(largest: tuple[int, int], told: bool) -> None:
    said = remarks.shrunk(largest, (64, 64))
    assert (said is not None) == told
    if said is not None:
        assert f"{largest[1]} x {largest[0]}" in said
        assert "--tile" in said


def test_images_that_are_all_dark_are_told() -> None:
    assert remarks.dark(200) is None
    assert "model.view.stretch" in str(remarks.dark(16))


def test_nothing_found_has_a_hint_that_fits() -> None:
    assert "--tile" in remarks.nothing_found(3, False, (900, 900), (64, 64))
    assert "--threshold" in remarks.nothing_found(1, False, (64, 64), (64, 64))
    assert "--tile-scale" in remarks.nothing_found(1, True, (900, 900), (64, 64))
