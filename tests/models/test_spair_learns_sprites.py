"""Some steps on sprites: the loss falls, and objects are found; SPAIR-P learns on patches and looks at whole images."""

from typing import Any

import pytest

from helpers.learning import learn
from helpers.sprites import plain_sprites, training_images
from objectspace.config import Anneal
from objectspace.models import create
from objectspace.models.spair import SequentialModel, SpairConfig, SpairPConfig

NETS = {
    "glimpse": 8,
    "budget": 5,
    "what_dim": 8,
    "scale_prior_std": 0.3,
    "presence_weighted_kl": False,
    "encoder": {"channels": (16, 32, 32, 32, 32, 32), "groups": (4, 8, 8, 8, 8, 8)},
    "residual": {"channels": (32, 32), "groups": (8, 8)},
    "residual_encoder": {"channels": (32,), "groups": (8,)},
    "glimpse_encoder": {"channels": (16, 16, 16, 32, 32, 64), "groups": (4, 4, 4, 8, 8, 8)},
    "glimpse_decoder": {"channels": (64, 32, 32, 16, 16), "groups": (8, 8, 8, 4, 4)},
}
ANNEAL = Anneal(
    presence_prior="(0.5 -> 0.05):(30 -> 55)",
    scale_prior_mean=-0.85,
    temperature="(2.5 -> 0.5):(0 -> 45)",
    fixed_alpha=0.3,
    fixed_alpha_steps=20,
    boundary=0,
)
MODELS = {  # cells are visited one after the other, so there are few of them
    "spair": SpairConfig(
        image_size=48,
        foreground={"grid": 3, **NETS},
        context_dim=32,
        background={
            "dim": 8,
            "encoder_dim": 32,
            "fraction": 4,
            "encoder_channels": (16, 16, 16, 16),
            "decoder": {"channels": (32, 16, 16, 16, 16, 16), "groups": (4, 4, 4, 4, 4, 4)},
        },
        init={"what_std": 0.2},
    ),
    "spair-p": SpairPConfig(
        image_size=64,
        foreground={"grid": 4, **NETS},
        context_dim=32,
        background={
            "dim": 8,
            "encoder": {"channels": (8, 16, 16, 16, 16), "groups": (4, 4, 4, 4, 4)},
            "decoder": {"channels": (32, 16, 16, 16, 16), "groups": (4, 4, 4, 4, 4)},
        },
        init={"what_std": 0.2},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(MODELS))
def test_sixty_steps_lower_the_loss_and_find_objects(kind: str) -> None:
    config = MODELS[kind]
    images = training_images(plain_sprites(config.image_size[0]), units=4)
    model = create(config, ANNEAL, seed=0)
    assert isinstance(model, SequentialModel)
    losses = learn(model, ANNEAL, images, steps=60, batch=12)
    assert sum(losses[-20:]) < sum(losses[:20])
    prices: list[dict[str, Any]] = [{"price": None}, {}]
    present, worthy = (
        sum(len(scene.objects) for scene in model.decompose(list(images[:32]), **price)) / 32 for price in prices
    )
    assert present > 0.5, "some cell is on"
    assert 0.25 < worthy < 0.5 * config.cells, "and what it draws is worth its price, but not nearly everywhere"
