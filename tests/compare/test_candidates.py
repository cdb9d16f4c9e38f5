"""Who takes part in a comparison, and with what capacity."""

from typing import Literal, cast

import pytest

from objectspace.compare.candidates import candidate, kinds, lines, on_images
from objectspace.config import ModelConfig
from objectspace.errors import UserError
from objectspace.models.space import SpaceConfig
from objectspace.models.spair import SpairConfig, SpairPConfig


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


def test_a_model_of_cells_has_a_line_with_all_cells_and_one_with_few_objects() -> None:
    every, few = lines(candidate("space", 128, 8, 5), 20)
    assert (every.model, few.model) == ("space, all cells", "space, 20 objects")
    assert isinstance(every.config, SpaceConfig)
    assert isinstance(few.config, SpaceConfig)
    assert (every.config.foreground.budget, few.config.foreground.budget) == (None, 20)
    assert [each.model for each in lines(candidate("space", 128, 4, 5), 20)] == ["space, all cells"]
    assert [each.model for each in lines(candidate("space", 128, 8, 5), 0)] == ["space, all cells"]
    assert [each.model for each in lines(candidate("genesis", 128, 8, 5), 20)] == ["genesis"]


def test_spair_has_its_lines_in_sequence_and_by_diagonals() -> None:
    made = lines(candidate("spair", 128, 8, 5), 20)
    ways = [each.model.removeprefix("spair, ") for each in made]
    assert ways == ["all cells", "20 objects", "all cells, wavefront", "20 objects, wavefront"]
    assert [cast(SpairConfig, each.config).wavefront for each in made] == [False, False, True, True]


@pytest.mark.parametrize("grid", [4, 8, 16, 32])
def test_a_patch_of_spair_p_has_the_paper_s_cells_at_every_grid(grid: int) -> None:
    config = candidate("spair-p", 128, grid, 5).config
    assert isinstance(config, SpairPConfig)
    assert config.cells == grid * grid
    assert config.patch == (32, 32)
    assert config.image_size[0] // grid == 8, "so 4 x 4 cells a patch"


def test_who_reads_other_images_than_the_comparison_s_is_left_out_with_a_word() -> None:
    found = [candidate(kind, 128, grid, 5) for grid in (8, 16) for kind in ("space", "spair-p")]
    fitting, said = on_images(found, 128)
    assert [(each.model, each.grid) for each in fitting] == [("space", 8), ("space", 16), ("spair-p", 16)]
    assert said == ["spair-p is left out at 8 x 8: it reads images of 64 x 64 there, so give --size 64"]


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
