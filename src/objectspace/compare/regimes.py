"""How each kind of model trains when it is compared: by the recipe that says how its authors train it.

A model of another architecture than the recipe's (another grid, other images) keeps all else of it: how exactly it must
draw, whether it has GECO, its schedules, optimisers and clipping. A kind's config says which recipe that is
(`own_recipe`); kinds that name none train by the defaults.
"""

from objectspace.config import ModelConfig
from objectspace.config.base import fill_in
from objectspace.recipes import files as recipe_files
from objectspace.recipes.recipe import Recipe


def regime(kind: str) -> Recipe:
    """The recipe by which a kind of model trains; of its model only what is not the architecture counts."""
    own = ModelConfig.kinds[kind].own_recipe
    return Recipe() if own is None else recipe_files.load(own)


def in_its_regime(config: ModelConfig) -> ModelConfig:
    """A model with what its recipe says of models, where the config itself says nothing."""
    if config.own_recipe is None:
        return config
    own = regime(config.kind).model.model_dump(mode="json", exclude_unset=True, exclude={"kind"})
    return type(config).model_validate(fill_in(own, config.model_dump(mode="json", exclude_unset=True)))
