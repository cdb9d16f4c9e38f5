"""A model of cells that learns for a few steps, without a run around it."""

import torch
from torch import Tensor

from objectspace.config import Anneal
from objectspace.models.parts.grid import GridModel


def learn(model: GridModel, anneal: Anneal, images: Tensor, steps: int, batch: int) -> list[float]:
    """Train on batches of images (n, C, H, W), bytes; the loss of every step."""
    model.train()
    groups = model.parameter_groups()
    optimisers = [torch.optim.Adam(groups["foreground"], 1e-3), torch.optim.Adam(groups["background"], 3e-3)]
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
