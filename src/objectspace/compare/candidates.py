"""Who takes part: the kinds of models that can be built at a given decomposition capacity.

A kind takes part when its config says how (`ModelConfig.sized`), whether it comes with the package or not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from objectspace.config import ModelConfig
from objectspace.config.installed import import_installed
from objectspace.errors import UserError, unknown


@dataclass(frozen=True)
class Candidate:
    """A model at one capacity."""

    model: str  # as tables and charts call it
    grid: int  # cells on a side that its capacity is that of
    config: ModelConfig

    @property
    def capacity(self) -> int:
        """The paper's decomposition capacity as a number: cells and components."""
        return self.config.cells + self.config.parts


def takes_part(config: type[ModelConfig]) -> bool:
    """Whether models of a kind can be built at a given capacity."""
    return config.sized.__func__ is not ModelConfig.sized.__func__  # type: ignore[attr-defined]


def kinds(names: Sequence[str] = ()) -> list[str]:
    """The kinds that are asked for, or else all that can take part, SPACE first."""
    import objectspace.models  # noqa: F401 - the package's own kinds declare themselves

    for wanted in [name for name in names if name not in ModelConfig.kinds] if names else [None]:
        import_installed(wanted)
    known = sorted((kind for kind, config in ModelConfig.kinds.items() if takes_part(config)), key=_space_first)
    for name in names:
        if name in ModelConfig.kinds and name not in known:
            raise UserError(f"the model {name} cannot be built at a given capacity (its config has no `sized`)")
        if name not in known:
            raise unknown("model to compare", name, known)
    return list(dict.fromkeys(names)) or known


def candidate(kind: str, size: int, grid: int, components: int, most: int | None = None) -> Candidate:
    """A kind of model with the capacity of `grid` x `grid` cells and `components`, for images of `size` x `size`.

    A model of components only has at most `most` of them, if that is given.
    """
    of_kind = ModelConfig.kinds[kind]
    try:
        config = of_kind.sized((size, size), grid, components)
        if most is not None and not config.cells and config.parts > most:
            config = of_kind.sized((size, size), 1, most - 1)  # cells and components count alike there
    except ValidationError as error:
        reason = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        raise UserError(f"{kind} at a grid of {grid} x {grid} and images of {size} x {size}: {reason}") from error
    return Candidate(kind, grid, config)


def all_cells(model: str) -> str:
    """What a line of the latency chart is called in which every cell is worked on."""
    return f"{model}, all cells"


def lines(full: Candidate, objects: int) -> list[Candidate]:
    """A model as the lines of the latency chart: with all cells, with so many objects (0: not), computed otherwise.

    Each says which it is, since a budget and all cells cannot be compared.
    """
    if not full.config.cells:
        return [full]
    ways = {"": full.config} | {f", {way}": config for way, config in full.config.computed_otherwise().items()}
    made = []
    for way, config in ways.items():
        made.append(Candidate(all_cells(full.model) + way, full.grid, config))
        few = config.limited(objects) if objects else None
        if few is not None:
            made.append(Candidate(f"{full.model}, {objects} objects{way}", full.grid, few))
    return made


def on_images(candidates: Sequence[Candidate], size: int) -> tuple[list[Candidate], list[str]]:
    """Those that read images of `size` x `size`, and a word on each of the others: their grid is for other sizes."""
    fitting = [each for each in candidates if each.config.image_size == (size, size)]
    said = [
        f"{each.model} is left out at {each.grid} x {each.grid}: it reads images of "
        f"{each.config.image_size[0]} x {each.config.image_size[1]} there, so give --size {each.config.image_size[0]}"
        for each in candidates
        if each not in fitting
    ]
    return fitting, said


def _space_first(kind: str) -> tuple[bool, str]:
    return kind != "space", kind
