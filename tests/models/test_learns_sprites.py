"""Some steps on sprites: the loss falls, and objects are found."""

import pytest

from helpers.learning import learn
from helpers.sprites import plain_sprites, training_images
from objectspace.config import Anneal
from objectspace.evaluation.boxes import paper_ap
from objectspace.models import Space
from objectspace.models.space import SpaceConfig

STEPS, BATCH = 240, 48

# Narrow nets, and one component for the background: so much has to be learned in so few steps. Glimpse nets are dense,
# which is quicker; convolutions learn in test_spair_learns_sprites.py. The KL is the published form, and alpha is held
# for a while, because presence must not die before the glimpse decoder has learned to draw.
MODEL = SpaceConfig(
    image_size=32,
    foreground={
        "grid": 4,
        "glimpse": 8,
        "budget": 5,
        "what_dim": 8,
        "scale_prior_std": 0.3,
        "presence_weighted_kl": False,
        "dense": (128,),
        "encoder": {"channels": (16, 32, 32, 32, 32, 32), "groups": (4, 8, 8, 8, 8, 8)},
        "residual": {"channels": (32, 32), "groups": (8, 8)},
        "residual_encoder": {"channels": (32,), "groups": (8,)},
    },
    background={
        "components": 1,
        "fraction": 4,
        "mask_dim": 8,
        "component_dim": 8,
        "encoder_dim": 32,
        "hidden": 32,
        "encoder_channels": (16, 16, 16, 16),
        "mask_decoder": {"channels": (32, 16, 16, 16, 16, 16), "groups": (4, 4, 4, 4, 4, 4)},
        "component_encoder_channels": (16, 16, 16, 16),
        "component_decoder_channels": (16, 16),
    },
    init={"what_std": 0.2},
)
ANNEAL = Anneal(
    presence_prior="(0.5 -> 0.02):(50 -> 125)",
    scale_prior_mean=-0.85,
    temperature="(2.5 -> 0.5):(0 -> 75)",
    fixed_alpha=0.3,
    fixed_alpha_steps=40,
    boundary=0,
)


@pytest.mark.slow
def test_two_hundred_and_forty_steps_find_the_sprites() -> None:
    sprites = plain_sprites(32)
    images, held_out = training_images(sprites, units=8), sprites.make("test", "", 0)
    model = Space.create(MODEL, ANNEAL, seed=0)
    losses = learn(model, ANNEAL, images, STEPS, BATCH, rate=2e-3)
    assert sum(losses[-20:]) < sum(losses[:20])
    scenes = model.decompose([sample.image for sample in held_out], price=None)
    predictions = [(scene.whole_boxes, scene.scores) for scene in scenes]  # what is drawn: not worth its price yet
    truths = [[item.visible_box for item in sample.objects] for sample in held_out]
    assert paper_ap(predictions, truths, 0.5) > 0.5
