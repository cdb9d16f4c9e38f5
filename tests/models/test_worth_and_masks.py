"""Objects by their evidence, pixels by what explains them: against drawing everything again without each object."""

import dataclasses

import numpy as np
import pytest
import torch

from objectspace.models import Space, create
from objectspace.models.parts import visible, worth
from objectspace.models.parts.drawing import Drawables, draw
from objectspace.models.parts.pictures import Backdrops
from objectspace.ops import geometry
from objectspace.ops.compositing import colour_of
from objectspace.ops.mixtures import mix_pixels
from objectspace.scene import Scene
from oracle.small import small_config

GREY = 0.5
RED, BLUE = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


def drawables(boxes: list[list[float]], colours: list[tuple[float, float, float]], dtype=torch.float32) -> Drawables:
    """Opaque squares in an image of 32 x 32, the first the nearest."""
    count = len(boxes)
    where = geometry.from_boxes(torch.tensor(boxes, dtype=dtype).reshape(count, 4), 32, 32)
    return Drawables(
        image=torch.zeros(count, dtype=torch.long),
        where=where,
        frame=where,
        depth=torch.linspace(-1, 1, count, dtype=dtype),
        presence=torch.full((count,), 0.9, dtype=dtype),
        what=torch.zeros(count, 3, dtype=dtype),
        picture=torch.tensor(colours, dtype=dtype).reshape(count, 3, 1, 1).expand(count, 3, 8, 8),
        alpha=torch.full((count, 1, 8, 8), 0.97, dtype=dtype),
        cost=torch.full((count,), 5.0, dtype=dtype),
        held=torch.ones(count, dtype=torch.bool),
    )


@pytest.fixture
def model(monkeypatch) -> Space:
    """A model that sees grey behind everything."""

    def grey(images: torch.Tensor, pictures: bool) -> Backdrops:
        count, _, height, width = images.shape
        return Backdrops(images.new_ones(count, 1, height, width), images.new_full((count, 1, 3, height, width), GREY))

    model = Space.create(small_config(), seed=1).eval()
    monkeypatch.setattr(model, "infer_background", grey)
    return model


def seeing(model: Space, monkeypatch, objects: Drawables) -> Space:
    monkeypatch.setattr(model.foreground, "find", lambda *arguments: objects)
    return model


def painted(size: int, *areas: tuple[slice, slice, tuple[float, float, float]]) -> np.ndarray:
    image = np.full((size, size, 3), round(GREY * 255), np.uint8)
    for rows, columns, colour in areas:
        image[rows, columns] = np.round(np.array(colour) * 255)
    return image


def drawn_likelihood(model: Space, objects: Drawables, images: torch.Tensor, behind: torch.Tensor) -> torch.Tensor:
    config = model.config.foreground
    layers = draw(objects, config.grid[0] * config.grid[1], (len(images), *images.shape[2:]))
    mean = layers.image if config.premultiplied else colour_of(layers.image, layers.alpha)
    return mix_pixels(images, mean, layers.alpha, behind, config.sigma_at(model.final), model.final.unknown).sum()


def without(objects: Drawables, number: int) -> Drawables:
    return objects[torch.tensor([other for other in range(len(objects)) if other != number])]


BOXES = [[2.0, 2, 14, 14], [2.0, 2, 14, 14], [8.0, 6, 20, 18], [24.0, 24, 36, 36], [18.0, 2, 28, 10]]
COLOURS = [RED, (0.9, 0.1, 0.0), BLUE, BLUE, RED]


@pytest.mark.parametrize("unknown", [0.0, 0.1])
@pytest.mark.parametrize("premultiplied", [True, False])
def test_worth_is_what_the_image_loses_without_an_object(premultiplied, unknown):
    config = small_config()
    foreground = config.foreground.model_copy(update={"premultiplied": premultiplied})
    model = create(config.model_copy(update={"foreground": foreground}), seed=1).double().eval()
    model.final = dataclasses.replace(model.final, unknown=unknown)
    objects = drawables(BOXES, COLOURS, torch.float64)
    images = torch.rand(1, 3, 32, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    behind = -torch.ones_like(images)
    full = drawn_likelihood(model, objects, images, behind)
    expected = [full - drawn_likelihood(model, without(objects, i), images, behind) for i in range(len(objects))]
    torch.testing.assert_close(worth.worth(model, objects, images, behind), torch.stack(expected) - objects.cost)


def test_pruning_leaves_what_taking_away_one_after_another_leaves(model):
    image = painted(32, (slice(2, 14), slice(2, 14), RED), (slice(6, 18), slice(14, 20), BLUE))
    images = torch.from_numpy(image).permute(2, 0, 1)[None].double() / 255
    objects = drawables(BOXES, COLOURS, torch.float64)
    behind = worth.behind(model, images, model.infer_background(images, True))
    prices = 0.5 * worth.pixels_drawn(objects, (32, 32))
    left = list(range(len(objects)))
    while True:
        some = objects[torch.tensor(left)]
        full = drawn_likelihood(model, some, images, behind)
        lost = [full - drawn_likelihood(model, without(some, i), images, behind) for i in range(len(left))]
        profit = torch.stack(lost) - some.cost - prices[left]
        if profit.min() >= 0:
            break
        left.pop(int(profit.argmin()))
    kept, evidence, asked = worth.prune(model, objects, images, behind, 0.5)
    assert torch.equal(kept.where, objects.where[left])
    assert torch.equal(asked, prices[left])
    torch.testing.assert_close(evidence, profit + prices[left])
    assert 0 < len(left) < len(objects)


def test_of_two_that_draw_the_same_thing_one_stays(model, monkeypatch):
    image = painted(32, (slice(4, 16), slice(4, 16), RED))
    twice = drawables([[4.0, 4, 16, 16], [4.0, 4, 16, 16]], [RED, RED])
    scene = seeing(model, monkeypatch, twice).decompose(image)[0]
    assert len(scene.objects) == 1
    assert scene.objects[0].evidence > 100
    unfiltered = model.decompose(image, price=None)[0]
    assert len(unfiltered.objects) == 2
    assert all(item.evidence < 50 for item in unfiltered.objects)
    assert unfiltered.scores == pytest.approx([0.9, 0.9])
    published = model.decompose(image, published=True)[0]
    assert published.boxes == pytest.approx(np.array([[4, 4, 16, 16]] * 2), abs=1e-4)


def test_what_costs_more_than_it_gains_is_no_object(model, monkeypatch):
    objects = dataclasses.replace(drawables([[4.0, 4, 16, 16]], [RED]), cost=torch.tensor([1e5]))
    scene = seeing(model, monkeypatch, objects).decompose(painted(32, (slice(4, 16), slice(4, 16), RED)))[0]
    assert scene.objects == ()


def test_masks_are_as_sharp_as_the_photo(model, monkeypatch):
    """A disc of 200 pixels across in a model of 32 x 32 whose object is a square."""
    rows, columns = np.mgrid[:640, :640]
    disc = (rows - 320) ** 2 + (columns - 320) ** 2 < 100**2
    image = painted(640)
    image[disc] = 255, 0, 0
    square = drawables([[9.0, 9, 23, 23]], [RED])
    (found,) = seeing(model, monkeypatch, square).decompose(image)[0].objects
    assert np.array_equal(found.mask, disc)
    assert found.box == (221, 221, 420, 420)
    assert found.whole_box == pytest.approx((180, 180, 460, 460), abs=20)


def test_the_score_of_an_object_falls_with_what_hides_it(model, monkeypatch):
    image = painted(32, (slice(0, 16), slice(0, 24), BLUE), (slice(0, 16), slice(0, 16), RED))
    objects = drawables([[0.0, 0, 16, 16], [8.0, 0, 24, 16]], [RED, BLUE])
    near, far = seeing(model, monkeypatch, objects).decompose(image)[0].objects
    assert near.score == pytest.approx(0.9, abs=0.05)
    assert far.score == pytest.approx(0.9 / 2, abs=0.1)
    assert far.whole_box[0] < far.box[0] == 16
    assert far.mask[:16, 16:24].all()


def test_what_nobody_explains_is_unexplained(model, monkeypatch):
    image = painted(64, (slice(8, 24), slice(8, 24), RED), (slice(40, 56), slice(40, 56), BLUE))
    scene = seeing(model, monkeypatch, drawables([[4.0, 4, 12, 12]], [RED])).decompose(image)[0]
    assert scene.unexplained is None
    assert scene.unexplained_share is None
    model.final = dataclasses.replace(model.final, unknown=0.1)
    scene = model.decompose(image)[0]
    assert scene.unexplained[40:56, 40:56].all()
    assert scene.unexplained_share == pytest.approx(1 / 16)
    read = Scene.from_json(scene.to_json())
    assert np.array_equal(read.unexplained, scene.unexplained)
    assert (read.objects[0].evidence, read.objects[0].whole_box) == (
        scene.objects[0].evidence,
        scene.objects[0].whole_box,
    )


def test_a_scene_without_objects_has_a_background_and_the_unknown(model, monkeypatch):
    model.final = dataclasses.replace(model.final, unknown=0.1)
    scene = seeing(model, monkeypatch, drawables([], [])).decompose(painted(40))[0]
    assert scene.objects == ()
    assert scene.unexplained_share == 0


def test_an_object_too_faint_to_have_a_whole_box_has_that_of_its_latent(model, monkeypatch):
    faint = drawables([[4.0, 4, 16, 16]], [RED])
    faint = dataclasses.replace(faint, alpha=torch.full_like(faint.alpha, 0.3))
    (item,) = seeing(model, monkeypatch, faint).decompose(painted(32), price=None)[0].objects
    assert item.whole_box == item.where_box


def test_the_background_is_divided_where_the_photo_changes_not_where_the_masks_do():
    """Two components with a blurred border in the middle; the photo is four times as large, its edge elsewhere."""
    share = torch.linspace(0.95, 0.05, 32).expand(32, 32)
    means = torch.tensor([RED, BLUE]).view(1, 2, 3, 1, 1).expand(-1, -1, -1, 32, 32)
    photo = torch.tensor(RED).view(3, 1, 1).expand(3, 128, 128).clone()
    photo[:, :, 40:] = torch.tensor(BLUE).view(3, 1, 1)
    owner = visible.segment(photo[None], Backdrops(torch.stack([share, 1 - share])[None], means), 0.1)
    assert torch.equal(owner[0], (torch.arange(128) >= 40).long().expand(128, 128))


def test_a_shadow_belongs_to_what_it_falls_on():
    bright, dark = (0.8, 0.6, 0.4), (0.3, 0.2, 0.5)
    means = torch.tensor([bright, dark]).view(1, 2, 3, 1, 1).expand(-1, -1, -1, 8, 8)
    photo = 0.5 * torch.tensor(bright).view(1, 3, 1, 1).expand(-1, -1, 8, 8)
    both = Backdrops(torch.full((1, 2, 8, 8), 0.5), means)
    assert (visible.segment(photo, both, 0.1) == 1).all(), "the nearer colour"
    assert (visible.segment(photo, both, 0.1, shadow=0.2) == 0).all()


def test_a_pixel_that_no_component_explains_is_the_likeliest_ones():
    means = torch.zeros(1, 2, 3, 8, 8)
    masks = torch.stack([torch.full((8, 8), 0.3), torch.full((8, 8), 0.7)])[None]
    assert (visible.segment(torch.ones(1, 3, 8, 8), Backdrops(masks, means), 0.01) == 1).all()


@pytest.mark.parametrize(("shadow", "bottom"), [(0.0, 24), (0.2, 16)])
def test_a_shadow_that_an_object_draws_is_not_part_of_its_mask(shadow, bottom):
    """A red square with its shadow below, both in one glimpse, on a bright ground."""
    ground = torch.tensor((0.8, 0.7, 0.6)).view(1, 3, 1, 1)
    shade = 0.475 * ground  # one of the levels that shadows have
    objects = drawables([[8, 8, 24, 24]], [RED])
    picture = objects.picture.clone()
    picture[:, :, 4:] = shade
    photo = ground.expand(1, 3, 32, 32).clone()
    photo[:, :, 8:16, 8:24], photo[:, :, 16:24, 8:24] = torch.tensor(RED).view(1, 3, 1, 1), shade
    backdrops = Backdrops(torch.ones(1, 1, 32, 32), ground[:, None].expand(1, 1, 3, 32, 32))
    how = visible.Weighing(cells=4, objects=0.1, background=0.1, unknown=0.1, shadow=shadow)
    seen = visible.share_out(dataclasses.replace(objects, picture=picture), photo, backdrops, how)
    np.testing.assert_allclose(seen.boxes[0], [8, 8, 24, bottom], atol=1)
    assert (seen.unexplained < 0.5).all()


@pytest.mark.parametrize(
    ("alpha", "rows", "owned"),
    [
        pytest.param(0.3, 16, True, id="hardly drawn: the colour of its pixels in the photo"),
        pytest.param(0.97, 16, False, id="surely drawn: the colour that was drawn"),
        pytest.param(0.3, 1, False, id="too few pixels to say which colour it has"),
    ],
)
def test_where_an_object_is_hardly_drawn_its_colour_is_the_one_it_has_in_the_photo(alpha, rows, owned):
    """A red bar, drawn blue from the middle on; left of it so many rows of the photo are red, right of it all."""
    objects = drawables([[8, 8, 24, 24]], [RED])
    picture, opacity = objects.picture.clone(), objects.alpha.clone()
    picture[..., 4:], opacity[..., 4:] = torch.tensor(BLUE).view(1, 3, 1, 1), alpha
    photo = torch.full((1, 3, 32, 32), GREY)
    photo[:, :, 8 : 8 + rows, 8:11] = photo[:, :, 8:24, 17:24] = torch.tensor(RED).view(1, 3, 1, 1)
    backdrops = Backdrops(torch.ones(1, 1, 32, 32), torch.full((1, 1, 3, 32, 32), GREY))
    how = visible.Weighing(cells=4, objects=0.1, background=0.1, unknown=0.1)
    seen = visible.share_out(dataclasses.replace(objects, picture=picture, alpha=opacity), photo, backdrops, how)
    mask = seen.window(0, (32, 32)).whole
    assert mask[8, 8:11].all(), "what is drawn as it is in the photo"
    assert (mask[10:22, 18:22] == owned).all(), "away from the rims"
