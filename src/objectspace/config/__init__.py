"""What recipes are made of: checked sections, what every model's config has, and what changes while a model trains.

Gives frozen pydantic records; the defaults are the paper's values. Each model's own config stands beside the model, and
`recipes/recipe.py` puts a whole recipe together.
"""

from objectspace.config.anneal import Anneal, Stage
from objectspace.config.base import Layers, ModelConfig
from objectspace.config.section import Section
from objectspace.config.view import View

__all__ = ["Anneal", "Layers", "ModelConfig", "Section", "Stage", "View"]
