from pathlib import Path

import pytest
import torch
from torch import nn
from torch.optim import Adam, AdamW, Optimizer, RMSprop

from objectspace.config import Anneal
from objectspace.ops.schedules import Schedule
from objectspace.recipes.files import build
from objectspace.recipes.recipe import Optimiser, Recipe
from objectspace.training import optimisers
from objectspace.training.run import RunOptions, train


@pytest.mark.parametrize(("name", "kind"), [("adam", Adam), ("adamw", AdamW), ("rmsprop", RMSprop)])
def test_the_recipe_names_the_optimiser(name: str, kind: type) -> None:
    optimiser = optimisers.build(Optimiser(name=name, rate=0.25), [nn.Parameter(torch.ones(2))])
    assert type(optimiser) is kind
    assert [group["lr"] for group in optimiser.param_groups] == [0.25]


def test_adam_s_memory_is_the_recipe_s() -> None:
    optimiser = optimisers.build(Optimiser(beta1=0.95), [nn.Parameter(torch.ones(2))])
    assert optimiser.param_groups[0]["betas"] == (0.95, 0.999)


@pytest.mark.parametrize(
    ("step", "rate"), [(0, 0.2), (1, 0.4), (4, 1.0), (5, 1.0), (10, 1.0), (15, 0.75), (20, 0.5), (10**6, 0.5)]
)
def test_the_rate_warms_up_and_decays(step: int, rate: float) -> None:
    config = Optimiser(rate=1.0, warmup=5, decay=Schedule(1.0, 0.5, 10, 20))
    assert optimisers.rate_at(config, step) == pytest.approx(rate)


def test_a_run_follows_the_rates_of_both_parts(
    tiny: Recipe, sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = tiny.model_dump(mode="json")
    content["training"] |= {
        "steps": 4,
        "foreground": {"name": "rmsprop", "rate": 1e-3, "warmup": 2},
        "background": {"name": "adamw", "rate": 1e-4, "decay": "(1.0 -> 0.5):(2 -> 3)"},
    }
    used: dict[type[Optimizer], list[float]] = {RMSprop: [], AdamW: []}
    for kind, rates in used.items():
        step = kind.step

        def noting(self, *arguments, rates=rates, step=step, **more):
            rates.append(self.param_groups[0]["lr"])
            return step(self, *arguments, **more)

        monkeypatch.setattr(kind, "step", noting)
    train(build(content, "rates"), RunOptions(sprites, tmp_path / "run"), lambda line: None)
    assert used[RMSprop] == pytest.approx([5e-4, 1e-3, 1e-3, 1e-3])
    assert used[AdamW] == pytest.approx([1e-4, 1e-4, 1e-4, 5e-5])


def test_the_boundary_loss_starts_rises_and_stops() -> None:
    anneal = Anneal.model_validate({"boundary": "(0 -> 2):(10 -> 14) then (2 -> 0):(20 -> 20)"})
    weights = [anneal.at(step).boundary_weight for step in (9, 10, 11, 13, 14, 19, 20)]
    assert weights == [0, 0, 0.5, 1.5, 2, 2, 0]


def test_by_default_the_boundary_loss_has_its_full_weight_at_once() -> None:
    assert [Anneal().at(step).boundary_weight for step in (0, 99_999, 100_000)] == [1, 1, 0]
    assert Anneal(boundary=Schedule(0.0, 0.0)).at(0).boundary_weight == 0
