"""Who takes part in a comparison, and with what capacity."""

from typing import Literal

import pytest

from objectspace.compare.candidates import candidate, kinds, limited
from objectspace.config import ModelConfig
from objectspace.errors import UserError
from objectspace.models.space import SpaceConfig


@pytest.mark.parametrize(
    ("kind", "capacity"),
    [("space", "16+5"), ("spair", "16+1"), ("spair-p", "16+1"), ("genesis", "21"), ("iodine", "21")],
)
def test_the_papers_models_have_the_capacity_of_the_grid(kind, capacity) -> None:
    assert candidate(kind, 128, 4, 5).config.capacity == capacity


def test_space_is_the_papers_architecture_at_every_grid_of_its_chart() -> None:
    sizes = [candidate("space", 128, grid, 5).capacity for grid in (4, 8, 16, 32)]
    assert sizes == [21, 69, 261, 1029]


def test_a_model_of_components_can_be_capped_and_one_of_cells_is_not() -> None:
    assert candidate("genesis", 128, 16, 5, most=40).capacity == 40
    assert candidate("genesis", 128, 4, 5, most=40).capacity == 21
    assert candidate("space", 128, 16, 5, most=40).capacity == 261


def test_few_objects_are_a_budget_where_there_are_more_cells() -> None:
    few = limited(candidate("space", 128, 8, 5), 20)
    assert few is not None
    assert few.model == "space, 20 objects"
    assert isinstance(few.config, SpaceConfig)
    assert few.config.foreground.budget == 20
    assert limited(candidate("space", 128, 4, 5), 20) is None
    assert limited(candidate("genesis", 128, 8, 5), 20) is None


def test_all_kinds_that_say_how_take_part_space_first(tiny_config) -> None:
    known = kinds()
    assert known[0] == "space"
    assert {"spair", "spair-p", "genesis", "iodine", "tiny"} <= set(known)


def test_unknown_models_and_those_without_a_capacity_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="did you mean 'genesis'"):
        kinds(["genesys"])
    monkeypatch.setattr(ModelConfig, "kinds", dict(ModelConfig.kinds))  # the class below declares itself

    class Fixed(ModelConfig):
        kind: Literal["fixed"] = "fixed"

    with pytest.raises(UserError, match="fixed cannot be built at a given capacity"):
        kinds(["fixed"])
    assert "fixed" not in kinds()


def test_a_grid_that_does_not_fit_the_image_is_explained() -> None:
    with pytest.raises(UserError, match=r"space at a grid of 7 x 7 and images of 128 x 128: .*does not fit"):
        candidate("space", 128, 7, 5)
