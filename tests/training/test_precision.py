import json
from pathlib import Path

import pytest
import torch

from objectspace.errors import UserError
from objectspace.models import create
from objectspace.recipes.recipe import Recipe
from objectspace.training.precision import multiply_in_bfloat16
from objectspace.training.run import RunOptions, train
from objectspace.training.step import Objective

QUIET = lambda line: None  # noqa: E731


@pytest.mark.parametrize("precision", ["bf16-mixed", "64-true"])
def test_a_run_works_in_other_precisions(precision: str, tiny: Recipe, sprites: Path, tmp_path: Path) -> None:
    content = tiny.model_copy(update={"training": tiny.training.model_copy(update={"steps": 3})})
    summary = train(content, RunOptions(sprites, tmp_path / "run", precision=precision), QUIET)
    assert (summary["ended"], summary["state"]["skipped"]) == ("finished", 0)
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert all(abs(line["loss"]) < 1e6 for line in lines if "loss" in line)


def test_mixed_precision_multiplies_in_bfloat16_and_scores_in_float32(tiny: Recipe) -> None:
    images = torch.rand(4, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    terms, gradients = [], []
    for mixed in (False, True):
        model = create(tiny.model, tiny.anneal, seed=0)
        if mixed:
            multiply_in_bfloat16(model)
        found = Objective(model, tiny.anneal)(images, 0, None)
        found["loss"].mean().backward()
        terms.append(found)
        assert all(value.grad.isfinite().all() for value in model.parameters() if value.grad is not None)
        # Of the background only: in so small a net the gradient of where objects lie turns with the ninth bit of
        # anything, in float32 too.
        gradients.append(torch.cat([value.grad.flatten() for value in model.parameter_groups()["background"]]))
    assert {value.dtype for value in terms[1].values()} == {torch.float32}
    assert not torch.equal(terms[0]["log_likelihood"], terms[1]["log_likelihood"]), "bfloat16 was used"
    torch.testing.assert_close(terms[0]["log_likelihood"], terms[1]["log_likelihood"], rtol=0.01, atol=0)
    assert torch.cosine_similarity(gradients[0], gradients[1], dim=0) > 0.99


def test_evaluation_is_not_mixed(tiny: Recipe) -> None:
    images = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    exact, mixed = (create(tiny.model, tiny.anneal, seed=0).eval() for _ in range(2))
    multiply_in_bfloat16(mixed)
    with torch.no_grad():
        assert torch.equal(exact(images, sample=False).loss, mixed(images, sample=False).loss)


def test_an_unknown_precision_is_refused(tiny: Recipe, sprites: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean 'bf16-mixed'"):
        train(tiny, RunOptions(sprites, tmp_path / "run", precision="bf16"), QUIET)
    assert not (tmp_path / "run").exists()
