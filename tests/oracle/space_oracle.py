"""The paper's algorithms, transcribed line by line: slow, one image and one cell after another, on full canvases.

Takes the weights of a `Space` model, none of its arithmetic: convolutions, norms and LSTMs are called by torch's own
modules, everything between them is written out here from the paper (Algorithms "Foreground Inference", "Rescale",
"Background Inference", "Background Generation") with PAPER-NOTES where it is silent.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.distributions import Bernoulli, Normal, kl_divergence
from torch.nn import functional as F

from objectspace.config import Stage
from objectspace.models.space import Space

Noise = Callable[[Tensor], Tensor]


def spatial_transformer(picture: Tensor, where: Tensor, size: tuple[int, int], inverse: bool) -> Tensor:
    """ST and its inverse for one picture (C, h, w), by affine_grid and grid_sample."""
    width, height, x, y = where
    if inverse:
        theta = torch.stack(
            [
                torch.stack([1 / (width + 1e-9), torch.zeros_like(x), -x / (width + 1e-9)]),
                torch.stack([torch.zeros_like(x), 1 / (height + 1e-9), -y / (height + 1e-9)]),
            ]
        )
    else:
        theta = torch.stack(
            [torch.stack([width, torch.zeros_like(x), x]), torch.stack([torch.zeros_like(x), height, y])]
        )
    grid = F.affine_grid(theta[None], [1, picture.shape[0], *size], align_corners=False)
    return F.grid_sample(picture[None], grid, mode="bilinear", padding_mode="zeros", align_corners=False)[0]


def run_plain(stack: nn.Module, inputs: Tensor) -> Tensor:
    """A stack of layers, the values not worked on in place."""
    for layer in stack.children():
        if isinstance(layer, nn.CELU):
            inputs = F.celu(inputs)
        elif isinstance(layer, nn.ELU):
            inputs = F.elu(inputs)
        elif isinstance(layer, nn.GroupNorm):
            inputs = F.group_norm(inputs, layer.num_groups, layer.weight, layer.bias, layer.eps)
        else:
            inputs = layer(inputs)
    return inputs


def rescale(shift: Tensor, i: int, rows: int, columns: int) -> Tensor:
    """Algorithm "Rescale"; the offset's first entry is the column, its second the row."""
    k, j = i % columns, i // columns
    centre = shift.new_tensor([k + 0.5, j + 0.5])
    return 2 * (centre + torch.tanh(shift)) / shift.new_tensor([columns, rows]) - 1


def foreground(  # noqa: PLR0915
    model: Space, images: Tensor, stage: Stage, chosen: Tensor | None, noise: dict[str, Tensor] | None
):
    """Algorithm "Foreground Inference", with its KL terms and the boundary loss."""
    net, config = model.foreground, model.config.foreground
    rows, columns = config.grid
    cells, side, canvas = rows * columns, config.glimpse, (images.shape[2], images.shape[3])
    features = run_plain(net.encoder.enc, images)
    residual = run_plain(net.encoder.enc_lat, features)
    encoded = run_plain(net.encoder.enc_cat, torch.cat([features, residual], dim=1))
    heads = net.heads

    def split(head: nn.Module, b: int, i: int) -> tuple[Tensor, Tensor]:
        mean, raw = head(encoded[b : b + 1, :, i // columns, i % columns, None, None])[0, :, 0, 0].chunk(2)
        return mean, F.softplus(raw)

    def draw(name: str, mean: Tensor, std: Tensor, *index: int) -> Tensor:
        return mean if noise is None else mean + std * noise[name][index]

    kernel = torch.full((1, side, side), 1 / side**2, dtype=images.dtype)
    rim = max(1, round(6 * side / 32))
    kernel[:, rim : side - rim, rim : side - rim] = 0
    out: dict[str, list[Tensor]] = {"alpha": [], "image": [], "boundary": [], "where": [], "presence": []}
    kl: dict[str, list[Tensor]] = {"presence": [], "scale": [], "shift": [], "depth": [], "what": []}
    what_number = 0
    for b in range(len(images)):
        terms = {name: images.new_zeros(()) for name in kl}
        alphas, pictures, logits, boundary, wheres, presences = [], [], [], images.new_zeros(1, *canvas), [], []
        for i in range(cells):
            logit = 8.8 * torch.tanh(
                heads.z_pres_net(encoded[b : b + 1, :, i // columns, i % columns, None, None])
            ).view(())
            depth_mean, depth_std = split(heads.z_depth_net, b, i)
            scale_mean, scale_std = split(heads.z_scale_net, b, i)
            shift_mean, shift_std = split(heads.z_shift_net, b, i)
            gumbel = 0 if noise is None else noise["presence"][b, i].log() - (1 - noise["presence"][b, i]).log()
            presence = torch.sigmoid((logit + gumbel) / stage.temperature)
            depth = draw("depth", depth_mean, depth_std, b, i)
            scale = torch.sigmoid(draw("scale", scale_mean, scale_std, b, i))
            shift = rescale(draw("shift", shift_mean, shift_std, b, i), i, rows, columns)
            where = torch.cat([scale, shift])
            wheres.append(where)
            presences.append(presence)
            here = chosen is None or bool(chosen[b, i])
            weight = presence * here if config.presence_weighted_kl else 1.0
            terms["presence"] = terms["presence"] + kl_divergence(
                Bernoulli(logits=logit), Bernoulli(logit.new_tensor(stage.presence_prior))
            )
            prior_scale = Normal(
                torch.full_like(scale, stage.scale_prior_mean), stage.scale_prior_std or config.scale_prior_std
            )
            standard = Normal(torch.zeros((), dtype=images.dtype), 1.0)
            terms["scale"] = terms["scale"] + weight * kl_divergence(Normal(scale_mean, scale_std), prior_scale).sum()
            terms["shift"] = terms["shift"] + weight * kl_divergence(Normal(shift_mean, shift_std), standard).sum()
            terms["depth"] = terms["depth"] + weight * kl_divergence(Normal(depth_mean, depth_std), standard).sum()
            if not here:  # absent: an empty canvas, logit 0 everywhere
                alphas.append(images.new_zeros(1, *canvas))
                pictures.append(images.new_zeros(3, *canvas))
                logits.append(images.new_zeros(1, *canvas))
                continue
            glimpse = spatial_transformer(images[b], where, (side, side), inverse=False)
            mean, raw = net.glimpse_encoder.enc_what(run_plain(net.glimpse_encoder.enc_cnn, glimpse[None]).flatten())[
                :
            ].chunk(2)
            std = F.softplus(raw)
            what = mean if noise is None else mean + std * noise["what"][what_number]
            what_number += 1
            terms["what"] = terms["what"] + weight * kl_divergence(Normal(mean, std), standard).sum()
            hidden = run_plain(net.glimpse_decoder.dec, what[None, :, None, None])
            o = torch.sigmoid(net.glimpse_decoder.dec_o(hidden))[0]
            alpha = torch.sigmoid(net.glimpse_decoder.dec_alpha(hidden))[0] * presence
            pictures.append(spatial_transformer(alpha * o, where, canvas, inverse=True))
            alphas.append(spatial_transformer(alpha, where, canvas, inverse=True))
            logits.append(100 * torch.sigmoid(-depth) * alphas[-1])
            boundary = boundary + spatial_transformer(kernel * presence, where, canvas, inverse=True)
        weights = torch.softmax(torch.stack(logits), dim=0)
        total_alpha = (weights * torch.stack(alphas)).sum(0)
        overlap = 1000 * boundary * total_alpha
        penalty = -Normal(torch.zeros((), dtype=images.dtype), 0.7).log_prob(overlap).sum() * stage.boundary_weight
        out["alpha"].append(total_alpha)
        out["image"].append((weights * torch.stack(pictures)).sum(0))
        out["boundary"].append(penalty)
        out["where"].append(torch.stack(wheres))
        out["presence"].append(torch.stack(presences))
        for name, term in terms.items():
            kl[name].append(term.view(()))
    return {name: torch.stack(parts) for name, parts in out.items()}, {n: torch.stack(p) for n, p in kl.items()}


def decode_component(model: Space, latents: Tensor) -> Tensor:
    """CompDecoder: a vector broadcast over a map 8 pixels larger, coordinates from -1 to 1, four valid convolutions."""
    config = model.config.background
    decoder = model.background.component_decoder
    fraction = config.fraction
    height, width = (-(-side // fraction) for side in model.config.image_size)
    if config.strong_decoder:
        pictures = run_plain(decoder.dec, latents[:, :, None, None])[:, :, :height, :width]
    else:
        margin = 2 * len(config.component_decoder_channels)
        rows = torch.linspace(-1, 1, height + margin, dtype=latents.dtype)
        columns = torch.linspace(-1, 1, width + margin, dtype=latents.dtype)
        broadcast = latents[:, :, None, None].expand(-1, -1, len(rows), len(columns))
        x = columns[None, None, None, :].expand(len(latents), 1, len(rows), -1)
        y = rows[None, None, :, None].expand(len(latents), 1, -1, len(columns))
        pictures = run_plain(decoder.decoder, torch.cat([broadcast, x, y], dim=1))
    pictures = torch.sigmoid(pictures)
    if fraction > 1:
        pictures = F.interpolate(pictures, size=model.config.image_size, mode="bilinear", align_corners=False)
    return pictures


def decode_masks(model: Space, latents: list[Tensor]) -> list[Tensor]:
    """MaskDecoder and the stick-breaking process, mask by mask; latents (B, D) each."""
    height, width = (-(-side // model.config.background.fraction) for side in model.config.image_size)
    masks, left = [], torch.ones(len(latents[0]), 1, *model.config.image_size, dtype=latents[0].dtype)
    for latent in latents[:-1]:
        logits = run_plain(model.background.mask_decoder.dec, latent[:, :, None, None])[:, :, :height, :width]
        if model.config.background.fraction > 1:
            logits = F.interpolate(logits, size=model.config.image_size, mode="bilinear", align_corners=False)
        masks.append(left * torch.sigmoid(logits))
        left = left * (1 - torch.sigmoid(logits))
    return [*masks, left]


def prior_chain(model: Space, latents: Callable[[int, Tensor, Tensor], Tensor], count: int) -> list[Normal]:
    """The priors of the masks; `latents(k, mean, std)` says which latent the chain goes on with."""
    prior = model.background.prior
    hidden, cell = prior.h.expand(count, -1), prior.c.expand(count, -1)
    latent, priors = model.background.z_mask_0.expand(count, -1), []
    for k in range(model.config.background.components):
        if k > 0 or not model.config.background.prior_from_state:
            hidden, cell = prior.rnn(latent, (hidden, cell))
        mean, raw = prior.predict(hidden).chunk(2, dim=-1)
        priors.append(Normal(mean, F.softplus(raw) + 1e-4))
        latent = latents(k, mean, priors[-1].stddev)
    return priors


def block_means(pictures: Tensor, side: int) -> Tensor:
    """Every block of side x side pixels becomes its mean."""
    count, channels, height, width = pictures.shape
    return pictures.reshape(count, channels, height // side, side, width // side, side).mean((3, 5))


def background(model: Space, images: Tensor, noise: dict[str, Tensor] | None, sigma_factor: float = 1.0):
    """Algorithm "Background Inference", with its KL terms."""
    net, config = model.background, model.config.background
    features = F.elu(run_plain(net.image_encoder, block_means(images, config.input_fraction)))
    hidden, cell = net.posterior.h.expand(len(images), -1), net.posterior.c.expand(len(images), -1)
    latent, latents, posteriors = net.z_mask_0.expand(len(images), -1), [], []
    for k in range(config.components):
        hidden, cell = net.posterior.rnn(torch.cat([latent, features], dim=1), (hidden, cell))
        mean, raw = net.posterior.predict(hidden).chunk(2, dim=-1)
        posteriors.append(Normal(mean, F.softplus(raw) + 1e-4))
        latent = mean if noise is None else mean + posteriors[-1].stddev * noise["mask"][k]
        latents.append(latent)
    masks = decode_masks(model, latents)
    # Batch norm in training sees all components at once, ordered image by image.
    inputs = torch.stack([torch.cat([torch.log(mask + 1e-5), images], dim=1) for mask in masks], dim=1).flatten(0, 1)
    inputs = block_means(inputs, config.input_fraction)
    mean, raw = run_plain(net.component_encoder, inputs).view(len(images), config.components, -1).chunk(2, dim=-1)
    std = F.softplus(raw) + 1e-4
    component = mean if noise is None else mean + std * noise["component"]
    means = decode_component(model, component.flatten(0, 1)).view(len(images), config.components, 3, *images.shape[2:])
    priors = prior_chain(model, lambda k, mean, std: latents[k], len(images))
    kl = {"mask": images.new_zeros(len(images)), "component": images.new_zeros(len(images))}
    density: Tensor | float = 0.0
    eps, sigma = model.config.mixture_epsilon, config.sigma * sigma_factor
    for k in range(config.components):
        kl["mask"] = kl["mask"] + kl_divergence(posteriors[k], priors[k]).sum(1)
        prior_mean, prior_raw = run_plain(net.component_prior, latents[k]).chunk(2, dim=-1)
        prior = Normal(prior_mean, F.softplus(prior_raw) + 1e-4)
        kl["component"] = kl["component"] + kl_divergence(Normal(mean[:, k], std[:, k]), prior).sum(1)
        density = density + (masks[k] + eps) * Normal(means[:, k], sigma).log_prob(images).exp()
    return {"masks": torch.stack(masks, dim=1), "means": means, "log_density": torch.log(density)}, kl


def space(
    model: Space,
    images: Tensor,
    stage: Stage,
    chosen: Tensor | None = None,
    noise: dict[str, Tensor] | None = None,
) -> dict[str, Tensor]:
    """The whole model; `chosen` (B, N) are the cells worked on (None: all), `noise` replaces the generator."""
    front, front_kl = foreground(model, images, stage, chosen, noise)
    back, back_kl = background(model, images, noise, stage.sigma_factor)
    alpha, eps = front["alpha"], model.config.mixture_epsilon
    if stage.fixed_alpha is not None:
        alpha = torch.full_like(alpha, stage.fixed_alpha)
    by_front = Normal(front["image"], model.config.foreground.sigma * stage.sigma_factor).log_prob(images).exp()
    log_likelihood = (
        torch.log((alpha + eps) * by_front + (1 - alpha + eps) * back["log_density"].exp()).flatten(1).sum(1)
    )
    kl = front_kl | back_kl
    behind = (back["masks"] * back["means"]).sum(1)
    return {
        "reconstruction": alpha * front["image"] + (1 - alpha) * behind,
        "log_likelihood": log_likelihood,
        "loss": -log_likelihood + sum(kl.values()) + front["boundary"],
        "foreground": front["image"],
        "alpha": front["alpha"],
        "background": behind,
        "masks": back["masks"],
        "means": back["means"],
        "boundary": front["boundary"],
        "where": front["where"],
        "presence": front["presence"],
        **{f"kl_{name}": term for name, term in kl.items()},
    }


def generate_background(model: Space, noise: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Algorithm "Background Generation": masks (B, K, 1, H, W) and means (B, K, C, H, W)."""
    latents: list[Tensor] = []

    def draw(k: int, mean: Tensor, std: Tensor) -> Tensor:
        latents.append(mean + std * noise["mask"][k])
        return latents[-1]

    prior_chain(model, draw, noise["mask"].shape[1])
    pictures = []
    for k, latent in enumerate(latents):
        mean, raw = run_plain(model.background.component_prior, latent).chunk(2, dim=-1)
        pictures.append(decode_component(model, mean + (F.softplus(raw) + 1e-4) * noise["component"][:, k]))
    return torch.stack(decode_masks(model, latents), dim=1), torch.stack(pictures, dim=1)
