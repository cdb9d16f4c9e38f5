"""SPACE, in the order the data flows: encoder, cells, glimpses, foreground; background; space; scenes."""

from objectspace.models.space.space import Space, SpaceOutput

__all__ = ["Space", "SpaceOutput"]
