"""Some steps on sprites: the loss falls, and pictures are closer to their own image than to the average one."""

from typing import Any

import pytest
import torch

from helpers.sprites import plain_sprites, training_images
from objectspace.config import ModelConfig
from objectspace.models import create

MODELS: dict[str, dict[str, Any]] = {
    "genesis": {
        "components": 4,
        "sigma": 0.1,
        "fraction": 2,
        "mask_dim": 8,
        "component_dim": 8,
        "encoder_channels": (16, 32, 32, 32),
        "mask_decoder": {"channels": (64, 32, 32, 16, 16, 16), "groups": (8, 8, 8, 4, 4, 4)},
        "component_encoder_channels": (16, 16, 32, 32),
        "component_decoder_channels": (16, 16),
    },
    "iodine": {
        "components": 3,
        "refinements": 3,
        "slot_dim": 8,
        "hidden": 64,
        "fraction": 4,
        "decoder_channels": (24, 24),
        "encoder_channels": (24, 24, 24),
    },
}
STEPS, BATCH = {"genesis": 100, "iodine": 60}, 8


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS)
def test_it_learns(kind: str) -> None:
    images = training_images(plain_sprites(32), units=8) / 255
    model = create(ModelConfig.kinds[kind](image_size=32, **MODELS[kind])).train()
    optimiser = torch.optim.Adam(model.parameters(), 2e-3, fused=True)
    generator = torch.Generator().manual_seed(0)
    losses = []
    for _ in range(STEPS[kind]):
        output = model(images[torch.randint(len(images), (BATCH,), generator=generator)], generator=generator)
        optimiser.zero_grad()
        output.loss.mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimiser.step()
        losses.append(float(output.loss.detach().mean()))
    assert sum(losses[-20:]) < sum(losses[:20])
    seen = images[:64]
    with torch.no_grad():
        error = (model.eval()(seen, sample=False).reconstruction - seen).square().mean()
    assert error < 0.8 * (images.mean(0) - seen).square().mean()
