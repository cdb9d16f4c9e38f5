"""What a process gives a step: its images, what moves in them, and noise; each a pure function of seed, step and rank.

Shapes: B images of this process, C H W image.
"""

import torch
from lightning_fabric import Fabric
from torch import Tensor

from objectspace.data.dataset import Dataset
from objectspace.data.motion import Motion
from objectspace.data.sampler import Sampler


def to_images(dataset: Dataset, sampler: Sampler, step: int, fabric: Fabric) -> Tensor:
    """The batch of this process: (B, C, H, W) in [0, 1]."""
    pixels = torch.from_numpy(dataset.batch(sampler.indices(step, fabric.global_rank)))
    return fabric.to_device(pixels).permute(0, 3, 1, 2).float() / 255


def to_motion(motion: Motion, sampler: Sampler, step: int, fabric: Fabric) -> Tensor:
    """What moves in the batch of this process: (B, H, W)."""
    moving: Tensor = fabric.to_device(torch.from_numpy(motion.of(sampler.indices(step, fabric.global_rank))))
    return moving


def noise(seed: int, step: int, fabric: Fabric) -> torch.Generator:
    """A generator that depends on the seed, the step and the process alone."""
    mixed = (seed * 1_000_003 + step) * 1_009 + fabric.global_rank
    return torch.Generator(device=fabric.device).manual_seed(mixed % 2**63)
