"""A section: what recipes are made of."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A part of a recipe: frozen, and an unknown key is an error, as is a number that is not finite."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, arbitrary_types_allowed=True, allow_inf_nan=False
    )
