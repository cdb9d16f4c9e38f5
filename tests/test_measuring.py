"""A model is measured on what its view makes of a data set, and what it leaves unexplained in training is known."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from objectspace import load
from objectspace.config import View
from objectspace.data.dataset import Dataset
from objectspace.data.generate import generate
from objectspace.data.sprites import SpritesSource
from objectspace.data.streams import Stream
from objectspace.errors import UserError
from objectspace.measuring import measure_model, open_for, unexplained_in_training
from objectspace.models import Space
from objectspace.scene import Scene


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures larger than the model, with things of 9 to 16 pixels."""
    folder = tmp_path_factory.mktemp("measured") / "set"
    source = SpritesSource(height=70, width=120, least=3, most=6, smallest=0.13, largest=0.22, seed=3)
    generate(source, folder, [Stream("train", 6), Stream("test", 3)], workers=1)
    return folder


def test_tiles_are_measured_in_the_pictures_own_pixels(root: Path) -> None:
    model = load("space-sprites").seeing(View(scale=1))
    dataset = open_for(model, root, "test")
    assert (dataset.height, dataset.width) == (70, 120)
    report = measure_model(model, dataset)
    assert report.visible.f1 is not None
    assert report.visible.f1 > 0.8
    assert report.published is None, "the published rule knows no tiles"
    with pytest.raises(UserError, match="published rule"):
        measure_model(model, dataset, rule="published")


def test_a_stretch_is_not_done_twice(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    view, seen = View(stretch="all", low=0.2, high=0.7), list[View]()
    model = load("space-sprites").seeing(view)
    dataset = open_for(model, root, "test")
    assert np.array_equal(dataset.images, Dataset(root, "test", 64, view=view).images)
    decompose = Space.decompose

    def noted(self: Space, *arguments: Any, **options: Any) -> list[Scene]:
        seen.append(self.config.view)
        return decompose(self, *arguments, **options)

    monkeypatch.setattr(Space, "decompose", noted)
    measure_model(model, dataset, 1)
    assert set(seen) == {View()}


def test_what_is_unexplained_in_training_tells_strange_images_from_others(root: Path) -> None:
    model = load("space-sprites").seeing(View(scale=1))
    usual = unexplained_in_training(model, Dataset(root, "train", 64, view=model.config.view))
    assert usual is not None
    assert usual.images == len(Dataset(root, "train", 64, view=model.config.view))
    assert 0 < usual.median <= usual.most < 0.2
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    [scene] = model.decompose(noise, background=False, pictures=False)
    assert scene.unexplained_share is not None
    assert scene.unexplained_share > usual.strange
