"""Validation during training: its measures, its pictures and the collapse watch are about the same scenes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from objectspace.config import View
from objectspace.data import Dataset
from objectspace.models import Space, load
from objectspace.recipes.recipe import Recipe
from objectspace.scene import Scene
from objectspace.training import validation
from objectspace.training.log import MetricsLog
from objectspace.training.monitor import vitals
from objectspace.training.run import RunOptions, train


def test_a_run_with_a_view_learns_and_is_measured_on_what_the_view_shows(
    tiny: Recipe, sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view, seen = View(scale=1.5, stretch="each"), list[np.ndarray]()
    decompose = Space.decompose_understood

    def noted(self: Space, images: Any) -> list[Scene]:
        assert self.config.view == View(), "what the data set has done is not done again"
        seen[:] = images
        return decompose(self, images)

    monkeypatch.setattr(Space, "decompose_understood", noted)
    recipe = tiny.model_copy(update={"model": tiny.model.model_copy(update={"view": view})})
    train(recipe, RunOptions(sprites, tmp_path / "run"), lambda line: None)
    held_out = Dataset(sprites, "val", recipe.model.image_size, view=view)
    assert len(held_out) > len(Dataset(sprites, "val"))
    assert np.array_equal(seen, held_out.images[: len(seen)])
    assert load(tmp_path / "run" / "model").config.view == view


def test_measures_pictures_and_watch_are_of_what_was_learned(
    tiny: Recipe, sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned, used = list[Scene](), dict[str, Sequence[Scene]]()
    decompose, measure = Space.decompose_understood, validation.measure

    def noted(self: Space, images: Any) -> list[Scene]:
        learned[:] = decompose(self, images)
        return learned

    def measured(scenes: Sequence[Scene], *rest: Any) -> dict[str, float]:
        used["measures"] = scenes
        return measure(scenes, *rest)

    def watched(scenes: Sequence[Scene]) -> Any:
        used["watch"] = scenes
        return vitals(scenes)

    def pictured(self: MetricsLog, step: int, images: Any, scenes: Sequence[Scene]) -> None:
        used["pictures"] = scenes

    monkeypatch.setattr(Space, "decompose_understood", noted)
    monkeypatch.setattr(validation, "measure", measured)
    monkeypatch.setattr(validation, "vitals", watched)
    monkeypatch.setattr(MetricsLog, "picture", pictured)
    train(tiny, RunOptions(sprites, tmp_path / "run"), lambda line: None)
    assert used["measures"] is used["watch"] is learned
    assert used["pictures"] == learned[: validation.PICTURED]
    assert used["pictures"]


def test_warnings_that_hold_at_the_end_are_in_the_summary(tiny: Recipe, sprites: Path, tmp_path: Path) -> None:
    content = tiny.model_dump(mode="json")
    content["training"] |= {"steps": 4, "validate_every": 4, "watch_from": 0}
    content["anneal"] |= {"background_first": 1, "warm_start": 2, "unknown": 0.1}
    said = list[str]()
    summary = train(Recipe.model_validate(content), RunOptions(sprites, tmp_path / "run"), said.append)
    assert "no-objects" in summary["warnings"], "nothing can be learned in four steps"
    assert any(line.startswith("warning: no-objects: ") and "phases.warm" in line for line in said)
    assert '"warning": "no-objects"' in (tmp_path / "run" / "metrics.jsonl").read_text()
