"""objectspace: take scenes apart into objects, without labels."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from objectspace.models.base import SceneModel

__version__ = "0.1.0"


def load(name_or_directory: str | Path) -> "SceneModel":
    """A trained model, ready to `decompose` images: by the folder it was saved in, or by the name of a shipped one."""
    from objectspace.models.pretrained import load as load_model  # torch is loaded only when a model is

    return load_model(name_or_directory)
