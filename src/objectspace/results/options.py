"""What can be asked of `objectspace decompose`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from objectspace.labels.names import Labels


@dataclass(frozen=True)
class DecomposeOptions:
    """What is wanted beyond `annotations.json` and `scenes/`."""

    threshold: float = 0.5
    batch: int = 16
    price: float | None = None  # nats that an object must be worth for each of its pixels; None: the model's own
    leftovers: bool = True  # whether what a model finds and cannot draw is there
    overlays: bool = True
    crops: bool = False
    masks: bool = False
    pictures: bool = False  # the background and all pictures in every scene's file
    report_images: int = 200  # how many images the page shows; 0: no page
    latents: Path | None = None
    label_studio: Path | None = None
    csv: Path | None = None
    gif: Path | None = None
    fps: float = 15  # what an Atari game shows at the usual frame skip of 4
    scale: float | None = None  # of the GIF; None enlarges small images
    yolo: bool = False
    tile: bool = False  # whether images are looked at in tiles, whatever the model's view says
    tile_scale: float | None = None  # how many times their size; None: the view's, or as they are
    labels: Labels | None = None
    strict: bool = False

    def settings(self) -> dict[str, Any]:
        """What must stay the same for a directory to be continued."""
        given = {name: getattr(self, name) for name in ("overlays", "crops", "masks", "pictures")}
        labels = None if self.labels is None else self.labels.fingerprint
        chosen = {"--threshold": self.threshold, "--price": self.price, "--labels": labels}
        chosen["--no-leftovers"] = not self.leftovers
        if self.tile:  # directories of before know nothing of it
            chosen |= {"--tile": True, "--tile-scale": self.tile_scale}
        return chosen | {f"--{name}": each for name, each in given.items()}
