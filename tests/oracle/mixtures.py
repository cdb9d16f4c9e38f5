"""Small models of components alone, and their bounds computed literally: slot by slot, nothing taken from the models
but weights. GENESIS is the SPACE paper's background, so its transcription is that of `space_oracle`."""

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence
from torch.nn import functional as F

from objectspace.config import ModelConfig
from objectspace.models import Genesis, Iodine, SceneModel, create
from objectspace.models.genesis import GenesisConfig
from objectspace.models.iodine import IodineConfig
from oracle import space_oracle
from oracle.small import SMALL_BACKGROUND

SMALL_IODINE: dict[str, Any] = {
    "image_size": (32, 32),
    "components": 3,
    "refinements": 2,
    "sigma": 0.3,  # narrower, and the literal computation, which takes no logarithms, would underflow
    "slot_dim": 3,
    "hidden": 6,
    "decoder_channels": (5, 4),
    "encoder_channels": (4, 5),
}


def small_genesis(**options: Any) -> GenesisConfig:
    return GenesisConfig(**{"image_size": (32, 32), **SMALL_BACKGROUND, "components": 3, **options})


def small_iodine(**options: Any) -> IodineConfig:
    return IodineConfig(**{**SMALL_IODINE, **options})


SMALL = {"genesis": small_genesis, "iodine": small_iodine}


def small_mixture(config: ModelConfig, seed: int = 0) -> SceneModel:
    """A model in float64 whose components differ."""
    model = create(config, seed=seed).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype))
        for norm in (module for module in model.modules() if isinstance(module, nn.BatchNorm2d)):
            norm.running_mean.normal_(0, 0.1, generator=generator)
            norm.running_var.uniform_(0.5, 1.5, generator=generator)
    return model


def genesis(model: Genesis, images: Tensor, noise: dict[str, Tensor] | None) -> dict[str, Tensor]:
    """The bound of GENESIS; with a goal for the likelihood, the loss it trains."""
    config = SimpleNamespace(background=model.config, image_size=model.config.image_size, mixture_epsilon=0.0)
    parts, kl = space_oracle.background(SimpleNamespace(background=model.mixture, config=config), images, noise)
    log_likelihood = parts["log_density"].flatten(1).sum(1)
    beta = 1.0 if model.config.geco.goal is None else float(model.beta)
    return {
        "reconstruction": (parts["masks"] * parts["means"]).sum(1),
        "log_likelihood": log_likelihood,
        "kl_mask": kl["mask"],
        "kl_component": kl["component"],
        "elbo": log_likelihood - kl["mask"] - kl["component"],
        "loss": -log_likelihood + beta * (kl["mask"] + kl["component"]),
        "means": parts["means"],
        "masks": parts["masks"],
    }


def iodine(model: Iodine, images: Tensor, noise: Tensor | None) -> dict[str, Tensor]:
    """The bounds of IODINE; `noise` is (T + 1, B, K, D), None for posterior means."""
    results = [
        _iodine(model, image, None if noise is None else noise[:, number]) for number, image in enumerate(images)
    ]
    return {name: torch.stack([result[name] for result in results]) for name in results[0]}


def _iodine(model: Iodine, image: Tensor, noise: Tensor | None) -> dict[str, Tensor]:
    """The same for one image (C, H, W)."""
    config, dim = model.config, model.config.slot_dim
    posteriors = list(model.initial)  # (2D,) each
    memory = [(image.new_zeros(1, config.hidden), image.new_zeros(1, config.hidden)) for _ in posteriors]
    losses = []
    for step in range(config.refinements + 1):
        normals = [Normal(each[:dim], F.softplus(each[dim:]) + 1e-4) for each in posteriors]
        latents = [
            each.mean if noise is None else each.mean + each.stddev * noise[step, slot]
            for slot, each in enumerate(normals)
        ]
        pictures = [_decode(model, latent) for latent in latents]
        means, logits = [picture[:3] for picture in pictures], [picture[3:] for picture in pictures]
        weights = torch.softmax(torch.stack(logits), dim=0)  # (K, 1, H, W)
        channels = [Normal(mean, config.sigma).log_prob(image).exp() for mean in means]  # (C, H, W)
        shares = [weight * each.prod(0, keepdim=True) for weight, each in zip(weights, channels, strict=True)]
        by_channel = [weight * each for weight, each in zip(weights, channels, strict=True)]
        whole = sum(shares)  # (1, H, W)
        pixel = whole if config.whole_pixels else sum(by_channel).prod(0, keepdim=True)
        log_likelihood = pixel.log().sum()
        kl = sum(kl_divergence(each, Normal(torch.zeros(dim), torch.ones(dim))).sum() for each in normals)
        losses.append(kl - log_likelihood)
        if step == config.refinements:
            break
        by_posterior = torch.autograd.grad(losses[-1], posteriors, retain_graph=True)
        for slot in range(config.components):
            owner = shares[slot] / whole
            owners = owner.expand_as(image) if config.whole_pixels else by_channel[slot] / sum(by_channel)
            mixtures = 1 if config.whole_pixels else len(image)  # a pixel's, each with the mask's weights
            others = sum(share for other, share in enumerate(shares) if other != slot)
            left = sum(weight for other, weight in enumerate(weights) if other != slot)
            rows = torch.linspace(-1, 1, image.shape[1])[:, None].expand(image.shape[1:])
            columns = torch.linspace(-1, 1, image.shape[2])[None, :].expand(image.shape[1:])
            seen = [
                image,
                means[slot],
                weights[slot],
                logits[slot],
                owner,
                # The loss's derivatives, worked out by hand: of -log sum_k m_k N(x; mu_k) by mu_k, and by m_k's logit.
                _norm(owners * (means[slot] - image) / config.sigma**2),
                _norm(mixtures * weights[slot] - owners.sum(0, keepdim=True) * mixtures / len(image)),
                _norm(pixel.log()),
                _norm(pixel.log() - (others / left).log()),
                torch.stack([columns, rows]),
            ]
            inputs = space_oracle.block_means(torch.cat(seen)[None], config.input_fraction)
            features = inputs
            for layer in model.refiner.look:
                if isinstance(layer, nn.Conv2d):
                    features = F.elu(F.conv2d(features, layer.weight, layer.bias, stride=2, padding=1))
            linear, second = model.refiner.think[0], model.refiner.think[2]
            features = F.elu(F.linear(features.flatten(2).mean(2), linear.weight, linear.bias))
            features = F.linear(features, second.weight, second.bias)
            vectors = torch.cat([posteriors[slot], _norm(by_posterior[slot])])
            memory[slot] = model.refiner.remember(torch.cat([features, vectors[None]], dim=1), memory[slot])
            posteriors[slot] = posteriors[slot] + model.refiner.change(memory[slot][0])[0]
    steps, first = config.refinements, 1 if config.start_counts else 0
    return {
        "reconstruction": sum(weight * mean for weight, mean in zip(weights, means, strict=True)),
        "log_likelihood": log_likelihood,
        "kl_slot": kl,
        "elbo": log_likelihood - kl,
        "loss": sum(((t + first) / (steps + first)) * losses[t] for t in range(steps + 1)),
        "means": torch.stack(means),
        "masks": weights,
    }


def _decode(model: Iodine, latent: Tensor) -> Tensor:
    """A slot (D,) -> means and mask logits (4, H, W): broadcast, coordinates, valid convolutions."""
    config, layers = model.config, list(model.decoder.convolutions)
    height, width = (-(-side // config.fraction) + 2 * len(layers) for side in config.image_size)
    rows, columns = torch.linspace(-1, 1, height), torch.linspace(-1, 1, width)
    maps = torch.cat(
        [
            latent[:, None, None].expand(-1, height, width),
            columns[None, None, :].expand(1, height, width),
            rows[None, :, None].expand(1, height, width),
        ]
    )[None]
    for number, layer in enumerate(layers):
        maps = F.conv2d(F.elu(maps) if number else maps, layer.weight, layer.bias)
    if config.fraction > 1:
        maps = F.interpolate(maps, size=config.image_size, mode="bilinear", align_corners=False)
    return torch.cat([maps[0, :3].sigmoid(), maps[0, 3:]]) if config.squashed else maps[0]


def _norm(values: Tensor) -> Tensor:
    """Layer norm of a constant: no gradient goes through it."""
    values = values.detach()
    return (values - values.mean()) / (values.var(unbiased=False) + 1e-5).sqrt()
