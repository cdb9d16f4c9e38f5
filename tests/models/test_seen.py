"""What training images were like: learned, kept beside the weights, and drawn again."""

import json

import numpy as np
import pytest
import torch

from objectspace.errors import UserError
from objectspace.models import create, from_pretrained
from objectspace.models.seen import Seen, from_json, learn
from objectspace.scene import Object, Scene
from oracle.small import small_config

SEEN = Seen((0.0, 0.0, 1.0), (0.5, 0.5), ((5.0,) * 3, (-5.0,) * 3), ((0.01,) * 3, (0.01,) * 3))


def scene(*looks: float) -> Scene:
    box = (0.0, 0.0, 8.0, 8.0)
    objects = (Object(box, box, what=np.full(3, look, np.float32)) for look in looks)
    return Scene(32, 32, tuple(objects))


def test_counts_and_kinds_of_looks_are_learned() -> None:
    scenes = [scene(*np.random.default_rng(number).normal(4 * (-1) ** number, 0.1, 3)) for number in range(30)]
    seen = learn([*scenes, *[scene()] * 10])
    assert seen is not None
    assert seen.counts == pytest.approx((0.25, 0, 0, 0.75))
    assert sorted(np.mean(seen.means, 1))[0] == pytest.approx(-4, abs=0.3)
    assert sorted(np.mean(seen.means, 1))[-1] == pytest.approx(4, abs=0.3)
    assert learn([*scenes, *[scene()] * 10]) == seen
    assert learn([scene()]) is None


def test_samples_have_the_numbers_and_looks_that_were_seen() -> None:
    model = create(small_config())
    model.seen = SEEN
    first, again = (model.sample(3, torch.Generator().manual_seed(1), appearance="seen") for _ in range(2))
    assert [scene.to_json() for scene in first] == [scene.to_json() for scene in again]
    whats = [
        item.what
        for scene in model.sample(4, torch.Generator().manual_seed(0), objects=16, appearance="seen")
        for item in scene.objects
        if item.what is not None
    ]
    assert len(whats) > 0
    assert np.abs(np.abs(np.stack(whats)) - 5).max() < 1
    drawn = model.sample(4, torch.Generator().manual_seed(0))
    assert all(len(scene.objects) <= 2 for scene in drawn)
    assert sum(len(scene.objects) for scene in drawn) > 0


def test_without_statistics_the_prior_is_as_it_was_and_seen_is_refused_kindly() -> None:
    model = create(small_config())
    asked = model.sample(2, torch.Generator().manual_seed(0), objects=8)
    model.seen = SEEN
    given = model.sample(2, torch.Generator().manual_seed(0), objects=8)
    assert [scene.to_json() for scene in asked] == [scene.to_json() for scene in given]
    model.seen = None
    with pytest.raises(UserError, match="do not say what was seen"):
        model.sample(1, appearance="seen")
    with pytest.raises(UserError, match="'prior' or 'seen'"):
        model.sample(1, appearance="nice")


def test_statistics_are_kept_with_the_weights_and_weights_of_before_have_none(tmp_path) -> None:
    model = create(small_config())
    model.save_pretrained(tmp_path)
    assert from_pretrained(tmp_path).seen is None
    model.seen = SEEN
    model.save_pretrained(tmp_path)
    assert from_pretrained(tmp_path).seen == SEEN
    content = json.loads((tmp_path / "config.json").read_text())
    content["seen"]["means"] = [[1.0]]
    (tmp_path / "config.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match="does not fit the model"):
        from_pretrained(tmp_path)


@pytest.mark.parametrize(
    "change", [{"counts": []}, {"counts": [-1]}, {"weights": [1]}, {"variances": [[0] * 3] * 2}, {"means": "far"}]
)
def test_damaged_statistics_are_refused(change) -> None:
    with pytest.raises(UserError, match=r"here: what it says of the training images"):
        from_json(SEEN.to_json() | change, 3, "here")


def test_a_model_of_components_has_no_looks_to_ask_for() -> None:
    from objectspace.models.genesis import GenesisConfig

    model = create(GenesisConfig(image_size=(32, 32), components=2))
    with pytest.raises(UserError, match="has no objects"):
        model.sample(1, appearance="seen")
