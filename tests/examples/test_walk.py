"""The walk can be walked: from an image to boxes to an edited scene."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from objectspace.scene import Scene

WALK = Path(__file__).parents[2] / "examples" / "walk.py"


def picture(path: Path) -> NDArray[np.int64]:
    with Image.open(path) as image:
        return np.asarray(image).astype(np.int64)


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("walk") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(WALK), "--out", str(out)])
        runpy.run_path(str(WALK), run_name="__main__")
    return out


def test_it_leaves_the_scene_and_its_pictures(walked: Path) -> None:
    scene = Scene.from_json((walked / "scene.json").read_text(encoding="utf-8"))
    assert len(scene.objects) > 3
    assert scene.background is not None
    assert np.array_equal(picture(walked / "2-background.png"), scene.background)
    names = ["1-image", "2-background", "3-foreground", "4-reconstruction", "5-removed", "6-moved"]
    assert sorted(path.stem for path in walked.glob("*.png")) == names


def test_the_largest_object_goes_and_the_others_stay(walked: Path) -> None:
    scene = Scene.from_json((walked / "scene.json").read_text(encoding="utf-8"))
    inside = max((each.mask for each in scene.objects if each.mask is not None), key=np.sum)
    changed = np.abs(picture(walked / "5-removed.png") - picture(walked / "4-reconstruction.png")).max(-1) > 40
    assert changed[inside].mean() > 0.8
    assert changed[~inside].mean() < 0.02


def test_the_moved_object_is_drawn_elsewhere(walked: Path) -> None:
    moved = np.abs(picture(walked / "6-moved.png") - picture(walked / "5-removed.png")).max(-1) > 40
    gone = np.abs(picture(walked / "4-reconstruction.png") - picture(walked / "5-removed.png")).max(-1) > 40
    assert moved.sum() > 0.5 * gone.sum()
    assert (moved & gone).sum() < 0.1 * gone.sum()
    centres = [np.flatnonzero(changed.any(0)).mean() for changed in (gone, moved)]
    assert abs(centres[1] - centres[0]) == pytest.approx(32, abs=6)
