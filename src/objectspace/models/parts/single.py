"""A background drawn by one VAE: SPAIR's.

It looks at images tile by tile: the whole image is one tile, or, where it was made for patches, every patch of it is.
Departs from the paper: a tile of another size than the paper's changes the decoder's factors; with `fraction` above 1
pictures are decoded smaller and enlarged, with `input_fraction` above 1 images are encoded smaller.
Shapes: B images, T tiles an image (row by row), C H W image, h w tile, D latent.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from objectspace.models.parts.settings import BackgroundConfig, PatchBackgroundConfig, SingleBackgroundConfig
from objectspace.nn.stacks import celu_block, halving_encoder
from objectspace.nn.subpixel import PictureDecoder
from objectspace.ops.distributions import LEAST_STD, Gaussian, gaussian
from objectspace.ops.mixtures import gaussian_log_density, in_shadow


@dataclass(frozen=True)
class SingleOutput:
    """The picture behind the objects, and what it costs."""

    image: Tensor  # (B, C, H, W)
    log_density: Tensor  # (B, C, H, W) of every pixel and channel
    latent: Gaussian  # (B, T, D)
    kl: dict[str, Tensor]  # (B,)


class Single(nn.Module):
    """Images (B, C, H, W) of whole tiles -> one picture each."""

    def __init__(
        self,
        config: BackgroundConfig,
        encoder: nn.Module,
        decoder: nn.Module,
        dim: int,
        tile: tuple[int, int],
        shrink: int = 1,
    ) -> None:
        """`encoder` and `decoder` are for tiles, to 2 D numbers and from D; `shrink` is what the encoder reads."""
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.dim, self.tile, self.shrink = dim, tile, shrink
        self.sigma, self.shadow = config.sigma, config.shadow

    def forward(
        self,
        images: Tensor,
        sample: bool,
        generator: torch.Generator | None,
        epsilon: float = 0.0,
        sigma: float | None = None,
    ) -> SingleOutput:
        """`epsilon` is for mixing weights, of which a single picture has none."""
        sigma = sigma or self.sigma
        latent = self.infer(images, sample, generator)
        image = self.decode(latent.value, (images.shape[2], images.shape[3]))
        return SingleOutput(
            image=image,
            log_density=in_shadow(images, image, gaussian_log_density(images, image, sigma), sigma, self.shadow),
            latent=latent,
            kl={"background": latent.kl(0.0, 1.0).sum(1)},
        )

    def infer(self, images: Tensor, sample: bool, generator: torch.Generator | None) -> Gaussian:
        """The latents of every tile (B, T, D)."""
        tiles = to_tiles(images, self.tile)
        if self.shrink > 1:
            tiles = F.avg_pool2d(tiles, self.shrink)
        parameters = self.encoder(tiles.contiguous(memory_format=torch.channels_last))
        return gaussian(parameters.view(len(images), -1, 2 * self.dim), sample, generator, LEAST_STD)

    def decode(self, latent: Tensor, size: tuple[int, int]) -> Tensor:
        """Latents (B, T, D) -> pictures (B, C, *size) in (0, 1)."""
        tiles: Tensor = self.decoder(latent.flatten(0, 1)).sigmoid()
        if tiles.shape[2:] != self.tile:
            tiles = F.interpolate(tiles, size=self.tile, mode="bilinear", align_corners=False)
        return from_tiles(tiles, size)

    def generate(self, size: tuple[int, int], generator: torch.Generator | None) -> Tensor:
        """A picture (1, C, *size) from the prior."""
        count = (size[0] // self.tile[0]) * (size[1] // self.tile[1])
        like = next(self.parameters())
        latent = torch.randn(1, count, self.dim, generator=generator, dtype=like.dtype, device=like.device)
        return self.decode(latent, size)


def for_images(config: SingleBackgroundConfig, size: tuple[int, int]) -> Single:
    """SPACE's background image encoder with one more linear layer, and the decoder of the paper's table."""
    unit = 16 * config.input_fraction
    positions = (size[0] // unit) * (size[1] // unit)
    encoder = halving_encoder(3, config.encoder_channels, positions, config.encoder_dim)
    encoder.extend([nn.ELU(), nn.Linear(config.encoder_dim, 2 * config.dim)])
    smaller = -(-size[0] // config.fraction), -(-size[1] // config.fraction)
    layers = config.decoder
    decoder = PictureDecoder(config.dim, layers.channels, layers.groups, 3, smaller, later=(4, 2, 4))
    return Single(config, encoder, decoder, config.dim, size, config.input_fraction)


def for_patches(config: PatchBackgroundConfig, patch: tuple[int, int]) -> Single:
    """The paper's background encoder and decoder for patch training, and a linear layer between them."""
    layers: list[nn.Module] = []
    before = 3
    for after, groups in zip(config.encoder.channels, config.encoder.groups, strict=True):
        layers += celu_block(before, after, 2, groups, stride=2)
        before = after
    positions = (patch[0] // 32) * (patch[1] // 32)  # five halvings
    encoder = nn.Sequential(*layers, nn.Flatten(), nn.Linear(before * positions, 2 * config.dim))
    decoder = PictureDecoder(config.dim, config.decoder.channels, config.decoder.groups, 3, patch, later=(2, 4))
    return Single(config, encoder, decoder, config.dim, patch)


def to_tiles(images: Tensor, tile: Sequence[int]) -> Tensor:
    """Images (B, C, H, W) of whole tiles -> their tiles ((B T), C, h, w), row by row."""
    count, channels, height, width = images.shape
    rows, columns = height // tile[0], width // tile[1]
    parts = images.reshape(count, channels, rows, tile[0], columns, tile[1])
    return parts.permute(0, 2, 4, 1, 3, 5).reshape(-1, channels, *tile)


def from_tiles(tiles: Tensor, size: Sequence[int]) -> Tensor:
    """Tiles ((B T), C, h, w) -> the images (B, C, *size) that they make up: undoes `to_tiles`."""
    _, channels, height, width = tiles.shape
    rows, columns = size[0] // height, size[1] // width
    parts = tiles.reshape(-1, rows, columns, channels, height, width)
    return parts.permute(0, 3, 1, 4, 2, 5).reshape(-1, channels, *size)
