"""`objectspace sample`: scenes from the prior, on one picture."""

import numpy as np
from PIL import Image


def test_a_grid_of_scenes_is_drawn(run, model_folder, tmp_path):
    command = ("sample", "--model", model_folder, "--count", 5, "--objects", 4)
    said, _ = run(*command, "-o", tmp_path / "deep" / "grid.png")
    assert "5 scenes" in said
    with Image.open(tmp_path / "deep" / "grid.png") as picture:
        assert picture.width > 3 * 32
        assert picture.height > 2 * 32
        first = np.asarray(picture)
    run(*command, "-o", tmp_path / "again.png")
    run(*command, "-o", tmp_path / "other.png", "--seed", 1)
    assert np.array_equal(first, np.asarray(Image.open(tmp_path / "again.png")))
    assert not np.array_equal(first, np.asarray(Image.open(tmp_path / "other.png")))


def test_what_cannot_be_done_is_explained(run, model_folder, tmp_path):
    assert "cells" in run("sample", "--model", model_folder, "--objects", 99, "-o", tmp_path / "a.png", code=2)[1]
    assert "cannot write" in run("sample", "--model", model_folder, "-o", tmp_path / "a.nonsense", code=2)[1]
    assert "no model" in run("sample", "--model", "absent", "-o", tmp_path / "a.png", code=2)[1]
