"""Named widths of the nets: the paper's are for a GPU, a laptop has narrower ones.

A preset holds only defaults: whatever a recipe says itself stays. A step of the laptop's nets costs about a third of
the paper's; docs/results.md says what they reach.
"""

from collections.abc import Mapping
from typing import Any, Literal

Width = Literal["paper", "laptop"]

_FOREGROUND = {
    "what_dim": 16,
    "encoder": {"channels": (16, 32, 64, 64, 64, 64), "groups": (4, 8, 8, 8, 8, 8)},
    "residual": {"channels": (64, 64), "groups": (8, 8)},
    "residual_encoder": {"channels": (64,), "groups": (8,)},
    "glimpse_encoder": {"channels": (16, 32, 32, 64, 64, 128), "groups": (4, 8, 4, 8, 8, 16)},
    "glimpse_decoder": {"channels": (128, 64, 64, 32, 16), "groups": (16, 8, 8, 8, 4)},
}

LAPTOP: Mapping[str, Mapping[str, Any]] = {
    "space": {
        "foreground": _FOREGROUND,
        "background": {
            "mask_dim": 16,
            "component_dim": 8,
            "fraction": 4,
            "input_fraction": 2,
            "encoder_channels": (32, 32, 32, 32),
            "mask_decoder": {"channels": (64, 64, 32, 32, 16), "groups": (8, 8, 8, 8, 4)},
            "component_encoder_channels": (16, 16, 32, 32),
            "component_decoder_channels": (16, 16, 16),
        },
    },
    "spair": {
        "foreground": _FOREGROUND,
        "background": {
            "dim": 16,
            "fraction": 2,
            "input_fraction": 2,
            "encoder_channels": (32, 32, 32, 32),
            "decoder": {"channels": (64, 64, 32, 32, 16), "groups": (8, 8, 8, 8, 4)},
        },
    },
    "spair-p": {
        "foreground": _FOREGROUND,
        "background": {
            "dim": 8,
            "encoder": {"channels": (16, 16, 32, 32, 32), "groups": (4, 4, 8, 8, 4)},
            "decoder": {"channels": (64, 32, 32, 16), "groups": (8, 8, 8, 4)},
        },
    },
}


def with_width(content: Mapping[str, Any], width: str, kind: str) -> dict[str, Any]:
    """A model's table with the preset's values where it has none of its own; the paper's width changes nothing."""
    return fill_in(LAPTOP.get(kind, {}), content) if width == "laptop" else dict(content)


def fill_in(defaults: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """A table with values for what it does not say itself, in its tables too."""
    merged = dict(defaults) | dict(content)
    for key in defaults.keys() & content.keys():
        if isinstance(defaults[key], Mapping) and isinstance(content[key], Mapping):
            merged[key] = fill_in(defaults[key], content[key])
    return merged
