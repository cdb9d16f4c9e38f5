"""A folder of drawn discs through `train auto`, nothing said: are they found?"""

import numpy as np
import pytest
import torch

import objectspace
from objectspace.auto import choose, plan
from objectspace.auto.run import AutoOptions, train

torch.set_num_threads(1)


@pytest.mark.slow
def test_drawn_discs_are_found_without_a_word_about_them(draw, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "RUNG_STEPS", 20)
    monkeypatch.setattr(choose, "PLAN", {"warm": 60, "objects": 30, "sharpen": 10})
    monkeypatch.setattr(choose, "BACKGROUND", dict.fromkeys(choose.BACKGROUND, 40))
    data, out = folder(draw(60, 64, (6,), number=3)), tmp_path / "run"
    said = list[str]()
    changes = ("training.batch=4", "training.validate_images=4")
    summary = train(AutoOptions(data, out, changes=changes), said.append)
    fresh = draw(12, 64, (6,), number=3, seed=1)
    counts = [len(scene.objects) for scene in objectspace.load(out / "model").decompose(fresh, pictures=False)]
    assert np.mean(counts) == pytest.approx(3, rel=0.15)
    assert summary["verdict"]["word"] in ("good", "doubtful"), said[-1]
