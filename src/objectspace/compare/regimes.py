"""How each kind of model trains when it is compared: by the recipe that says how its authors train it.

A model of another architecture than the recipe's (another grid, other images) keeps all else of it: how exactly it must
draw, whether it has GECO, its schedules, optimisers and clipping. Kinds without a recipe here, as models in users' own
files are, train by the defaults.
"""

from objectspace.config import ModelConfig
from objectspace.config.base import fill_in
from objectspace.recipes import files as recipe_files
from objectspace.recipes.recipe import Recipe

OWN = {
    "space": "space-rooms-large",
    "spair": "spair-rooms-large",
    "spair-p": "spair-p-rooms-small",
    "genesis": "genesis-rooms-small",
    "iodine": "iodine-rooms-small",
}


def regime(kind: str) -> Recipe:
    """The recipe by which a kind of model trains; of its model only what is not the architecture counts."""
    return recipe_files.load(OWN[kind]) if kind in OWN else Recipe()


def in_its_regime(config: ModelConfig) -> ModelConfig:
    """A model with what its recipe says of models, where the config itself says nothing."""
    if config.kind not in OWN:
        return config
    own = regime(config.kind).model.model_dump(mode="json", exclude_unset=True)
    return type(config).model_validate(fill_in(own, config.model_dump(mode="json", exclude_unset=True)))
