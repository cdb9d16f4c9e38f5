"""Models whose steps take a moment, as tables of a recipe: for SPACE, and what is behind the objects of SPAIR."""

TINY = {
    "model": {
        "image_size": 32,
        "foreground": {
            "grid": 4,
            "glimpse": 8,
            "what_dim": 4,
            "budget": 4,
            "encoder": {"channels": [4] * 6, "groups": [2] * 6},
            "residual": {"channels": [4], "groups": [2]},
            "residual_encoder": {"channels": [4], "groups": [2]},
            "glimpse_encoder": {"channels": [4] * 6, "groups": [2] * 6},
            "glimpse_decoder": {"channels": [4, 4], "groups": [2, 2]},
        },
        "background": {
            "components": 2,
            "fraction": 4,
            "mask_dim": 4,
            "component_dim": 4,
            "hidden": 4,
            "encoder_dim": 4,
            "encoder_channels": [4] * 4,
            "mask_decoder": {"channels": [4] * 6, "groups": [2] * 6},
            "component_encoder_channels": [4] * 4,
            "component_decoder_channels": [4],
        },
    },
    "training": {"steps": 12, "batch": 4, "log_every": 1, "validate_every": 6, "validate_images": 4, "save_every": 4},
}
SINGLE = {
    "dim": 4,
    "encoder_dim": 4,
    "fraction": 4,
    "encoder_channels": [4] * 4,
    "decoder": {"channels": [4] * 6, "groups": [2] * 6},
}
