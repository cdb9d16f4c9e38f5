"""The two ways that the inference benchmark measures find the same masks, and it would notice if they did not."""

import pytest
import torch

from benchmarks import inference
from benchmarks.step import SIZE


@pytest.mark.slow
def test_both_ways_find_the_same_masks() -> None:
    images = torch.rand(2, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(0))
    images[:, :, : SIZE // 2] = images[:, :, :1, :1]  # plain above, noise below
    model = inference.model_for(4, images, objects=6)
    ours, dense = inference.fast(model, images), inference.Dense(model)
    assert sum(mask.any().item() for masks in ours for mask in masks) >= 6
    for whole in (False, True):
        inference.check(ours, dense(images, whole))
    ours[0][0] = ~ours[0][0]
    with pytest.raises(AssertionError):
        inference.check(ours, dense(images, whole=False))
