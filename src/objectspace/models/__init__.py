"""Models: make one (`create`), keep it (`save_pretrained`), get it back (`load`, `from_pretrained`)."""

from objectspace.config import Anneal, ModelConfig
from objectspace.models.base import Output, SceneModel
from objectspace.models.genesis import Genesis
from objectspace.models.iodine import Iodine
from objectspace.models.official import import_official
from objectspace.models.pretrained import from_pretrained, load, save_pretrained
from objectspace.models.space import Space
from objectspace.models.spair import Spair, SpairP


def create(config: ModelConfig, anneal: Anneal | None = None, seed: int = 0) -> SceneModel:
    """A fresh model of the config's kind, started at the priors with which `anneal` begins."""
    return SceneModel.by_config[type(config)].create(config, anneal, seed)


__all__ = [
    "Genesis",
    "Iodine",
    "Output",
    "SceneModel",
    "Space",
    "Spair",
    "SpairP",
    "create",
    "from_pretrained",
    "import_official",
    "load",
    "save_pretrained",
]
