"""What is left unexplained is looked at again: it is understood if it can be drawn, and found if it is strange."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from objectspace.models import Space
from objectspace.models.parts import leftovers, scenes, second_look, worth
from objectspace.models.parts.drawing import Drawables
from objectspace.models.parts.found import Wanted
from objectspace.models.parts.pictures import Backdrops
from objectspace.ops import geometry
from objectspace.ops.distributions import Gaussian
from objectspace.ops.mixtures import gaussian_log_density
from objectspace.scene import Object
from oracle.small import small_config

GREY, RED, BLUE = (0.5, 0.5, 0.5), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
SIDE = 32


@pytest.fixture
def model(monkeypatch) -> Space:
    """A model of objects a quarter of the image wide that sees grey behind everything and can draw what is red.

    Its `what` is how red a glimpse is, and all of its cells are absent.
    """

    def grey(images: Tensor, pictures: bool) -> Backdrops:
        count = len(images)
        return Backdrops(images.new_ones(count, 1, SIDE, SIDE), images.new_full((count, 1, 3, SIDE, SIDE), GREY[0]))

    def attend(images: Tensor, frame: Tensor, windows: object, sample: bool, generator: object) -> Gaussian:
        what = frame.new_zeros(len(frame), 3)
        return Gaussian(what, torch.ones_like(what), what)

    def decode(what: Tensor) -> tuple[Tensor, Tensor]:
        picture = what.new_tensor(RED)[None, :, None, None].expand(len(what), 3, 8, 8)
        return picture, what.new_full((len(what), 1, 8, 8), 0.99)

    config = small_config(foreground={"premultiplied": False, "sigma": 0.1, "scale_prior_std": 0.3})
    model = Space.create(config, seed=0)
    model.eval().final = replace(model.final, unknown=0.1, scale_prior_mean=-1.1, foreground_sigma=0.1)
    with torch.no_grad():
        model.foreground.heads.z_pres_net.weight.zero_()
        model.foreground.heads.z_pres_net.bias.fill_(-3)
    monkeypatch.setattr(model, "infer_background", grey)
    monkeypatch.setattr(model.foreground, "attend", attend)
    monkeypatch.setattr(model.foreground, "decode", decode)
    return model


def painted(*areas: tuple[int, int, int, int, tuple[float, float, float]]) -> np.ndarray:
    image = np.full((SIDE, SIDE, 3), 128, np.uint8)
    for x0, y0, x1, y1, colour in areas:
        image[y0:y1, x0:x1] = np.round(255 * np.array(colour))
    return image


def boxes(model: Space, *images: np.ndarray, **options: object) -> list[list[list[float]]]:
    found = model.decompose(list(images), pictures=False, **options)
    return [sorted(list(item.box) for item in scene.objects) for scene in found]


def test_what_cells_miss_is_found_where_it_lies(model):
    two = painted((4, 5, 12, 12, RED), (20, 18, 27, 27, RED))
    assert boxes(model, two) == [[[4, 5, 12, 12], [20, 18, 27, 27]]]
    assert boxes(model, two, second_look=False) == [[]]


def test_every_image_of_a_batch_gets_its_own(model):
    empty, first, second = painted(), painted((4, 5, 12, 12, RED)), painted((20, 18, 27, 27, RED))
    assert boxes(model, second, empty, first) == [[[20, 18, 27, 27]], [], [[4, 5, 12, 12]]]


def test_what_cannot_be_drawn_is_found_and_not_understood(model):
    [scene] = model.decompose([painted((4, 5, 12, 12, BLUE), (20, 18, 27, 27, RED))])
    red, blue = scene.objects
    assert (red.understood, blue.understood) == (True, False)
    assert (blue.box, blue.mask.sum()) == ((4, 5, 12, 12), 56)
    np.testing.assert_allclose(blue.where_box, (4, 5, 12, 12), atol=1e-4)
    assert blue.mask[5:12, 4:12].all()
    assert scene.unexplained[5:12, 4:12].all(), "and it stays unexplained"
    assert blue.evidence == pytest.approx(56 * np.log(1 / 0.1), rel=1e-3), "what an object of any colour gains"
    assert 0 < blue.score < red.score
    assert len(blue.what) == 3


def test_leftovers_are_left_out_on_request(model):
    image = painted((4, 5, 12, 12, BLUE), (20, 18, 27, 27, RED))
    assert boxes(model, image, leftovers=False) == boxes(model, painted((20, 18, 27, 27, RED))) == [[[20, 18, 27, 27]]]
    assert boxes(model, image, second_look=False) == [[]]


def test_what_was_learned_is_listed_and_drawn_without_leftovers(model):
    [learned] = model.decompose_understood([painted((4, 5, 12, 12, BLUE), (20, 18, 27, 27, RED))])
    [alone] = model.decompose([painted((20, 18, 27, 27, RED))])
    assert [item.box for item in learned.objects] == [item.box for item in alone.objects]
    for name in ("reconstruction", "foreground", "alpha", "background"):
        np.testing.assert_array_equal(getattr(learned, name), getattr(alone, name))


def test_the_published_rule_no_price_and_old_models_know_no_leftovers(model):
    image = painted((4, 5, 12, 12, BLUE))
    assert boxes(model, image) == [[[4, 5, 12, 12]]]
    assert boxes(model, image, price=None) == boxes(model, image, published=True) == [[]]
    model.final = replace(model.final, unknown=0.0)
    assert boxes(model, image) == [[]]


def test_an_explained_scene_has_no_leftovers(model):
    for scene in model.decompose([painted(), painted((4, 5, 12, 12, RED), (20, 18, 27, 27, RED))]):
        assert all(item.understood for item in scene.objects)


def test_a_leftover_is_no_speck_and_not_long_and_thin(model):
    assert boxes(model, painted((4, 5, 7, 8, BLUE)), price=0) == [[]]  # 9 pixels, 12 are asked for
    assert boxes(model, painted((4, 5, 8, 8, BLUE)), price=0) == [[[4, 5, 8, 8]]]
    assert boxes(model, painted((4, 5, 17, 8, BLUE))) == [[]]


def test_a_leftover_pays_for_a_whole_object(model):
    image, whole = painted((4, 5, 9, 9, BLUE)), worth.expected_pixels(model, (SIDE, SIDE))
    gained = 20 * np.log(1 / 0.1)
    assert boxes(model, image, price=0.95 * gained / whole) == [[[4, 5, 9, 9]]]
    assert boxes(model, image, price=1.05 * gained / whole) == [[]]


@pytest.mark.parametrize(("off", "count"), [(2.9, 0), (4.0, 1)], ids=["nearly explained", "strange"])
def test_what_the_background_nearly_explains_is_no_leftover(model, off, count):
    model.final = replace(model.final, background_sigma=0.05)
    colour = (GREY[0] + off * 0.05,) * 3  # nobody explains it better, but at first not by much
    [scene] = model.decompose([painted((4, 5, 12, 12, colour))])
    assert scene.unexplained[5:12, 4:12].all()
    assert len(scene.objects) == count


@pytest.mark.parametrize("shadow", [0.0, 0.2])
def test_a_shadow_is_no_leftover(model, shadow):
    model.final = replace(model.final, background_sigma=0.05)
    model.config = model.config.model_copy(
        update={"background": model.config.background.model_copy(update={"shadow": shadow})}
    )
    dark = (0.3 * GREY[0],) * 3
    assert boxes(model, painted((4, 5, 12, 12, dark))) == ([[]] if shadow else [[[4, 5, 12, 12]]])


@pytest.mark.parametrize(("width", "count"), [(1, 1), (4, 0)], ids=["hardly drawn", "half drawn"])
def test_what_is_half_explained_is_no_leftover(model, width, count):
    image, behind = pixels((4, 5, 12, 13, BLUE))
    held = square((4, 5, 4 + width, 13), BLUE)
    assert len(leftovers.find_leftovers(model, held, image, behind, 0.3).regions) == count


def test_leftovers_have_the_pixels_that_no_other_object_has(model):
    image, behind = pixels((4, 5, 12, 13, BLUE))
    found = leftovers.find_leftovers(model, square((20, 20, 28, 28), BLUE), image, behind, 0.3)

    def beside(x1: int) -> list[tuple[float, ...]]:
        mask = np.zeros((SIDE, SIDE), np.bool_)
        mask[5:13, 4:x1] = True
        other = Object((4, 5, x1, 13), (4, 5, x1, 13), mask=mask)
        [objects], which = scenes._leftovers(model, found, [(other,)], (SIDE, SIDE), Wanted(pictures=False))
        assert len(which) == len(objects)
        assert not any((item.mask & mask).any() for item in objects)
        return [item.box for item in objects]

    assert beside(7) == [(7, 5, 12, 13)]
    assert beside(9) == [], "others have most of it"


def test_leftovers_do_not_depend_on_the_batch_and_stay_the_same(model):
    images = [painted((20, 18, 27, 27, BLUE)), painted(), painted((4, 5, 12, 12, BLUE), (20, 18, 27, 27, RED))]
    together, again, single = (model.decompose(images, batch=batch) for batch in (3, 3, 1))
    assert [len(scene.objects) for scene in together] == [1, 0, 2]
    for first, second, third in zip(together, again, single, strict=True):
        assert first.to_json() == second.to_json()
        for one, other in zip(first.objects, third.objects, strict=True):
            assert (one.box, one.understood, one.score) == (other.box, other.understood, pytest.approx(other.score))


def test_leftovers_are_at_the_size_of_the_photo(model):
    twice = painted((4, 5, 12, 12, BLUE)).repeat(2, 0).repeat(2, 1)
    mixed = model.decompose([painted((20, 18, 27, 27, BLUE)), twice])
    assert [[item.box for item in scene.objects] for scene in mixed] == [[(20, 18, 27, 27)], [(8, 10, 24, 24)]]
    assert mixed[1].objects[0].mask.sum() == 4 * 56


def test_leftovers_are_drawn_in_the_reconstruction_as_render_does_it(model):
    [scene] = model.decompose([painted((4, 5, 12, 12, BLUE))])
    assert scene.reconstruction[8, 8].tolist() != scene.background[8, 8].tolist()
    np.testing.assert_allclose(model.render(scene).astype(int), scene.reconstruction.astype(int), atol=1)


def test_a_sliver_is_no_object(model):
    expected = worth.expected_pixels(model, (SIDE, SIDE))
    assert 56 < expected < 70
    assert boxes(model, painted((4, 5, 6, 9, RED))) == [[]]  # 8 pixels, 0.15 * 64 = 10 are asked for


def test_what_is_long_and_thin_is_no_object(model):
    assert boxes(model, painted((4, 5, 16, 8, RED))) == [[[4, 5, 16, 8]]]
    assert boxes(model, painted((4, 5, 17, 8, RED))) == [[]]


def test_it_pays_for_a_whole_object_however_small_it_is(model):
    image = painted((4, 5, 8, 9, RED))
    gained = 16 * (np.log(0.9) - np.log(0.1) - 3 * np.log(0.1 * np.sqrt(2 * np.pi)))  # nats of 16 pixels drawn
    whole = worth.expected_pixels(model, (SIDE, SIDE))
    assert boxes(model, image, price=0.6 * gained / whole) == [[[4, 5, 8, 9]]]
    assert boxes(model, image, price=1.1 * gained / whole) == [[]], "though for 16 pixels alone it would do"
    assert 1.1 * gained / whole < gained / 16


def test_the_published_rule_and_no_price_know_no_second_look(model):
    image = painted((4, 5, 12, 12, RED))
    assert boxes(model, image, price=None) == boxes(model, image, published=True) == [[]]


def test_a_model_without_the_unknown_has_nothing_to_look_at(model):
    model.final = replace(model.final, unknown=0.0)
    assert boxes(model, painted((4, 5, 12, 12, RED))) == [[]]


def square(box: tuple[float, float, float, float], colour: tuple[float, float, float], depth: float = 0.0) -> Drawables:
    """One opaque object of one colour that a cell holds."""
    where, one = geometry.from_boxes(torch.tensor([box]), SIDE, SIDE), torch.ones(1)
    return Drawables(
        image=torch.zeros(1, dtype=torch.long),
        where=where,
        frame=where,
        depth=depth * one,
        presence=0.9 * one,
        what=torch.zeros(1, 3),
        picture=torch.tensor(colour)[None, :, None, None].expand(1, 3, 8, 8),
        alpha=torch.full((1, 1, 8, 8), 0.99),
        cost=0 * one,
        held=one.bool(),
    )


def pixels(*areas: tuple[int, int, int, int, tuple[float, float, float]]) -> tuple[Tensor, Tensor]:
    """An image (1, C, H, W), and how well grey explains it."""
    image = torch.from_numpy(painted(*areas)).permute(2, 0, 1)[None].float() / 255
    return image, gaussian_log_density(image, GREY[0], 0.1)


@pytest.mark.parametrize(("colour", "box"), [(RED, [4, 5, 12, 13]), (BLUE, [5, 6, 13, 14])], ids=["drawn", "not drawn"])
def test_an_object_is_cut_where_its_region_ends_if_that_can_be_drawn(model, colour, box):
    image, behind = pixels((4, 5, 12, 13, colour))
    held = square((5, 6, 13, 14), colour)
    before = worth.worth(model, held, image, behind)
    moved, evidence = second_look.look_closer(model, held, before, image, behind)
    assert geometry.to_boxes(moved.where, SIDE, SIDE).round().tolist() == [box]
    assert moved.presence.item() == pytest.approx(0.9)
    assert moved.held.item()
    assert bool(evidence > before) == (colour == RED)
    torch.testing.assert_close(evidence, worth.worth(model, moved, image, behind))


def test_an_object_elsewhere_than_the_region_stays(model):
    image, behind = pixels((4, 5, 12, 13, RED))
    held, before = square((8, 9, 16, 17), RED), torch.tensor([-1e9])  # an IoU of 0.14
    moved, evidence = second_look.look_closer(model, held, before, image, behind)
    assert torch.equal(moved.where, held.where)
    assert torch.equal(evidence, before)


def test_it_lies_before_what_was_drawn_over_it(model):
    image, _ = pixels((0, 0, 20, 20, BLUE), (5, 5, 13, 13, RED))
    behind, drawn = torch.full((1, 3, SIDE, SIDE), -5.0), square((0, 0, 20, 20), BLUE, depth=-3)
    both, known = second_look.look_again(model, drawn, torch.tensor([500.0]), image, behind)
    assert geometry.to_boxes(both.where, SIDE, SIDE).round().tolist() == [[0, 0, 20, 20], [5, 5, 13, 13]]
    assert both.depth[1] < -3
    assert known[0] == 500
    assert known[1].isnan()
    kept, evidence, _ = worth.prune(model, both, image, behind, 0.3, known)
    assert kept.held.tolist() == [True, False]
    assert (evidence > 100).all()
