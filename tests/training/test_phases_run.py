"""A run in phases: each may be interrupted, and goes on to the same bits; gradients may be clipped apart."""

from pathlib import Path
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric
from safetensors.torch import load_file
from torch import Tensor, nn

from helpers.tiny import SINGLE
from objectspace.errors import UserError
from objectspace.models import create
from objectspace.recipes.files import build
from objectspace.recipes.recipe import Recipe
from objectspace.training import loop
from objectspace.training.ground import ground_share
from objectspace.training.run import RunOptions, train
from objectspace.training.step import Objective, take_step

QUIET = list[str]().append
PHASES = {"background": 3, "warm": 3, "objects": 4, "sharpen": 4}
MIDDLES = (1, 4, 7, 11)  # a step of each phase


def planned(tiny: Recipe, kind: str, phases: dict[str, int] = PHASES, **background: Any) -> Recipe:
    model = tiny.model.model_dump(mode="json")
    if kind == "space":
        model["background"] |= {"stills": 1, **background}
    else:
        model |= {"kind": kind, "context_dim": 4, "background": SINGLE}
    model["foreground"] |= {"premultiplied": False, "margin": 0.15}
    training = tiny.training.model_dump(
        mode="json", include={"batch", "log_every", "validate_every", "validate_images"}
    )
    anneal = {"dropped_cells": 0.3}
    return build({"model": model, "phases": phases, "anneal": anneal, "training": training | {"save_every": 1}}, "plan")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["space", "spair"])
def test_a_run_interrupted_in_every_phase_ends_with_the_same_bits(
    kind: str, tiny: Recipe, sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = planned(tiny, kind)
    assert train(recipe, RunOptions(sprites, tmp_path / "whole"), QUIET)["state"]["skipped"] == 0
    dying = list(MIDDLES)

    def mortal(*arguments: Any) -> Any:
        if arguments[4] in dying:
            dying.remove(arguments[4])
            raise RuntimeError("killed")
        return take_step(*arguments)

    monkeypatch.setattr(loop, "take_step", mortal)
    for number in range(len(MIDDLES)):
        with pytest.raises(RuntimeError, match="killed"):
            train(recipe, RunOptions(sprites, tmp_path / "torn", resume=number > 0), QUIET)
    train(recipe, RunOptions(sprites, tmp_path / "torn", resume=True), QUIET)
    whole, torn = (load_file(tmp_path / name / "model" / "model.safetensors") for name in ("whole", "torn"))
    assert all(torch.equal(whole[name], torn[name]) for name in whole)


def test_each_phase_trains_what_it_should(tiny: Recipe) -> None:
    recipe = planned(tiny, "space")
    model, images = create(recipe.model, recipe.anneal, seed=0), torch.rand(4, 3, 32, 32)
    objective, learning = Objective(model, recipe.anneal), []
    for step in MIDDLES:
        model.zero_grad(set_to_none=True)
        objective(images, step, torch.Generator().manual_seed(step))["loss"].mean().backward()
        learning.append({name.split(".")[0] for name, each in model.named_parameters() if each.grad is not None})
    assert learning == [{"background"}, {"foreground"}, {"foreground", "background"}, {"foreground", "background"}]


@pytest.mark.slow
def test_stills_start_as_the_median_and_a_resumed_run_does_not_start_them_again(
    tiny: Recipe, sprites: Path, tmp_path: Path
) -> None:
    recipe = planned(tiny, "space")
    train(recipe, RunOptions(sprites, tmp_path / "run", minutes=0), QUIET)
    first = load_file(tmp_path / "run" / "model" / "model.safetensors")
    grey = first["background.pictures"]
    assert float(grey.std()) > 0.02, "no longer the grey with which it is made"
    train(recipe, RunOptions(sprites, tmp_path / "run", resume=True), QUIET)
    last = load_file(tmp_path / "run" / "model" / "model.safetensors")
    assert not torch.equal(last["background.pictures"], grey)


@pytest.mark.slow
def test_stills_that_learn_nothing_can_be_all_there_is_behind(tiny: Recipe, sprites: Path, tmp_path: Path) -> None:
    """Then the background has no gradient in its own phase, and that is no reason to stop."""
    recipe = planned(tiny, "space", components=0, still_things="objects")
    summary = train(recipe, RunOptions(sprites, tmp_path / "run"), QUIET)
    assert (summary["ended"], summary["state"]["skipped"]) == ("finished", 0)


def test_more_stills_than_images_are_refused(tiny: Recipe, sprites: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="1000 stills cannot be made of 40 images"):
        train(planned(tiny, "space", stills=1000), RunOptions(sprites, tmp_path / "run"), QUIET)


class Slopes(nn.Module):
    """An objective whose gradients are its slopes."""

    def __init__(self) -> None:
        super().__init__()
        self.steep, self.flat, self.unused = (nn.Parameter(torch.zeros(2)) for _ in range(3))

    def forward(self, images: Tensor, *_: Any) -> dict[str, Tensor]:
        return {"loss": (images * (30 * self.steep[0] + 40 * self.steep[1] + 0.3 * self.flat.sum())).flatten(1).mean(1)}


@pytest.mark.parametrize("apart", [False, True])
def test_gradients_are_clipped_together_or_apart(apart: bool) -> None:
    fabric, objective = Fabric(accelerator="cpu", devices=1), Slopes()
    optimisers = {"all": torch.optim.SGD(objective.parameters(), lr=1.0)}
    groups = [[objective.steep], [objective.flat], [objective.unused]] if apart else None
    report = take_step(fabric, objective, optimisers, torch.ones(1, 1, 1, 1), 0, None, 1.0, None, groups)
    assert report.gradient == pytest.approx((50**2 + 2 * 0.3**2) ** 0.5), "of all, before clipping"
    torch.testing.assert_close(-objective.steep, torch.tensor([0.6, 0.8]), rtol=1e-3, atol=1e-4)
    flat = 0.3 if apart else 0.3 / 50
    torch.testing.assert_close(-objective.flat, torch.tensor([flat, flat]), rtol=1e-3, atol=1e-4)


def test_a_gradient_that_is_not_finite_in_one_group_stops_all() -> None:
    fabric, objective = Fabric(accelerator="cpu", devices=1), Slopes()
    optimisers = {"all": torch.optim.SGD(objective.parameters(), lr=1.0)}
    groups = [[objective.steep], [objective.flat]]
    objective.steep.register_hook(lambda gradient: gradient * float("nan"))
    assert take_step(fabric, objective, optimisers, torch.ones(1, 1, 1, 1), 0, None, 1.0, None, groups).skipped
    assert not objective.flat.any()


@pytest.mark.parametrize("kind", ["space", "spair"])
def test_clip_groups_hold_every_parameter_once_and_presence_apart(kind: str, tiny: Recipe) -> None:
    model = create(planned(tiny, kind).model)
    groups = model.clip_groups()
    assert sorted(map(id, (each for group in groups for each in group))) == sorted(map(id, model.parameters()))
    assert {id(each) for each in groups[0]} == {id(each) for each in model.foreground.heads.z_pres_net.parameters()}


@pytest.mark.slow
def test_a_background_that_leaves_ground_is_done_again_and_an_interrupted_run_does_not_forget_it(
    tiny: Recipe, sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, said, clocks = planned(tiny, "space"), list[str](), list[int]()
    left = {3: 0.5, 6: 0.5, 9: 0.0}  # by steps
    monkeypatch.setattr(loop, "_ground_left", lambda start, state: left[state.step])

    def counted(*arguments: Any) -> Any:
        clocks.append(arguments[4])
        if mortal and len(clocks) == 5:
            raise RuntimeError("killed")
        return take_step(*arguments)

    monkeypatch.setattr(loop, "take_step", counted)
    mortal = False
    state = train(recipe, RunOptions(sprites, tmp_path / "whole"), said.append)["state"]
    assert clocks == [0, 1, 2] * 3 + list(range(3, 14))
    assert (state["step"], state["put_back"]) == (20, 6)
    assert sum("its phase is done again" in line for line in said) == 2
    clocks.clear()
    mortal = True
    with pytest.raises(RuntimeError, match="killed"):
        train(recipe, RunOptions(sprites, tmp_path / "torn"), QUIET)
    mortal = False
    train(recipe, RunOptions(sprites, tmp_path / "torn", resume=True), QUIET)
    whole, torn = (load_file(tmp_path / name / "model" / "model.safetensors") for name in ("whole", "torn"))
    assert all(torch.equal(whole[name], torn[name]) for name in whole)


@pytest.mark.slow
def test_a_background_that_stays_bad_is_said_aloud_and_the_run_goes_on(
    tiny: Recipe, sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, said = planned(tiny, "space"), list[str]()
    monkeypatch.setattr(loop, "_ground_left", lambda start, state: 0.3)
    state = train(recipe, RunOptions(sprites, tmp_path / "run"), said.append)["state"]
    assert state["put_back"] == recipe.training.background_repeats * 3
    assert any(line.startswith("warning: 30.0% of the held-out pixels are ground") for line in said)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["space", "spair"])
def test_what_a_background_leaves_is_measured_on_held_out_images(
    kind: str, tiny: Recipe, sprites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = list[float]()

    def noted(unexplained: Any, images: Any) -> float:
        assert unexplained.shape == (4, 32, 32)
        assert images.shape == (4, 32, 32, 3)
        assert images.max() <= 1
        shares.append(ground_share(unexplained, images))
        return shares[-1]

    monkeypatch.setattr(loop, "ground_share", noted)
    train(planned(tiny, kind, dict.fromkeys(PHASES, 1)), RunOptions(sprites, tmp_path / "run"), QUIET)
    assert shares


def test_only_a_background_that_can_learn_alone_is_done_again() -> None:
    with pytest.raises(UserError, match="is all background: set it to 0"):
        build({"model": {"kind": "genesis"}, "training": {"background_repeats": 1}}, "mine.toml")
