"""How far OCAtari's two modes agree: counted with every image, summed up for every game."""

from collections.abc import Iterable, Mapping
from typing import Any

from objectspace.data.atari.truth import ScreenTruth
from objectspace.data.sample import Attribute
from objectspace.io.files import Json

_COMPARED = ("ram_objects", "vision_objects", "agreed")


def attributes_of(truth: ScreenTruth) -> dict[str, Attribute]:
    """What is noted with an image: see `ScreenTruth`. A mode that failed has null."""
    return {"ram_objects": truth.ram, "vision_objects": truth.vision, "agreed": truth.agreed, "alone": truth.alone}


def rates(records: Iterable[Json]) -> dict[str, Json]:
    """Game by game: the sums of the images' counts, and how many objects both modes see of those that either sees.

    That is `rate`, over the `compared` images on which both modes worked, in the categories that both know; null where
    there is nothing to compare. `modes` tells which modes worked on at least one image.
    """
    games: dict[str, Json] = {}
    for record in records:
        image: Mapping[str, Any] = record["image"]
        worked = [mode for mode in ("ram", "vision") if image[f"{mode}_objects"] is not None]
        start: Json = {"modes": []} | dict.fromkeys(("images", "compared", *_COMPARED, "objects", "alone"), 0)
        game = games.setdefault(image["game"], start)
        game["modes"] = sorted({*game["modes"], *worked})
        game["images"] += 1
        game["objects"] += len(record["objects"])
        game["alone"] += image["alone"]
        if len(worked) == 2:
            game["compared"] += 1
            for key in _COMPARED:
                game[key] += image[key]
    for game in games.values():
        either = game["ram_objects"] + game["vision_objects"] - game["agreed"]
        game["rate"] = round(game["agreed"] / either, 4) if either else None
    return games
