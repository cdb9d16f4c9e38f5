"""Data sets of a few small sprites, for tests that need some images and look at nothing special in them."""

from pathlib import Path

import torch
from torch import Tensor

from objectspace.data.generate import generate
from objectspace.data.sprites import SpritesSource
from objectspace.data.streams import Stream


def few_sprites(root: Path, size: tuple[int, int] = (32, 32), **counts: int) -> Path:
    """A data set of one or two large sprites an image, `counts` images by split."""
    source = SpritesSource(height=size[0], width=size[1], smallest=0.3, largest=0.4, most=2)
    generate(source, root, [Stream(split, count) for split, count in counts.items()], workers=1)
    return root


def plain_sprites(side: int) -> SpritesSource:
    """One to three sprites on a plain ground, which can be learned in a few steps."""
    return SpritesSource(height=side, width=side, ground="plain", smallest=0.25, largest=0.35, least=1, most=3)


def training_images(source: SpritesSource, units: int) -> Tensor:
    """Training images of a source: bytes (n, C, H, W)."""
    samples = [sample for unit in range(units) for sample in source.make("train", "", unit)]
    return torch.stack([torch.from_numpy(sample.image) for sample in samples]).permute(0, 3, 1, 2)
