"""The shipped models of games, on frames of random play that they were neither trained nor measured on."""

from functools import cache

import numpy as np
import pytest
import torch

from objectspace.data.atari import AtariSource, source
from objectspace.evaluation.detection import detection
from objectspace.models import load

torch.set_num_threads(1)
loaded = cache(load)  # one model plays four games


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "game", "seen"),
    [
        ("space-spaceinvaders", "SpaceInvaders", {"Alien": 0.97, "Player": 0.95, "Shield": 0.7}),
        ("space-riverraid", "Riverraid", {"Helicopter": 0.85, "House": 0.7, "FuelDepot": 0.9, "Player": 0.6}),
        ("space-airraid", "AirRaid", {"Building": 0.95}),
        ("space-montezuma", "MontezumaRevenge", {"Player": 0.9, "Skull": 0.95}),
        ("space-atari-joint10", "SpaceInvaders", {"Alien": 0.97}),
        ("space-atari-joint10", "Kangaroo", {"Child": 0.9, "Monkey": 0.8}),
        ("space-atari-joint10", "Asterix", {"Consumable": 0.8}),
        ("space-atari-joint10", "Carnival", {"Owl": 0.8, "Rabbit": 0.8}),
    ],
)
def test_the_objects_of_a_game_are_found(
    model: str, game: str, seen: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "UNIT", 32)  # a shorter play
    samples = AtariSource((game,), seed=4242).make("test", game, 0)[::2]
    scenes = loaded(model).decompose([sample.image for sample in samples], background=False, pictures=False)
    found = detection(
        [(scene.boxes, scene.scores) for scene in scenes],
        [np.array([item.box for item in sample.objects]) for sample in samples],
        0.5,
        [[item.category for item in sample.objects] for sample in samples],
    )
    for category, least in seen.items():
        assert found.recall_by_category[category] >= least, found.recall_by_category
