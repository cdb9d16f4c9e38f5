"""Three hundred steps on sprites: the loss falls, and objects are found."""

import pytest
import torch

from helpers.learning import learn
from objectspace.config import Anneal
from objectspace.data.sprites import SpritesSource
from objectspace.evaluation.boxes import paper_ap
from objectspace.models import Space
from objectspace.models.space import SpaceConfig

STEPS, BATCH = 300, 64
SPRITES = SpritesSource(height=32, width=32, ground="plain", smallest=0.25, largest=0.35, least=1, most=3)

# Small nets, and one component for the background: so much has to be learned in so few steps. The KL is the published
# form, and alpha is held for a while, because presence must not die before the glimpse decoder has learned to draw.
MODEL = SpaceConfig(
    image_size=32,
    foreground={
        "grid": 4,
        "glimpse": 8,
        "budget": 5,
        "what_dim": 8,
        "scale_prior_std": 0.3,
        "presence_weighted_kl": False,
        "encoder": {"channels": (16, 32, 64, 64, 64, 64), "groups": (4, 8, 8, 8, 8, 8)},
        "residual": {"channels": (64, 64), "groups": (8, 8)},
        "residual_encoder": {"channels": (64,), "groups": (8,)},
        "glimpse_encoder": {"channels": (16, 32, 32, 64, 64, 128), "groups": (4, 8, 4, 8, 8, 16)},
        "glimpse_decoder": {"channels": (128, 64, 64, 32, 16), "groups": (16, 8, 8, 8, 4)},
    },
    background={"components": 1, "fraction": 4},
    init={"what_std": 0.2},
)
ANNEAL = Anneal(
    presence_prior="(0.5 -> 0.02):(100 -> 250)",
    scale_prior_mean=-0.85,
    temperature="(2.5 -> 0.5):(0 -> 150)",
    fixed_alpha=0.3,
    fixed_alpha_steps=80,
    boundary=0,
)


@pytest.mark.slow
def test_three_hundred_steps_find_the_sprites() -> None:
    training = [sample for unit in range(16) for sample in SPRITES.make("train", "", unit)]
    held_out = SPRITES.make("test", "", 0)
    images = torch.stack([torch.from_numpy(sample.image) for sample in training]).permute(0, 3, 1, 2)
    model = Space.create(MODEL, ANNEAL, seed=0)
    losses = learn(model, ANNEAL, images, STEPS, BATCH)
    assert sum(losses[-20:]) < sum(losses[:20])
    scenes = model.decompose([sample.image for sample in held_out], price=None)
    predictions = [(scene.whole_boxes, scene.scores) for scene in scenes]  # what is drawn: not worth its price yet
    truths = [[item.visible_box for item in sample.objects] for sample in held_out]
    assert paper_ap(predictions, truths, 0.5) > 0.5
