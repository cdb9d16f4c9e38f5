"""Reading a published SPACE checkpoint.

The file is a torch pickle with the weights under `model`; it is read with `weights_only=True`. Grid, glimpse and latent
sizes follow from the tensors' shapes; the number of components is not in the file, only whether it is one: then the
published code has another decoder. The model that comes out computes what the published code computes: KL not weighted
by presence, 1e-5 added to mixing weights, a mask's prior read off before its predecessor enters the LSTM.
"""

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import ValidationError
from torch import Tensor

from objectspace.config import Stage
from objectspace.errors import UserError
from objectspace.models.space import Space, SpaceConfig

_ORDER = (  # published name, ours; the first that fits is taken
    ("fg_module.img_encoder.enc.", "foreground.encoder.enc."),
    ("fg_module.img_encoder.enc_lat.", "foreground.encoder.enc_lat."),
    ("fg_module.img_encoder.enc_cat.", "foreground.encoder.enc_cat."),
    ("fg_module.img_encoder.z_", "foreground.heads.z_"),
    ("fg_module.z_what_net.", "foreground.glimpse_encoder."),
    ("fg_module.glimpse_dec.", "foreground.glimpse_decoder."),
    ("bg_module.rnn_mask_h_prior", "background.prior.h"),
    ("bg_module.rnn_mask_c_prior", "background.prior.c"),
    ("bg_module.rnn_mask_prior.", "background.prior.rnn."),
    ("bg_module.predict_mask_prior.fc.", "background.prior.predict."),
    ("bg_module.rnn_mask_h", "background.posterior.h"),
    ("bg_module.rnn_mask_c", "background.posterior.c"),
    ("bg_module.rnn_mask.", "background.posterior.rnn."),
    ("bg_module.predict_mask.fc.", "background.posterior.predict."),
    ("bg_module.z_mask_0", "background.z_mask_0"),
    ("bg_module.image_enc.enc.", "background.image_encoder."),
    ("bg_module.mask_decoder.", "background.mask_decoder."),
    ("bg_module.comp_encoder.enc.", "background.component_encoder."),
    ("bg_module.comp_decoder.", "background.component_decoder."),
    ("bg_module.predict_comp_prior.mlp.", "background.component_prior."),
)
_SIDE = 128  # of an image: the published mask decoder enlarges 1 x 1 by 4, 2, 4 and 4, whatever the settings
_DECODER, _STRONG_DECODER = "bg_module.comp_decoder.decoder.", "bg_module.comp_decoder.dec."  # of several, of one
SCALE_PRIOR_STD = 0.1  # what the published code constructs unless told otherwise
_CONSTANTS = ("fg_module.tau", "fg_module.prior_", "fg_module.img_encoder.offset", "fg_module.boundary_filter.")


def import_official(
    path: str | Path,
    components: int = 5,
    channels: Literal["rgb", "bgr"] = "rgb",
    sigmas: tuple[float, float] = (0.15, 0.15),
    final: Stage | None = None,
) -> Space:
    """The model of a published checkpoint, in evaluation mode.

    What the file does not hold comes as arguments: the number of components (unless it is one), the channel order it
    was trained with, the standard deviations of foreground and background pixels, and the annealed values at the end.
    """
    weights = _read(Path(path))
    components = _components(weights, components, path)
    config = _infer_config(weights, components, channels, sigmas, path)
    renamed = {_rename(name): value for name, value in weights.items() if not name.startswith(_CONSTANTS)}
    with torch.device("meta"):  # shapes only: no memory, whatever the file asks for
        _check(renamed, Space(config).state_dict(), path)
    model = Space(config, final)
    model.load_state_dict(renamed)
    return model.eval()


def _read(path: Path) -> dict[str, Tensor]:
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise UserError(f"there is no checkpoint {path}") from error
    except OSError as error:
        raise UserError(f"the checkpoint {path} cannot be read: {error}") from error
    except Exception as error:  # a damaged pickle fails in any way: struct.error, IndexError, AssertionError ...
        # Not torch's own words: they advise to run whatever code the file holds.
        raise UserError(f"{path} is no torch checkpoint, is damaged, or holds more than tensors") from error
    weights = content.get("model") if isinstance(content, Mapping) else None
    if not isinstance(weights, Mapping):
        raise UserError(f"{path} is no published SPACE checkpoint: it holds no weights under the key 'model'")
    if not all(isinstance(name, str) and _is_plain(value) for name, value in weights.items()):
        raise UserError(f"{path} is no published SPACE checkpoint: what lies under 'model' is not all plain tensors")
    return {name.removeprefix("module."): value for name, value in weights.items()}


def _is_plain(value: object) -> bool:
    """Real numbers in memory: nothing sparse, quantised, complex or without content."""
    return (
        isinstance(value, Tensor)
        and value.layout == torch.strided
        and value.device.type == "cpu"
        and not (value.is_quantized or value.is_complex())
    )


def _components(weights: Mapping[str, Tensor], components: int, path: str | Path) -> int:
    """How many components: the file tells one from several by its decoder, but not how many."""
    if any(name.startswith(_STRONG_DECODER) for name in weights):
        return 1
    if components == 1 and any(name.startswith(_DECODER) for name in weights):
        raise UserError(
            f"{path} holds a SPACE of several background components: its decoder is not the one that the published "
            "code builds for one. Give the number it was trained with (its setting K)"
        )
    return components


def _infer_config(
    weights: Mapping[str, Tensor],
    components: int,
    channels: Literal["rgb", "bgr"],
    sigmas: tuple[float, float],
    path: str | Path,
) -> SpaceConfig:
    size = partial(_size, weights, path)
    side = 16 * math.isqrt(size("bg_module.image_enc.enc.13.weight", 1) // size("bg_module.image_enc.enc.9.weight", 0))
    if side != _SIDE:
        raise UserError(
            f"{path}: its background reads images of {side} x {side} pixels, but the published masks are always "
            f"{_SIDE} x {_SIDE}"
        )
    content: dict[str, Any] = {
        "image_size": side,
        "channels": channels,
        "mixture_epsilon": 1e-5,
        "foreground": {
            "grid": (size("fg_module.img_encoder.offset", 1), size("fg_module.img_encoder.offset", 2)),
            "glimpse": size("fg_module.boundary_filter.weight", 3),
            "what_dim": size("fg_module.z_what_net.enc_what.weight", 0) // 2,
            "sigma": sigmas[0],
            "scale_prior_std": _one_value(_find(weights, path, "fg_module.prior_scale_std"), SCALE_PRIOR_STD),
            "presence_weighted_kl": False,
        },
        "background": {
            "components": components,
            "sigma": sigmas[1],
            "mask_dim": size("bg_module.z_mask_0", 0),
            "component_dim": size("bg_module.comp_encoder.enc.13.weight", 0) // 2,
            "encoder_dim": size("bg_module.image_enc.enc.13.weight", 0),
            "hidden": size("bg_module.rnn_mask_h", 0),
            "prior_from_state": True,
            "strong_decoder": components == 1,
        },
    }
    try:
        return SpaceConfig.model_validate(content)
    except ValidationError as error:
        reasons = "; ".join(f"{'.'.join(map(str, issue['loc']))} {issue['msg']}" for issue in error.errors())
        raise UserError(f"{path}: its shapes make no SPACE model: {reasons}") from error


def _find(weights: Mapping[str, Tensor], path: str | Path, name: str) -> Tensor:
    if name not in weights:
        raise UserError(f"{path} is no published SPACE checkpoint: the tensor {name!r} is missing")
    return weights[name]


def _size(weights: Mapping[str, Tensor], path: str | Path, name: str, axis: int) -> int:
    shape = tuple(_find(weights, path, name).shape)
    if axis >= len(shape) or 0 in shape:
        raise UserError(f"{path} is no published SPACE checkpoint: its tensor {name!r} has the shape {shape}")
    return shape[axis]


def _one_value(constant: Tensor, otherwise: float) -> float:
    """The value of a constant that the file holds for several axes; `otherwise` if they make no sense together."""
    values = constant.flatten().tolist()
    sensible = len(set(values)) == 1 and math.isfinite(values[0]) and values[0] > 0
    return float(values[0]) if sensible else otherwise


def _rename(name: str) -> str:
    for published, ours in _ORDER:
        if name.startswith(published):
            return ours + name.removeprefix(published)
    return name


def _check(given: Mapping[str, Tensor], expected: Mapping[str, Tensor], path: str | Path) -> None:
    missing, extra = sorted(expected.keys() - given.keys()), sorted(given.keys() - expected.keys())
    if missing or extra:
        raise UserError(
            f"{path} does not hold the published SPACE model: "
            f"missing {_some(missing)}; unknown {_some(extra)} (names as in our format)"
        )
    for name, value in expected.items():
        if given[name].shape != value.shape:
            raise UserError(f"{path}: {name} is {tuple(given[name].shape)}, but should be {tuple(value.shape)}")


def _some(names: list[str]) -> str:
    return (", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")) or "nothing"
