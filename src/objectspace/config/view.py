"""How a picture reaches a model: its brightness stretched or as it is, resized whole or looked at in tiles.

Part of every model's config, so that training and taking apart see the same; `io/view.py` does what is said here.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from objectspace.config.section import Section

_RANGES = {"none": (0.0, 1.0), "each": (1.0, 99.7), "all": (0.0, 1.0)}  # low and high where nothing is said


class View(Section):
    """What is done to a picture before a model sees it; nothing by default, but that it is resized to the model's size.

    >>> View(stretch="each").high
    99.7
    """

    scale: Annotated[float, Field(ge=0, le=16)] = 0.0  # 0: resized whole; above: times this, and looked at in tiles
    stretch: Literal["none", "each", "all"] = "none"  # each picture by its own percentiles, or all by the same values
    low: Annotated[float, Field(ge=0)] = 0.0  # becomes black: for each a percentile in percent, ...
    high: Annotated[float, Field(le=100)] = 1.0  # ... for all a fraction of the full range; this becomes white
    gamma: Annotated[float, Field(gt=0, le=10)] = 1.0  # brightness, 0 to 1, to this power: below 1 dark gets lighter

    @model_validator(mode="before")
    @classmethod
    def _fill_in_the_range(cls, content: Any) -> Any:
        """What becomes black and white, where it is not said, or said for another stretch by default."""
        if not isinstance(content, dict):
            return content
        if content.get("stretch", "") is None:  # as recipes read the word
            content = content | {"stretch": "none"}
        own = _RANGES.get(str(content.get("stretch", "none")), _RANGES["none"])
        given = content.get("low", own[0]), content.get("high", own[1])
        low, high = own if given in _RANGES.values() else given
        return content | {"low": low, "high": high}

    @model_validator(mode="after")
    def _range_is_one(self) -> "View":
        if self.low >= self.high:
            raise ValueError(f"low = {self.low} must be less than high = {self.high}")
        if self.stretch == "all" and self.high > 1:
            raise ValueError(f'high = {self.high}: with stretch = "all" it is a fraction of the full range, at most 1')
        if self.stretch == "none" and (self.low, self.high) != _RANGES["none"]:
            raise ValueError('low and high say how brightness is stretched: set stretch = "each" or "all" as well')
        return self

    @property
    def is_plain(self) -> bool:
        """Whether pictures are only resized."""
        return not self.scale and not self.stretches

    @property
    def stretches(self) -> bool:
        """Whether brightness changes."""
        return self.stretch != "none" or self.gamma != 1

    @property
    def without_stretch(self) -> "View":
        """The same for pictures whose brightness is stretched already."""
        return View(scale=self.scale)
