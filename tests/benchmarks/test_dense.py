"""A speed-up means nothing unless both sides compute the same."""

import pytest
import torch

from benchmarks.dense import DenseSpace
from objectspace.config import Anneal, Stage
from objectspace.models.space import Space
from objectspace.models.space import SpaceConfig as Config


@pytest.mark.slow
def test_the_dense_version_computes_the_same_loss_and_gradient() -> None:
    config = Config.model_validate({"image_size": 32, "width": "laptop", "foreground": {"grid": 4}})
    stage = Stage(0.01, -1.0, 0.5, boundary_weight=1.0)
    fast = Space.create(config, Anneal()).double()
    dense = DenseSpace(config, stage).double()
    dense.space.load_state_dict(fast.state_dict())
    images = torch.rand(2, 3, 32, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    losses = [fast(images, stage, sample=False).loss, dense(images, stage, False, None)]
    assert torch.allclose(losses[0], losses[1], rtol=1e-12)
    for loss in losses:
        loss.sum().backward()
    for (name, first), second in zip(fast.named_parameters(), dense.space.parameters(), strict=True):
        if first.grad is not None:
            assert second.grad is not None, name
            assert torch.allclose(first.grad, second.grad, rtol=1e-7, atol=1e-9), name
