"""Stills: pictures without a part that moves, from the medians of like images.

A fixed camera or a game's screen is one picture for all images; several rooms or games are a few. Shapes: n images or
B of a batch, C H W image, `count` pictures.
"""

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from objectspace.ops.mixtures import gaussian_log_density, with_unknown

_NEAR = 0.1  # a pixel is near a still if no channel is further off
_SIDE = 16  # images are compared at about this side: what moves is small there
_RESTARTS = 4
_ROUNDS = 30  # of Lloyd's; it mostly settles in ten
_MEMBERS = 200  # images of a cluster that its median is taken of, at most
_CHUNK = 1 << 14  # values worked on at once


def medians(images: Tensor, count: int, generator: Generator | None = None) -> tuple[Tensor, Tensor]:
    """Pictures (count, C, H, W) in [0, 1] and shares (count, H, W) from uint8 images (n, C, H, W).

    Images that look alike when they are small make a cluster; a picture is the median of its cluster, pixel by pixel,
    and its share says how many of the cluster's images are near it there. The largest cluster comes first.
    """
    if not 1 <= count <= len(images):
        raise ValueError(f"{count} stills cannot be made of {len(images)} images: ask for 1 to {len(images)}")
    if images.dtype != torch.uint8:
        raise TypeError(f"images must be uint8, not {images.dtype}")
    nearest = clusters(_shrunk(images), count, generator)
    pictures, shares = [], []
    for number in torch.bincount(nearest, minlength=count).argsort(descending=True, stable=True).tolist():
        members = (nearest == number).nonzero().squeeze(1)
        if len(members) > _MEMBERS:
            order = torch.randperm(len(members), generator=generator)[:_MEMBERS]
            members = members[order.sort().values]
        picture, share = _median(images[members])
        pictures.append(picture)
        shares.append(share)
    return torch.stack(pictures), torch.stack(shares)


def clusters(features: Tensor, count: int, generator: Generator | None = None) -> Tensor:
    """The cluster (n,) of each of n features (n, D): k-means, the best of several starts; none is empty."""
    best, least = torch.zeros(len(features), dtype=torch.long), float("inf")
    for _ in range(1 if count == 1 else _RESTARTS):
        centres = _spread_out(features, count, generator)
        nearest, distance = _nearest(features, centres)
        for _ in range(_ROUNDS):
            before = nearest
            sums = torch.zeros_like(centres).index_add_(0, nearest, features)
            centres = sums / torch.bincount(nearest, minlength=count).unsqueeze(1)
            nearest, distance = _nearest(features, centres)
            if torch.equal(nearest, before):
                break
        total = float(distance.sum())
        if total < least:
            best, least = nearest, total
    return best


def without_small_things(pictures: Tensor, size: int) -> Tensor:
    """Pictures (count, C, H, W) in [0, 1] through a median filter of a window of `size` pixels, for each channel.

    Things that fill less than half of a window go; the edges of large areas stay. Pixels beyond the border are as
    those at it, so that a frame around the picture stays. Values are rounded to 1 / 255.
    """
    if size < 1:
        raise ValueError(f"a median filter needs a window of at least 1 pixel, not {size}")
    half = size // 2
    window = 2 * half + 1
    filtered = []
    for picture in (pictures * 255).round():
        padded = F.pad(picture.unsqueeze(0), (half, half, half, half), mode="replicate")
        levels = torch.unique(padded)  # sorted
        result = levels[-1].expand_as(picture)
        for level in levels[:-1].flip(0):
            below = _sums((padded <= level).float(), window).squeeze(0)
            result = torch.where(below > window * window / 2, level, result)
        filtered.append(result / 255)
    return torch.stack(filtered).to(pictures.dtype)


def best_fit(images: Tensor, pictures: Tensor, sigma: float, unknown: float = 0.1) -> Tensor:
    """For each of images (B, C, H, W) which of pictures (n, C, H, W) explains it best, the unknown helping: (B,)."""
    fits = [with_unknown(gaussian_log_density(images, each, sigma), unknown).sum((1, 2)) for each in pictures]
    return torch.stack(fits).argmax(0)


def _shrunk(images: Tensor) -> Tensor:
    """Uint8 images (n, C, H, W) as features (n, D) in [0, 1]."""
    height, width = images.shape[-2:]
    size = (min(_SIDE, height), min(_SIDE, width))
    pieces = [F.adaptive_avg_pool2d(piece.float() / 255, size).flatten(1) for piece in torch.split(images, 64)]
    return torch.cat(pieces)


def _spread_out(features: Tensor, count: int, generator: Generator | None) -> Tensor:
    """First centres (count, D) as k-means++ chooses them: each likely to be far from those before it."""
    chosen = [int(torch.randint(len(features), (), generator=generator))]
    distance = (features - features[chosen[0]]).square().sum(1)
    while len(chosen) < count:
        weights = distance.clone()
        weights[chosen] = 0
        if not weights.sum() > 0:  # all that is left equals a centre
            weights = torch.ones_like(weights)
            weights[chosen] = 0
        chosen.append(int(torch.multinomial(weights, 1, generator=generator)))
        distance = torch.minimum(distance, (features - features[chosen[-1]]).square().sum(1))
    return features[chosen]


def _nearest(features: Tensor, centres: Tensor) -> tuple[Tensor, Tensor]:
    """The nearest centre (n,) and the squared distance to it (n,); an empty cluster gets the image that fits worst."""
    distance, nearest = torch.cdist(features, centres).square().min(1)
    sizes = torch.bincount(nearest, minlength=len(centres))
    worst = iter(distance.argsort(descending=True, stable=True).tolist())
    for empty in (sizes == 0).nonzero().squeeze(1).tolist():
        image = next(each for each in worst if sizes[nearest[each]] > 1)
        sizes[nearest[image]] -= 1
        nearest[image], distance[image], sizes[empty] = empty, 0.0, 1
    return nearest, distance


def _median(images: Tensor) -> tuple[Tensor, Tensor]:
    """The median (C, H, W) in [0, 1] of uint8 images (n, C, H, W) and the share (H, W) of them that are near it."""
    pixels = images.flatten(1)
    pieces = [piece.t().contiguous().median(1).values for piece in torch.split(pixels, _CHUNK, dim=1)]
    median = torch.cat(pieces).view(images.shape[1:])
    off = int(_NEAR * 255)
    below, above = median.int() - off, median.int() + off
    near = (images >= below.clamp(min=0).byte()) & (images <= above.clamp(max=255).byte())
    return median.float() / 255, near.all(1).float().mean(0)


def _sums(values: Tensor, window: int) -> Tensor:
    """Sums over all windows: (1, C, H, W) to (1, C, H - window + 1, W - window + 1)."""
    rows = F.avg_pool2d(values, (window, 1), stride=1, divisor_override=1)
    return F.avg_pool2d(rows, (1, window), stride=1, divisor_override=1)
