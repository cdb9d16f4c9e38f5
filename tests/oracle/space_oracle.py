"""The paper's algorithms, transcribed line by line: slow, one image and one cell after another, on full canvases.

Takes the weights of a `Space` model, none of its arithmetic: convolutions, norms and LSTMs are called by torch's own
modules, everything between them is written out here from the paper (Algorithms "Foreground Inference", "Rescale",
"Background Inference", "Background Generation") with PAPER-NOTES where it is silent. What goes beyond the paper is
written out as docs/decisions.md and the config say it.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.distributions import Bernoulli, Normal, kl_divergence
from torch.nn import functional as F

from objectspace.config import Stage
from objectspace.models.space import Space

Noise = Callable[[Tensor], Tensor]
Drawn = tuple[Tensor, Tensor, Tensor, Tensor]  # an object's picture, alpha, frame and depth


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


def dense_layers(stack: nn.Sequential, vector: Tensor, widths: tuple[int, ...]) -> Tensor:
    """A vector through dense layers of these widths, each with CELU, then a norm over all its values."""
    linears = [layer for layer in stack if isinstance(layer, nn.Linear)]
    norms = [layer for layer in stack if isinstance(layer, nn.LayerNorm)]
    for linear, norm, width in zip(linears, norms, widths, strict=True):
        vector = F.celu(linear.weight @ vector + linear.bias)
        assert vector.shape == (width,)
        centred = vector - vector.mean()
        vector = norm.weight * centred / torch.sqrt(centred.square().mean() + 1e-5) + norm.bias
    return vector


def encode_glimpse(model, glimpse: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and stdev of what (D,) from a glimpse (C, g, g): by convolutions, or by dense layers."""
    net, widths = model.foreground.glimpse_encoder, model.config.foreground.dense
    if widths:
        encoding = dense_layers(net.enc_cnn, glimpse.flatten(), widths)
    else:
        encoding = run_plain(net.enc_cnn, glimpse[None]).flatten()
    mean, raw = net.enc_what(encoding).chunk(2)
    return mean, F.softplus(raw)


def decode_glimpse(model, what: Tensor) -> tuple[Tensor, Tensor]:
    """A picture (C, g, g) and its alpha (1, g, g) from what (D,); dense layers are the encoder's, the other way."""
    net, side, widths = model.foreground.glimpse_decoder, model.config.foreground.glimpse, model.config.foreground.dense
    if not widths:
        hidden = run_plain(net.dec, what[None, :, None, None])
        return torch.sigmoid(net.dec_o(hidden))[0], torch.sigmoid(net.dec_alpha(hidden))[0]
    hidden = dense_layers(net.dec, what, tuple(reversed(widths)))
    picture, alpha = (torch.sigmoid(head.weight @ hidden + head.bias) for head in (net.dec_o, net.dec_alpha))
    return picture.view(3, side, side), alpha.view(1, side, side)


def rescale(shift: Tensor, i: int, rows: int, columns: int) -> Tensor:
    """Algorithm "Rescale"; the offset's first entry is the column, its second the row."""
    k, j = i % columns, i // columns
    centre = shift.new_tensor([k + 0.5, j + 0.5])
    return 2 * (centre + torch.tanh(shift)) / shift.new_tensor([columns, rows]) - 1


def enlarged(where: Tensor, margin: float) -> Tensor:
    """Where a glimpse lies: the object and a margin around it."""
    width, height, x, y = where
    return torch.stack([width * (1 + margin), height * (1 + margin), x, y])


def rim(side: int, like: Tensor) -> Tensor:
    """The boundary loss's kernel (1, g, g)."""
    kernel = torch.full((1, side, side), 1 / side**2, dtype=like.dtype)
    width = max(1, round(6 * side / 32))
    kernel[:, width : side - width, width : side - width] = 0
    return kernel


def lay(drawn: list[Drawn | None], presences: list[Tensor], canvas: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """The objects of one image's cells laid over one another: picture (C, H, W) and alpha (1, H, W)."""
    alphas, pictures, logits = [], [], []
    for one, presence in zip(drawn, presences, strict=True):
        if one is None:  # absent: an empty canvas, logit 0 everywhere
            alphas.append(presence.new_zeros(1, *canvas))
            pictures.append(presence.new_zeros(3, *canvas))
            logits.append(presence.new_zeros(1, *canvas))
            continue
        picture, alpha, frame, depth = one
        pictures.append(spatial_transformer(alpha * presence * picture, frame, canvas, inverse=True))
        alphas.append(spatial_transformer(alpha * presence, frame, canvas, inverse=True))
        logits.append(100 * torch.sigmoid(-depth) * alphas[-1])
    weights = torch.softmax(torch.stack(logits), dim=0)
    return (weights * torch.stack(pictures)).sum(0), (weights * torch.stack(alphas)).sum(0)


def mean_of(image: Tensor, alpha: Tensor, premultiplied: bool) -> Tensor:
    """What an image is compared with: the premultiplied picture, or its colour."""
    return image if premultiplied else image / torch.where(alpha > 1e-6, alpha, 1e-6)


def known_or_not(density: Tensor, unknown: float) -> Tensor:
    """log p of pixels (..., H, W) from the densities of their channels (..., C, H, W): perhaps nobody explains them."""
    return torch.log((1 - unknown) * density.prod(-3) + unknown)


def log_pixels(model, image: Tensor, mean: Tensor, alpha: Tensor, behind: Tensor, stage: Stage) -> Tensor:
    """log p of an image's pixels (..., H, W): objects over densities `behind` (..., C, H, W), or nobody's."""
    eps, sigma = model.config.mixture_epsilon, stage.foreground_sigma or model.config.foreground.sigma
    front = Normal(mean, sigma).log_prob(image).exp()
    if behind.shape[-3] == 1:  # of whole pixels
        front = front.prod(-3, keepdim=True)
    return known_or_not((alpha + eps) * front + (1 - alpha + eps) * behind, stage.unknown)


def unexplained(stage: Stage, behind: Tensor, row: int, column: int, cell: int) -> bool:
    """Whether a pixel of one cell is likelier nobody's than the background's, of densities `behind` (C, H, W)."""
    for y in range(row * cell, (row + 1) * cell):
        for x in range(column * cell, (column + 1) * cell):
            if stage.unknown > (1 - stage.unknown) * float(behind[:, y, x].prod()):
                return True
    return False


def as_evidence_sees(model, behind: Tensor, stage: Stage) -> Tensor:
    """Densities (C, H, W) that gains are taken over: `behind`, or its peak wherever it explains a pixel anyway."""
    if not stage.unexplained_only:
        return behind
    seen, sigma = behind.clone(), stage.background_sigma or model.config.background.sigma
    for y in range(behind.shape[1]):
        for x in range(behind.shape[2]):
            if (1 - stage.unknown) * float(behind[:, y, x].prod()) > stage.unknown:
                seen[:, y, x] = 1 / (sigma * math.sqrt(2 * math.pi)) ** (3 / len(behind))
    return seen


def presence_prior(stage: Stage, candidate: bool) -> float:
    """Of one cell, whether or not it is a candidate: whether the background leaves something of it unexplained."""
    if stage.explained_prior is None or candidate:
        return stage.presence_prior
    return min(stage.presence_prior, stage.explained_prior)


def iou(first: Tensor, second: Tensor) -> float:
    """Intersection over union of two boxes given as `where`, in which a width of 1 reaches from -1 to 1."""
    (w, h, x, y), (v, g, u, z) = first.tolist(), second.tolist()
    across = max(0.0, min(x + w, u + v) - max(x - w, u - v))
    down = max(0.0, min(y + h, z + g) - max(y - h, z - g))
    return across * down / (4 * w * h + 4 * v * g - across * down)


def those_that_give_way(logits: list[Tensor], wheres: list[Tensor], least: float) -> list[int]:
    """Cells speak up from the surest on, of equals the first; one stays unless it overlaps one that stays."""
    stay: list[int] = []
    for i in sorted(range(len(logits)), key=lambda i: -float(logits[i].detach())):
        if all(iou(wheres[i], wheres[j]) < least for j in stay):
            stay.append(i)
    return [i for i in range(len(logits)) if i not in stay]


def those_explored(turns: Tensor | None, here: list[bool], candidates: list[bool], most: int) -> list[int]:
    """Of one image's absent candidates those whose turn (N,) it is: the highest numbers, at most so many."""
    if turns is None:
        return []
    absent = [i for i in range(len(here)) if candidates[i] and not here[i]]
    return sorted(absent, key=lambda i: -float(turns[i]))[:most]


def teach(
    drawn: list[Drawn | None],
    presences: list[Tensor],
    logits: list[Tensor],
    priors: list[float],
    candidates: list[bool],
    costs: list[Tensor],
    likelihood: Callable[[Tensor, Tensor], Tensor],
    canvas: tuple[int, int],
) -> Tensor:
    """Ten times the cross-entropy of presence to its posterior given the others; explained cells are absent."""
    term = torch.zeros_like(logits[0])
    for i, one in enumerate(drawn):
        if one is not None:
            with torch.no_grad():
                present, absent = list(presences), list(presences)
                present[i], absent[i] = torch.ones_like(presences[i]), torch.zeros_like(presences[i])
                gain = likelihood(*lay(drawn, present, canvas)) - likelihood(*lay(drawn, absent, canvas))
                best = torch.sigmoid(gain - costs[i] + math.log(priors[i] / (1 - priors[i])))
            term = term - best * F.logsigmoid(logits[i]) - (1 - best) * F.logsigmoid(-logits[i])
        elif not candidates[i]:
            term = term - F.logsigmoid(-logits[i])
    return 10 * term


def foreground(  # noqa: PLR0915
    model: Space,
    images: Tensor,
    stage: Stage,
    chosen: Tensor | None,
    noise: dict[str, Tensor] | None,
    behind: Tensor,
    kept: Tensor | None = None,
    turns: Tensor | None = None,
):
    """Algorithm "Foreground Inference", with its KL terms and the boundary loss; `behind` are densities."""
    net, config = model.foreground, model.config.foreground
    rows, columns = config.grid
    cells, side, canvas = rows * columns, config.glimpse, (images.shape[2], images.shape[3])
    features = run_plain(net.encoder.enc, images)
    residual = run_plain(net.encoder.enc_lat, features)
    encoded = run_plain(net.encoder.enc_cat, torch.cat([features, residual], dim=1))
    heads = net.heads

    def read(head: nn.Module, b: int, i: int) -> Tensor:
        return head(encoded[b : b + 1, :, i // columns, i % columns, None, None])[0, :, 0, 0]

    def split(head: nn.Module, b: int, i: int) -> tuple[Tensor, Tensor]:
        mean, raw = read(head, b, i).chunk(2)
        return mean, F.softplus(raw)

    def mean_where(b: int, i: int) -> Tensor:
        scale, shift = split(heads.z_scale_net, b, i)[0], split(heads.z_shift_net, b, i)[0]
        return torch.cat([torch.sigmoid(scale), rescale(shift, i, rows, columns)])

    def draw(name: str, mean: Tensor, std: Tensor, *index: int) -> Tensor:
        return mean if noise is None else mean + std * noise[name][index]

    kernel = rim(side, images)
    names = ("alpha", "image", "mean", "boundary", "where", "presence", "weighed", "taught")
    out: dict[str, list[Tensor]] = {name: [] for name in names}
    kl: dict[str, list[Tensor]] = {"presence": [], "scale": [], "shift": [], "depth": [], "what": []}
    what_number = 0
    for b in range(len(images)):
        terms = {name: images.new_zeros(()) for name in kl}
        boundary, wheres, presences, shown = images.new_zeros(1, *canvas), [], [], []
        drawn, costs, weighed = [], [], []
        logits = [8.8 * torch.tanh(read(heads.z_pres_net, b, i)).view(()) for i in range(cells)]
        gone = []
        if config.give_way > 0:
            gone = those_that_give_way(logits, [mean_where(b, i).detach() for i in range(cells)], config.give_way)
            logits = [torch.full_like(logit, -8.8) if i in gone else logit for i, logit in enumerate(logits)]
        candidates = [unexplained(stage, behind[b], i // columns, i % columns, canvas[0] // rows) for i in range(cells)]
        priors = [presence_prior(stage, candidate) for candidate in candidates]
        here = [chosen is None or bool(chosen[b, i]) for i in range(cells)]
        heard = [candidate and i not in gone for i, candidate in enumerate(candidates)]
        explored = those_explored(None if turns is None else turns[b], here, heard, stage.explored_cells)
        for i, logit in enumerate(logits):
            depth_mean, depth_std = split(heads.z_depth_net, b, i)
            scale_mean, scale_std = split(heads.z_scale_net, b, i)
            shift_mean, shift_std = split(heads.z_shift_net, b, i)
            gumbel = 0 if noise is None else noise["presence"][b, i].log() - (1 - noise["presence"][b, i]).log()
            presence = torch.sigmoid((logit + gumbel) / stage.temperature)
            if stage.presence_by_evidence:
                presence = presence.detach()
            depth = draw("depth", depth_mean, depth_std, b, i)
            scale = torch.sigmoid(draw("scale", scale_mean, scale_std, b, i))
            shift = rescale(draw("shift", shift_mean, shift_std, b, i), i, rows, columns)
            where = torch.cat([scale, shift])
            wheres.append(where)
            presences.append(presence)
            shown.append(presence * here[i])  # explored ones are absent
            weighed.append(here[i] or i in explored)
            weight = shown[i] if config.presence_weighted_kl else 1.0
            if kept is None or bool(kept[b, i]):
                divergence = kl_divergence(Bernoulli(logits=logit), Bernoulli(logit.new_tensor(priors[i])))
                terms["presence"] = terms["presence"] + (
                    divergence.detach() if stage.presence_by_evidence else divergence
                )
            prior_scale = Normal(
                torch.full_like(scale, stage.scale_prior_mean), stage.scale_prior_std or config.scale_prior_std
            )
            standard = Normal(torch.zeros((), dtype=images.dtype), 1.0)
            own = {
                "scale": kl_divergence(Normal(scale_mean, scale_std), prior_scale).sum(),
                "shift": kl_divergence(Normal(shift_mean, shift_std), standard).sum(),
                "depth": kl_divergence(Normal(depth_mean, depth_std), standard).sum(),
            }
            if weighed[i]:
                frame = enlarged(where, config.margin)
                glimpse = spatial_transformer(images[b], frame, (side, side), inverse=False)
                mean, std = encode_glimpse(model, glimpse)
                what = mean if noise is None else mean + std * noise["what"][what_number]
                what_number += 1
                own["what"] = kl_divergence(Normal(mean, std), standard).sum()
                o, alpha = decode_glimpse(model, what)
                boundary = boundary + spatial_transformer(kernel * shown[i], frame, canvas, inverse=True)
            drawn.append((o, alpha, frame, depth) if weighed[i] else None)
            costs.append(sum(own.values()))
            for name, term in own.items():
                terms[name] = terms[name] + weight * term
        image, total_alpha = lay(drawn, shown, canvas)
        overlap = 1000 * boundary * total_alpha
        penalty = -Normal(torch.zeros((), dtype=images.dtype), 0.7).log_prob(overlap).sum() * stage.boundary_weight

        seen = as_evidence_sees(model, behind[b], stage)

        def likelihood(image: Tensor, alpha: Tensor, b: int = b, seen: Tensor = seen) -> Tensor:
            mean = mean_of(image, alpha, config.premultiplied)
            return log_pixels(model, images[b], mean, alpha, seen, stage).sum()

        out["alpha"].append(total_alpha)
        out["image"].append(image)
        out["mean"].append(mean_of(image, total_alpha, config.premultiplied))
        out["boundary"].append(penalty)
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


def plane(decoder: nn.Module, latent: Tensor, height: int, width: int) -> Tensor:
    """A picture (C, H, W) of a level and two slopes a channel, read off a latent (D,)."""
    rows, columns = (torch.linspace(-1, 1, side, dtype=latent.dtype) for side in (height, width))
    channels = (decoder.linear.weight @ latent + decoder.linear.bias).split(3)
    return torch.stack([level + right * columns[None, :] + down * rows[:, None] for level, right, down in channels])


def decode_component(model: Space, latents: Tensor) -> Tensor:
    """CompDecoder: a vector broadcast over a map 8 pixels larger, coordinates from -1 to 1, four valid convolutions.

    Or, as the config says, the strong decoder, planes of colour, or colours of a palette.
    """
    config = model.config.background
    decoder = model.background.component_decoder
    fraction = config.fraction
    height, width = (-(-side // fraction) for side in model.config.image_size)
    if getattr(config, "palette", False):
        colours = torch.stack([torch.sigmoid(decoder.linear.weight @ each + decoder.linear.bias) for each in latents])
        return colours[:, :, None, None].expand(-1, -1, *model.config.image_size)
    if config.strong_decoder:
        pictures = run_plain(decoder.dec, latents[:, :, None, None])[:, :, :height, :width]
    elif getattr(config, "plane", False):
        pictures = torch.stack([plane(decoder, latent, height, width) for latent in latents])
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
    stray = getattr(model.config.background, "stray", 0.0)
    return [(1 - stray) * mask + stray / len(latents) for mask in (*masks, left)]


def seen_colour(image: Tensor, mask: Tensor) -> Tensor:
    """The colour (C,) that a mask (H, W) sees most of in an image (C, H, W), pixel by pixel."""
    pixels = [(image[:, y, x], mask[y, x] + 1e-6) for y in range(mask.shape[0]) for x in range(mask.shape[1])]
    colours, weights = (torch.stack(each) for each in zip(*pixels, strict=True))  # (HW, C), (HW,)
    colour = (weights[:, None] * colours).sum(0) / weights.sum()
    for _ in range(3):
        near = torch.stack([w * torch.exp(-((pixel - colour) ** 2).sum() / (2 * 0.25**2)) for pixel, w in pixels])
        colour = (near[:, None] * colours).sum(0) / near.sum()
    return colour


def prior_chain(model: Space, latents: Callable[[int, Tensor, Tensor], Tensor], count: int) -> list[Normal]:
    """The priors of the masks; `latents(k, mean, std)` says which latent the chain goes on with."""
    prior = model.background.prior
    hidden, cell = prior.h.expand(count, -1), prior.c.expand(count, -1)
    latent, priors = model.background.z_mask_0.expand(count, -1), []
    for k in range(model.config.background.components):
        if k > 0 or not model.config.background.prior_from_state:
            hidden, cell = prior.rnn(latent, (hidden, cell))
        mean, raw = prior.predict(hidden).chunk(2, dim=-1)
        priors.append(Normal(mean, prior_std(model, raw)))
        latent = latents(k, mean, priors[-1].stddev)
    return priors


def prior_std(model: Space, raw: Tensor) -> Tensor:
    """The stdev of a prior: GENESIS's are at most about one."""
    bounded = getattr(model.config.background, "prior_std", "softplus") == "sigmoid"
    return 1 / (1 + torch.exp(-raw - 4)) + 1e-4 if bounded else F.softplus(raw) + 1e-4


def block_means(pictures: Tensor, side: int) -> Tensor:
    """Every block of side x side pixels becomes its mean."""
    count, channels, height, width = pictures.shape
    return pictures.reshape(count, channels, height // side, side, width // side, side).mean((3, 5))


def best_still(model: Space, image: Tensor, sigma: float) -> int:
    """Which still explains an image (C, H, W) best, a tenth of every pixel being nobody's."""
    fits = [
        float(known_or_not(Normal(picture, sigma).log_prob(image).exp(), 0.1).sum())
        for picture in model.background.pictures.detach()
    ]
    return fits.index(max(fits))


def background(
    model: Space, images: Tensor, noise: dict[str, Tensor] | None, sigma: float | None = None
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Algorithm "Background Inference", with its KL terms; a still comes before the components."""
    net, config = model.background, model.config.background
    sigma = sigma or config.sigma
    masks: list[Tensor] = []  # (B, 1, H, W) each
    pictures: list[Tensor] = []  # (B, C, H, W) each
    kl: dict[str, Tensor] = {}
    left = torch.ones_like(images[:, :1])  # what the still leaves
    stills = getattr(config, "stills", 0)
    if stills:
        numbers = [best_still(model, image, sigma) for image in images]
        drawn = torch.stack([net.pictures[number] for number in numbers])
        pictures.append(drawn.detach() if config.still_things == "objects" else drawn)
        share = left  # without components it takes all
        if config.components:
            share = torch.stack([torch.sigmoid(net.mask_logits[number]) for number in numbers])
        masks.append(share)
        left = 1 - share
        kl["still"] = torch.full_like(images[:, 0, 0, 0], stills).log()
    if config.components:
        components, shares, component_kl = infer_components(model, images, left, noise)
        pictures, masks, kl = pictures + components, masks + shares, kl | component_kl
    eps = model.config.mixture_epsilon
    densities = [Normal(picture, sigma).log_prob(images).exp() for picture in pictures]
    if getattr(config, "palette", False):  # of whole pixels
        densities = [density.prod(1, keepdim=True) for density in densities]
    density = sum((mask + eps) * density for mask, density in zip(masks, densities, strict=True))
    parts = {"masks": torch.stack(masks, dim=1), "means": torch.stack(pictures, dim=1), "log_density": density.log()}
    return parts, kl


def infer_components(
    model: Space, images: Tensor, left: Tensor, noise: dict[str, Tensor] | None
) -> tuple[list[Tensor], list[Tensor], dict[str, Tensor]]:
    """The components' pictures, and their masks in what is `left` (B, 1, H, W) for them."""
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
    masks = [left * mask for mask in decode_masks(model, latents)]
    # Batch norm in training sees all components at once, ordered image by image.
    inputs = torch.stack([torch.cat([torch.log(mask + 1e-5), images], dim=1) for mask in masks], dim=1).flatten(0, 1)
    inputs = block_means(inputs, config.input_fraction)
    mean, raw = run_plain(net.component_encoder, inputs).view(len(images), config.components, -1).chunk(2, dim=-1)
    if getattr(config, "palette", False):
        shrunk = block_means(images, config.input_fraction)
        shares = [block_means(mask, config.input_fraction)[:, 0].detach() for mask in masks]
        seen = [[seen_colour(image, share) for share in each] for image, *each in zip(shrunk, *shares, strict=True)]
        colours = torch.stack([torch.stack(row) for row in seen]).clamp(0.02, 0.98)  # (B, K, C)
        mean = torch.cat([mean[..., :3] + torch.log(colours / (1 - colours)), mean[..., 3:]], dim=-1)
    std = F.softplus(raw) + 1e-4
    component = mean if noise is None else mean + std * noise["component"]
    means = decode_component(model, component.flatten(0, 1)).view(len(images), config.components, 3, *images.shape[2:])
    priors = prior_chain(model, lambda k, mean, std: latents[k], len(images))
    kl = {"mask": images.new_zeros(len(images)), "component": images.new_zeros(len(images))}
    for k in range(config.components):
        kl["mask"] = kl["mask"] + kl_divergence(posteriors[k], priors[k]).sum(1)
        prior_mean, prior_raw = run_plain(net.component_prior, latents[k]).chunk(2, dim=-1)
        prior = Normal(prior_mean, prior_std(model, prior_raw))
        kl["component"] = kl["component"] + kl_divergence(Normal(mean[:, k], std[:, k]), prior).sum(1)
    return list(means.unbind(1)), masks, kl


def bound_of_the_background(density: Tensor, kl: dict[str, Tensor], stage: Stage) -> Tensor:
    """The bound (B,) of images without any objects, from the densities (B, C, H, W) of their background."""
    return known_or_not(density, stage.unknown).flatten(1).sum(1) - sum(kl.values())


def over_the_background(
    model, images: Tensor, front: dict[str, Tensor], density: Tensor, front_kl, back_kl, stage: Stage
) -> dict[str, Tensor]:
    """The terms of objects over a background of densities (B, C, H, W)."""
    loss = front["boundary"] + front["taught"]
    if stage.own_background:
        loss = loss - bound_of_the_background(density, back_kl, stage)
        density, back_kl = density.detach(), {name: term.detach() for name, term in back_kl.items()}
    alpha = front["alpha"]
    if stage.fixed_alpha is not None:
        alpha = torch.full_like(alpha, stage.fixed_alpha)
    log_likelihood = log_pixels(model, images, front["mean"], alpha, density, stage).flatten(1).sum(1)
    kl = front_kl | back_kl
    return {
        "log_likelihood": log_likelihood,
        "loss": loss - log_likelihood + sum(kl.values()),
        "foreground": front["image"],
        "mean": front["mean"],
        "alpha": front["alpha"],
        "weight": alpha,
        "boundary": front["boundary"],
        "where": front["where"],
        "presence": front["presence"],
        "weighed": front["weighed"],
        "taught": front["taught"],
        **{f"kl_{name}": term for name, term in kl.items()},
    }


def space(
    model: Space,
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
    back, back_kl = background(model, images, noise, stage.background_sigma)
    density, behind = back["log_density"].exp(), (back["masks"] * back["means"]).sum(1)
    front, front_kl = foreground(model, images, stage, chosen, noise, density.detach(), kept, turns)
    terms = over_the_background(model, images, front, density, front_kl, back_kl, stage)
    return terms | {
        "reconstruction": terms["weight"] * terms["mean"] + (1 - terms["weight"]) * behind,
        "background": behind,
        "masks": back["masks"],
        "means": back["means"],
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
