"""SPAIR and SPAIR-P, transcribed line by line: one image and one cell after another, on full canvases.

Takes the weights of a model, none of its arithmetic, as `space_oracle` does, whose pieces it uses. `images` may be
patches: sizes are then fractions of the model's image size all the same.
"""

import torch
from torch import Tensor, nn
from torch.distributions import Bernoulli, Normal, kl_divergence
from torch.nn import functional as F

from objectspace.config import Stage
from objectspace.models.parts.sequence import SequentialForeground
from objectspace.models.spair import SequentialModel
from oracle.space_oracle import (
    as_evidence_sees,
    block_means,
    decode_glimpse,
    encode_glimpse,
    enlarged,
    lay,
    log_pixels,
    mean_of,
    over_the_background,
    presence_prior,
    rescale,
    rim,
    run_plain,
    spatial_transformer,
    teach,
    those_explored,
    unexplained,
)


def visited_neighbours(row: int, column: int, rows: int, columns: int, reach: int) -> list[int | None]:
    """The cells around one that come before it in row-major order, None for each outside of the grid."""
    neighbours: list[int | None] = []
    for other_row in range(row - reach, row + 1):
        for other_column in range(column - reach, column + reach + 1):
            if other_row == row and other_column >= column:
                break
            inside = other_row >= 0 and 0 <= other_column < columns
            neighbours.append(other_row * columns + other_column if inside else None)
    return neighbours


def foreground(  # noqa: PLR0915
    model: SequentialModel,
    images: Tensor,
    stage: Stage,
    chosen: Tensor | None,
    noise: dict[str, Tensor] | None,
    behind: Tensor,
    kept: Tensor | None = None,
    turns: Tensor | None = None,
):
    """Algorithm "Foreground Inference" with the loop over cells taken at its word; noise is (N, B, ...).

    A cell knows those before it, and gives way to none.
    """
    net, config = model.foreground, model.config.foreground
    assert isinstance(net, SequentialForeground)
    cell_side = model.config.image_size[0] // config.grid[0]
    side, canvas = config.glimpse, (images.shape[2], images.shape[3])
    rows, columns = canvas[0] // cell_side, canvas[1] // cell_side
    kernel = rim(side, images)
    standard = Normal(torch.zeros((), dtype=images.dtype), 1.0)
    names = ("alpha", "image", "mean", "boundary", "where", "presence", "weighed", "taught")
    out: dict[str, list[Tensor]] = {name: [] for name in names}
    kl: dict[str, list[Tensor]] = {"presence": [], "scale": [], "shift": [], "depth": [], "what": []}

    def draw(name: str, mean: Tensor, std: Tensor, i: int, b: int) -> Tensor:
        return mean if noise is None else mean + std * noise[name][i, b]

    for b in range(len(images)):
        image = images[b : b + 1]
        features = run_plain(net.encoder.enc, image)
        encoded = run_plain(
            net.encoder.enc_cat, torch.cat([features, run_plain(net.encoder.enc_lat, features)], dim=1)
        )[0]
        terms = {name: images.new_zeros(()) for name in kl}
        latents: list[Tensor] = []
        boundary, wheres, presences, shown = images.new_zeros(1, *canvas), [], [], []
        logits, drawn, costs, weighed = [], [], [], []
        candidates = [
            unexplained(stage, behind[b], i // columns, i % columns, cell_side) for i in range(rows * columns)
        ]
        priors = [presence_prior(stage, candidate) for candidate in candidates]
        here = [chosen is None or bool(chosen[b, i]) for i in range(rows * columns)]
        explored = those_explored(None if turns is None else turns[b], here, candidates, stage.explored_cells)
        for i in range(rows * columns):
            row, column = i // columns, i % columns
            near = visited_neighbours(row, column, rows, columns, model.config.neighbourhood)
            told = torch.cat([net.edge if number is None else latents[number] for number in near])
            linear = net.context[0]
            context = F.celu(linear.weight @ told + linear.bias)
            inputs = torch.cat([encoded[:, row, column], context])

            def read(head: nn.Conv2d, inputs: Tensor = inputs) -> Tensor:
                return head.weight[:, :, 0, 0] @ inputs + head.bias

            def split(head: nn.Conv2d, read=read) -> tuple[Tensor, Tensor]:
                mean, raw = read(head).chunk(2)
                return mean, F.softplus(raw)

            logit = 8.8 * torch.tanh(read(net.heads.z_pres_net)).view(())
            depth_mean, depth_std = split(net.heads.z_depth_net)
            scale_mean, scale_std = split(net.heads.z_scale_net)
            shift_mean, shift_std = split(net.heads.z_shift_net)
            gumbel = 0 if noise is None else noise["presence"][i, b].log() - (1 - noise["presence"][i, b]).log()
            presence = torch.sigmoid((logit + gumbel) / stage.temperature).view(())
            depth = draw("depth", depth_mean, depth_std, i, b)
            scale = draw("scale", scale_mean, scale_std, i, b)
            shift = draw("shift", shift_mean, shift_std, i, b)
            width = torch.sigmoid(scale[0]) * model.config.image_size[1] / canvas[1]
            height = torch.sigmoid(scale[1]) * model.config.image_size[0] / canvas[0]
            where = torch.cat([torch.stack([width, height]), rescale(shift, i, rows, columns)])
            frame = enlarged(where, config.margin)
            glimpse = spatial_transformer(image[0], frame, (side, side), inverse=False)
            what_mean, what_std = encode_glimpse(model, glimpse)
            what = draw("what", what_mean, what_std, i, b)
            latents.append(
                torch.cat([presence.view(1), torch.sigmoid(scale), torch.tanh(shift), torch.sigmoid(depth), what])
            )
            if stage.presence_by_evidence:  # later cells are told all the same
                presence = presence.detach()
            wheres.append(where)
            presences.append(presence)
            logits.append(logit)
            shown.append(presence * here[i])  # explored ones are absent
            weighed.append(here[i] or i in explored)
            weight = shown[i] if config.presence_weighted_kl else 1.0
            prior_scale = Normal(
                torch.full_like(scale, stage.scale_prior_mean), stage.scale_prior_std or config.scale_prior_std
            )
            if kept is None or bool(kept[b, i]):
                divergence = kl_divergence(Bernoulli(logits=logit), Bernoulli(logit.new_tensor(priors[i])))
                terms["presence"] = terms["presence"] + (
                    divergence.detach() if stage.presence_by_evidence else divergence
                )
            own = {
                "scale": kl_divergence(Normal(scale_mean, scale_std), prior_scale).sum(),
                "shift": kl_divergence(Normal(shift_mean, shift_std), standard).sum(),
                "depth": kl_divergence(Normal(depth_mean, depth_std), standard).sum(),
            }
            if weighed[i]:
                own["what"] = kl_divergence(Normal(what_mean, what_std), standard).sum()
                o, alpha = decode_glimpse(model, what)
                boundary = boundary + spatial_transformer(kernel * shown[i], frame, canvas, inverse=True)
            drawn.append((o, alpha, frame, depth) if weighed[i] else None)
            costs.append(sum(own.values()))
            for name, term in own.items():
                terms[name] = terms[name] + weight * term
        picture, total_alpha = lay(drawn, shown, canvas)
        overlap = 1000 * boundary * total_alpha
        rim_prior = Normal(torch.zeros((), dtype=images.dtype), 0.7)

        seen = as_evidence_sees(model, behind[b], stage)

        def likelihood(picture: Tensor, alpha: Tensor, b: int = b, seen: Tensor = seen) -> Tensor:
            mean = mean_of(picture, alpha, config.premultiplied)
            return log_pixels(model, images[b], mean, alpha, seen, stage).sum()

        out["alpha"].append(total_alpha)
        out["image"].append(picture)
        out["mean"].append(mean_of(picture, total_alpha, config.premultiplied))
        out["boundary"].append(-rim_prior.log_prob(overlap).sum() * stage.boundary_weight)
        out["where"].append(torch.stack(wheres))
        out["presence"].append(torch.stack(presences))
        out["weighed"].append(torch.tensor(weighed))
        lesson = images.new_zeros(())
        if stage.presence_by_evidence:
            lesson = teach(drawn, shown, logits, priors, candidates, costs, likelihood, canvas)
        out["taught"].append(lesson)
        for name, term in terms.items():
            kl[name].append(term.view(()))
    return {name: torch.stack(parts) for name, parts in out.items()}, {n: torch.stack(p) for n, p in kl.items()}


def background(model: SequentialModel, images: Tensor, noise: dict[str, Tensor] | None):
    """The background's VAE, one tile of the images after another; noise is (B, T, D)."""
    net, config = model.background, model.config.background
    height, width = getattr(model.config, "patch", model.config.image_size)
    picture, kl, number = torch.zeros_like(images), images.new_zeros(len(images)), 0
    for top in range(0, images.shape[2], height):
        for left in range(0, images.shape[3], width):
            tile = images[:, :, top : top + height, left : left + width]
            # Batch norm in training sees all images at once.
            encoding = run_plain(net.encoder, block_means(tile, getattr(config, "input_fraction", 1)))
            mean, raw = encoding.chunk(2, dim=1)
            std = F.softplus(raw) + 1e-4
            latent = mean if noise is None else mean + std * noise["background"][:, number]
            number += 1
            standard = Normal(torch.zeros((), dtype=images.dtype), 1.0)
            kl = kl + kl_divergence(Normal(mean, std), standard).sum(1)
            drawn = torch.sigmoid(decode(model, latent))
            if drawn.shape[2:] != tile.shape[2:]:
                drawn = F.interpolate(drawn, size=tile.shape[2:], mode="bilinear", align_corners=False)
            after = (images.shape[3] - left - width, images.shape[2] - top - height)
            picture = picture + F.pad(drawn, (left, after[0], top, after[1]))
    return picture, {"background": kl}


def decode(model: SequentialModel, latent: Tensor) -> Tensor:
    """A tile's latent (B, D) through the decoder's layers."""
    size = getattr(model.config, "patch", model.config.image_size)
    fraction = getattr(model.config.background, "fraction", 1)
    height, width = -(-size[0] // fraction), -(-size[1] // fraction)
    return run_plain(model.background.decoder.dec, latent[:, :, None, None])[:, :, :height, :width]


def spair(
    model: SequentialModel,
    images: Tensor,
    stage: Stage,
    chosen: Tensor | None = None,
    noise: dict[str, Tensor] | None = None,
    kept: Tensor | None = None,
    turns: Tensor | None = None,
) -> dict[str, Tensor]:
    """The whole model; `chosen` (B, N) are the cells that may be present (None: all), `noise` replaces the generator.

    `kept` (B, N) are the cells that are not dropped; absent cells are explored by their `turns` (B, N), from the
    highest on.
    """
    behind, back_kl = background(model, images, noise)
    sigma = stage.background_sigma or model.config.background.sigma
    density = Normal(behind, sigma).log_prob(images).exp()
    front, front_kl = foreground(model, images, stage, chosen, noise, density.detach(), kept, turns)
    terms = over_the_background(model, images, front, density, front_kl, back_kl, stage)
    return terms | {
        "reconstruction": terms["weight"] * terms["mean"] + (1 - terms["weight"]) * behind,
        "background": behind,
    }
