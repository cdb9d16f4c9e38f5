"""GENESIS: its objective with a goal for the likelihood, and what it shares with SPACE's background."""

import math
from pathlib import Path

import pytest
import torch

from objectspace.models import Genesis, create, load
from objectspace.models.genesis import GenesisConfig as Config
from oracle.mixtures import small_genesis, small_mixture

GOAL = {"goal": 0.3, "step": 0.5, "smoothing": 0.9}


def test_the_paper_s_capacity_is_the_number_of_components() -> None:
    config = small_genesis(components=9)
    assert (config.cells, config.parts, config.capacity) == (0, 9, "9")
    assert create(config)(torch.rand(1, 3, 32, 32)).means.shape[1] == 9


def test_the_priors_stdevs_are_near_one_at_first_and_never_more() -> None:
    model = create(small_genesis())
    assert isinstance(model, Genesis)
    parameters = torch.cat([torch.zeros(3), torch.tensor([-1e3, 0.0, 1e3])])
    std = model.mixture._expected(parameters).std
    torch.testing.assert_close(std, torch.tensor([1e-4, 0.9821, 1.0001]), atol=1e-4, rtol=0)
    as_space = create(small_genesis(prior_std="softplus")).mixture
    assert float(as_space._expected(parameters).std[2]) > 100


def test_image_sides_must_suit_the_encoders() -> None:
    with pytest.raises(ValueError, match="multiples of 32"):
        Config(image_size=48, input_fraction=2)


def test_without_a_goal_the_loss_is_the_bound() -> None:
    model = create(small_genesis())
    output = model(torch.rand(2, 3, 32, 32))
    assert torch.equal(output.loss, -output.elbo)
    before = set(model.state_dict())
    model.after_step({"log_likelihood": 1.0})
    assert set(model.state_dict()) == before
    assert not {"beta", "error"} & before


def test_with_a_goal_the_kl_is_weighted_and_the_bound_stays_true() -> None:
    model = small_mixture(small_genesis(geco=GOAL))
    images = torch.rand(2, 3, 32, 32, dtype=torch.float64)
    plain = model(images, sample=False)
    assert torch.equal(plain.loss, -plain.elbo), "the weight starts at one"
    model.beta.fill_(0.25)
    output = model(images, sample=False)
    torch.testing.assert_close(output.elbo, plain.elbo)
    torch.testing.assert_close(output.loss, -output.log_likelihood + 0.25 * sum(output.kl.values()))


def test_the_weight_falls_until_the_goal_is_met_and_rises_after() -> None:
    model = create(small_genesis(geco=GOAL))
    pixels = 3 * 32 * 32
    error, beta = 0.3, 1.0
    for given in (0.8, 0.8, 0.1, -0.5, -0.5, -0.5, -0.5):
        model.after_step({"log_likelihood": -given * pixels})
        error = 0.9 * error + 0.1 * given
        beta *= math.exp(0.5 * (0.3 - error))
        assert math.isclose(float(model.error), error, rel_tol=1e-5)
        assert math.isclose(float(model.beta), beta, rel_tol=1e-5)
    worse, better = (create(small_genesis(geco=GOAL)) for _ in range(2))
    worse.after_step({"log_likelihood": -2.0 * pixels})
    better.after_step({"log_likelihood": 2.0 * pixels})
    assert float(worse.beta) < 1 < float(better.beta)


def test_the_weight_stays_within_bounds() -> None:
    model = create(small_genesis(geco=GOAL))
    for likelihood, bound in ((-1e12, 1e-10), (1e13, 1e10)):
        for _ in range(100):
            model.after_step({"log_likelihood": likelihood})
        assert math.isclose(float(model.beta), bound, rel_tol=1e-5)


def test_the_weight_is_saved_with_the_model(tmp_path: Path) -> None:
    model = create(small_genesis(geco=GOAL))
    model.after_step({"log_likelihood": -5e4})
    model.save_pretrained(tmp_path)
    again = load(tmp_path)
    assert isinstance(again, Genesis)
    assert float(again.beta) == float(model.beta) != 1


def test_pictures_are_not_decoded_where_only_masks_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    model = create(small_genesis())
    monkeypatch.setattr(model.mixture, "decode_components", lambda *_: pytest.fail("it decoded pictures"))
    assert model.decompose(torch.rand(3, 32, 32), pictures=False)[0].components[0].image is None
