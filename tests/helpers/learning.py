"""A model of cells that learns for a few steps, without a run around it."""

import torch
from torch import Tensor

from objectspace.config import Anneal
from objectspace.models.parts.grid import GridModel


def learn(model: GridModel, anneal: Anneal, images: Tensor, steps: int, batch: int, rate: float = 1e-3) -> list[float]:
    """Train on batches of images (n, C, H, W), bytes; the loss of every step."""
    model.train()
    groups = model.parameter_groups()
    rates = {"foreground": rate, "background": 3e-3}
    optimisers = [torch.optim.Adam(groups[name], each, fused=True) for name, each in rates.items()]
    generator = torch.Generator().manual_seed(0)
    losses = []
    for step in range(steps):
        pixels = images[torch.randint(len(images), (batch,), generator=generator)].float() / 255
        loss = model(pixels, anneal.at(step), generator=generator).loss.mean()
        for optimiser in optimisers:
            optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimiser in optimisers:
            optimiser.step()
        losses.append(float(loss.detach()))
    return losses
