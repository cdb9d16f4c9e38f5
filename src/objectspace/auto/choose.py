"""From what was seen to a recipe: resolution, grid, priors, budget, sigmas, steps. Every choice with its reason.

Sizes are of objects, as sides in pixels of the pictures; a model wants them between 12 and 24 of its own pixels.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from objectspace.auto.look import Look, view_of
from objectspace.auto.sizes import Sizes
from objectspace.models.parts.settings import SpaceBackgroundConfig

Table = dict[str, Any]
WANTED, LEAST, MOST = 16.0, 11.0, 30.0  # pixels of the model that an object should have, and may have whole pictures
TILE = 128  # the side of a model that looks at tiles
UNIT = 32  # sides of a model are multiples of it
SIDES = (64, 160)  # of a model that looks at whole pictures, at least and at most
FINEST = 2.0  # pictures are enlarged so many times at most
UNKNOWN = 0.1
SHARPEST, WIDEST = 0.03, 0.1  # sigmas
BATCH = (4, 12)  # images of a step, at least and at most ...
IN_BATCH = 160  # ... with room for so many objects in all
PLAIN: Table = {
    "components": 1,
    "stills": 0,
    "flat": False,
    "plane": False,
    "palette": False,
    "stray": 0.0,
    "strong_decoder": False,
    "still_things": "background",
}
BACKGROUNDS: Mapping[str, Table] = {
    "one colour an image": PLAIN | {"palette": True},  # read off the image: nothing has to be learned
    "one plane of colour an image": PLAIN | {"plane": True},
    "one still": PLAIN | {"components": 0, "stills": 1},
    "several colours an image": PLAIN | {"components": 5, "palette": True, "stray": 0.02},
    "one smooth component": PLAIN,
}  # as the ladder has them (`training/rungs.py`)
PLAN = {"warm": 400, "objects": 800, "sharpen": 600}  # steps of a training with time enough, and of its background:
BACKGROUND = {"still": 50, "one colour": 60, "plane": 200, "several colours": 300, "": 500}
PHASES = ("background", "warm", "objects", "sharpen")
SHORTEST = {"background": 150, "warm": 80, "objects": 80, "sharpen": 40}


@dataclass(frozen=True)
class Choices:
    """A recipe's values as tables, and why each is what it is."""

    table: Table
    reasons: Mapping[str, str] = field(default_factory=dict)


def resolution(seen: Look, found: Sizes) -> tuple[Table, str]:
    """`image_size` and `view.scale` of a model for such objects, and why.

    Whole pictures where a typical object has pixels enough then, tiles at a scale where it has not.
    """
    width, height = seen.sizes[0][:2]
    longer, own = max(width, height), found.side
    mixed = len({(round(w / h, 1)) for w, h, _ in seen.sizes}) > 1  # of several shapes: resized whole they are bent
    wanted = WANTED * longer / own  # the model's longer side, for an object of WANTED pixels
    fits = LEAST * longer / own <= SIDES[1]
    if fits and not mixed:
        side = float(np.clip(wanted, SIDES[0], TILE if LEAST * longer / own <= TILE else SIDES[1]))
        side = min(side, max(SIDES[0], FINEST * longer))
        size = [_unit(side * height / longer), _unit(side * width / longer)]
        seen_as = own * max(size) / longer
        return {"image_size": size}, f"objects of {own:.0f} pixels are {seen_as:.0f} of the model's in whole pictures"
    scale = min(FINEST, WANTED / own)
    return {"image_size": [TILE, TILE], "view": {"scale": round(scale, 3)}}, (
        f"objects of {own:.0f} pixels would be {own * TILE / longer:.0f} in whole pictures: tiles at {scale:.2g} times "
        f"the size have them at {own * scale:.0f}"
    )


def _unit(side: float) -> int:
    return max(UNIT, UNIT * round(side / UNIT))


def model_scale(seen: Look, image: Table) -> float:
    """How many of the model's pixels one of the picture's is."""
    scale = image.get("view", {}).get("scale", 0.0)
    return float(scale or max(image["image_size"]) / seen.side)


def share_of_picture(seen: Look, image: Table) -> float:
    """How much of a picture an image of the model's size shows, in tiles; 1 for whole pictures."""
    if not image.get("view", {}).get("scale", 0.0):
        return 1.0
    (width, height), scale = seen.sizes[0][:2], image["view"]["scale"]
    return float(min(1.0, image["image_size"][0] * image["image_size"][1] / (width * height * scale**2)))


def background(name: str) -> Table:
    """A ground that `behind.py` or the ladder names, as values of `model.background`."""
    return dict(BACKGROUNDS[name])


def kind_of(background: SpaceBackgroundConfig) -> Table:
    """The values of a background that decide what kind it is."""
    values = background.model_dump(mode="json")
    return {key: values[key] for key in PLAIN}


def sigma_for(contrast: float, noise: float, grey: bool) -> float:
    """The background's sigma with which half of an object's contrast is beyond what it explains; above the noise."""
    reach = 0.5 * contrast * math.sqrt(3 if grey else 1.7)  # over the channels, of which three or about two differ
    sigma = WIDEST
    while sigma > SHARPEST and unknown_from(sigma) > reach:
        sigma -= 0.005
    return round(float(np.clip(max(sigma, 1.2 * noise), SHARPEST, WIDEST)), 3)


def unknown_from(sigma: float) -> float:
    """How far a pixel must be from a background, over its three channels, to be rather nobody's."""
    return sigma * math.sqrt(2 * max(0.0, math.log(1 / UNKNOWN - 1) - 3 * math.log(sigma * math.sqrt(2 * math.pi))))


def model(seen: Look, found: Sizes, contrast: float, noise: float, background: Table, image: Table) -> Choices:
    """All of a recipe but its steps, at a `resolution`.

    `found` is of objects in the pictures' own pixels, counted in whole pictures.
    """
    scale, size = model_scale(seen, image), image["image_size"]
    side = found.side * scale
    share = share_of_picture(seen, image)
    cell = 8 if side < 22 else 16
    objects = found.most * share
    if share < 1:  # tiles differ in how many they show
        objects = min(found.most, objects + 1.5 * math.sqrt(objects))
    cells = size[0] * size[1] // cell**2
    budget = int(np.clip(1.3 * objects + 4, 8, min(64, cells)))
    sigma = sigma_for(contrast, noise, seen.grey)
    price = 25.0 if side < 9 else 46.0
    spread = float(np.clip(1.15 * found.spread, 0.2, 0.6))
    phases = {
        "size": round(float(np.clip(side / math.sqrt(size[0] * size[1]), 0.02, 0.6)), 4),
        "spread": round(spread, 3),
        "price": price,
    }
    table: Table = {
        "about": "SPACE, as chosen by looking at the pictures",
        "source": "ours: objectspace train auto",
        "model": {
            "width": "laptop",
            "image_size": size,
            "view": view_of(seen) | image.get("view", {}),
            "foreground": {
                "grid": [size[0] // cell, size[1] // cell],
                "glimpse": 16 if side >= 9 else 8,
                "budget": budget,
                "sigma": round(max(0.05, sigma), 3),
            },
            "background": {"sigma": sigma} | background,
        },
        "phases": phases,
        "training": {
            "batch": int(np.clip(IN_BATCH // budget, *BATCH)),
            "validate_images": 24,
            "background_repeats": 0,  # the time has no room for it
        },
    }
    kinds = f", of two kinds, {found.kinds[0]:.0f} and {found.kinds[1]:.0f}" if found.kinds else ""
    return Choices(
        table,
        {
            "phases.size": f"a typical object has {side:.0f} of {max(size)} pixels{kinds}",
            "phases.spread": f"nine of ten are between {found.smallest:.0f} and {found.largest:.0f} pixels, or so",
            "phases.price": "few pixels to explain" if side < 9 else "the usual one",
            "model.foreground.grid": f"cells of {cell} pixels for objects of {side:.0f}",
            "model.foreground.budget": f"the fullest pictures hold about {found.most:.0f}, one view {objects:.0f}",
            "model.background.sigma": f"objects differ by {contrast:.2f}, the ground by {noise:.3f}",
        },
    )


def steps(background: Table, seconds: float, cost: Mapping[str, float]) -> tuple[dict[str, int], float]:
    """The steps of each phase for so many seconds, given what a step of each costs, and the share of a full plan."""
    plan = {"background": _of_background(background)} | PLAN
    share = min(1.0, seconds / sum(count * cost[name] for name, count in plan.items()))
    return {name: min(count, max(SHORTEST[name], round(share * count))) for name, count in plan.items()}, share


def _of_background(background: Table) -> int:
    if background.get("stills") and not background.get("components"):
        return BACKGROUND["still"]
    if background.get("palette"):
        return BACKGROUND["one colour" if background.get("components") == 1 else "several colours"]
    return BACKGROUND["plane" if background.get("flat") or background.get("plane") else ""]
