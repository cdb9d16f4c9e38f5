"""IODINE: refinement without second derivatives, in every mode of torch, and its numerics."""

import gc

import pytest
import torch

from objectspace.models import Iodine, create
from objectspace.models.iodine import IodineConfig as Config
from objectspace.models.iodine import SlotDecoder, counterfactual, leave_one_out
from objectspace.nn.broadcast import BroadcastDecoder
from oracle.mixtures import small_iodine, small_mixture


def test_the_defaults_are_its_paper_s() -> None:
    config = Config()
    assert (config.components, config.refinements, config.slot_dim, config.sigma) == (7, 5, 64, 0.1)
    with torch.device("meta"):
        model = Iodine(config)
    assert [layer.weight.shape[1] for layer in model.decoder.convolutions] == [66, 64, 64, 64, 64]
    assert model.refiner.look[0].weight.shape == (64, 17, 3, 3)
    assert [tuple(layer.weight.shape) for layer in list(model.refiner.think)[::2]] == [(256, 64), (256, 256)]


def test_its_decoder_keeps_no_more_for_the_backward_pass_than_space_s() -> None:
    config = Config(image_size=32, slot_dim=8, decoder_channels=(6, 6, 6, 6))

    def kept(decoder: torch.nn.Module) -> int:
        saved: dict[int, int] = {}  # bytes by where they lie: what several layers keep counts once

        def note(tensor: torch.Tensor) -> torch.Tensor:
            saved[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            pictures = decoder(torch.randn(5, 8))
        assert pictures.shape[-2:] == (32, 32)
        return sum(saved.values())

    assert kept(SlotDecoder(config)) <= 1.05 * kept(BroadcastDecoder(8, (6, 6, 6, 6), 4, (32, 32)))


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="greater than or equal to 2"):
        Config(components=1)
    with pytest.raises(ValueError, match="multiples of input_fraction, 4"):
        Config(image_size=30, input_fraction=4)


def test_it_gives_the_same_with_and_without_gradients() -> None:
    model, images = small_mixture(small_iodine()), torch.rand(2, 3, 32, 32, dtype=torch.float64)
    learning = model(images, sample=False)
    with torch.no_grad():
        quiet = model(images, sample=False)
    with torch.inference_mode():
        inferring = model(torch.empty_like(images).copy_(images), sample=False)
    for other in (quiet, inferring):
        assert torch.equal(other.loss, learning.loss)
        assert torch.equal(other.means, learning.means)
        assert not other.loss.requires_grad
        assert not other.means.requires_grad
    assert all(parameter.grad is None for parameter in model.parameters()), "no gradient is left behind"


def test_refining_improves_on_the_first_guess_only_by_the_refiner() -> None:
    model = small_mixture(small_iodine())
    images = torch.rand(2, 3, 32, 32, dtype=torch.float64)
    with torch.no_grad():
        model.refiner.change.weight.zero_()
        model.refiner.change.bias.zero_()
    output = model(images, sample=False)
    torch.testing.assert_close(output.penalties["early"], -0.5 * output.elbo)  # weights 0, 1/2 and 1 of one bound


def test_the_whole_chain_is_learned() -> None:
    model = small_mixture(small_iodine(refinements=3))
    model(torch.rand(2, 3, 32, 32, dtype=torch.float64)).loss.mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_gradients_of_the_first_weights_pass_through_all_refinements() -> None:
    model = small_mixture(small_iodine(refinements=3))
    images = torch.rand(1, 3, 32, 32, dtype=torch.float64)
    (slope,) = torch.autograd.grad(model(images, sample=False).log_likelihood.sum(), model.initial)
    assert slope.abs().min() > 0


def test_slots_differ_from_the_start_without_any_noise() -> None:
    model = create(small_iodine())
    means = model(torch.rand(1, 3, 32, 32), sample=False).means[0]
    assert (means[0] - means[1]).abs().max() > 1e-3


def test_what_the_others_say_about_a_pixel_is_exact_even_where_one_slot_says_all() -> None:
    model = small_mixture(small_iodine(components=4))
    guess = model._guess(torch.rand(1, 3, 32, 32).double(), model.initial.detach(), False, None)
    guess.by_slot[0, 2] += 800  # its share is one to all digits
    found = leave_one_out(guess)
    assert found.isfinite().all()
    for slot in range(4):
        rest = [other for other in range(4) if other != slot]
        expected = guess.by_slot[:, rest].logsumexp(1) - guess.log_masks[:, rest].logsumexp(1)
        torch.testing.assert_close(found[:, slot], expected)


def test_a_slot_s_worth_at_a_pixel_is_what_the_pixel_loses_without_it() -> None:
    model = small_mixture(small_iodine(components=3))
    guess = model._guess(torch.rand(1, 3, 32, 32).double(), model.initial.detach(), False, None)
    assert torch.equal(counterfactual(guess), guess.by_pixel - leave_one_out(guess))
    best = guess.by_slot.argmax(1, keepdim=True)
    assert (counterfactual(guess).gather(1, best) > counterfactual(guess).mean(1, keepdim=True)).all()


@pytest.mark.slow
def test_taking_images_apart_leaves_no_memory_behind() -> None:
    model, images = create(small_iodine()), list(torch.rand(4, 3, 32, 32))

    def tensors() -> int:
        gc.collect()
        return sum(issubclass(type(thing), torch.Tensor) for thing in gc.get_objects())

    model.decompose(images)
    before = tensors()
    for _ in range(3):
        model.decompose(images)
    assert tensors() <= before


def test_extreme_weights_give_finite_terms() -> None:
    model = create(small_iodine(sigma=0.05))
    with torch.no_grad():
        for parameter in model.decoder.parameters():
            parameter.mul_(8)
    output = model(torch.rand(4, 3, 32, 32))
    output.loss.mean().backward()
    assert output.loss.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    torch.testing.assert_close(output.masks.sum(1), torch.ones(4, 1, 32, 32))
