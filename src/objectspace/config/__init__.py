"""Typed recipes: everything that decides a training run, read from TOML and checked.

Gives frozen pydantic records. The defaults are the paper's values (its 16 x 16 model, its tables), so a recipe file
holds only what differs. Reading, overriding and printing recipes is in `recipe_files.py`.
"""

from objectspace.config.anneal import Anneal, Stage
from objectspace.config.background import Background, Behind, StillBackground
from objectspace.config.base import Layers, ModelConfig, Section
from objectspace.config.genesis import Geco, Genesis
from objectspace.config.grid import Foreground, GridConfig, Init
from objectspace.config.iodine import Iodine
from objectspace.config.phases import Phases
from objectspace.config.recipe import Data, Optimiser, Recipe, Training
from objectspace.config.space import Space
from objectspace.config.spair import PatchBackground, SequentialConfig, SingleBackground, Spair, SpairP

__all__ = [
    "Anneal",
    "Background",
    "Behind",
    "Data",
    "Foreground",
    "Geco",
    "Genesis",
    "GridConfig",
    "Init",
    "Iodine",
    "Layers",
    "ModelConfig",
    "Optimiser",
    "PatchBackground",
    "Phases",
    "Recipe",
    "Section",
    "SequentialConfig",
    "SingleBackground",
    "Space",
    "Spair",
    "SpairP",
    "Stage",
    "StillBackground",
    "Training",
]
