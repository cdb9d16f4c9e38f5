"""Decompose, render, sample: from anybody's images to scenes, and back to pictures."""

import dataclasses

import numpy as np
import pytest
import torch
from PIL import Image

from objectspace.errors import UserError
from objectspace.models import Space
from objectspace.scene import Scene
from oracle.small import small_config

UNTRAINED = {"price": None}  # such a model's objects are worth nothing


def visible_model(**options) -> Space:
    """A model whose objects are opaque, so that there is something to see."""
    model = Space.create(small_config(**options), seed=1)
    with torch.no_grad():
        model.foreground.glimpse_decoder.dec_alpha.bias.fill_(4)
        model.foreground.heads.z_depth_net.weight.mul_(20)
    return model.eval()


@pytest.fixture(scope="module")
def model() -> Space:
    return visible_model()


@pytest.fixture(scope="module")
def picture() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 255, (40, 56, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def scene(model, picture) -> Scene:
    return model.decompose(picture, **UNTRAINED)[0]


def same(a: Scene, b: Scene) -> bool:
    return np.array_equal(a.boxes, b.boxes) and np.array_equal(a.reconstruction, b.reconstruction)


def test_every_kind_of_input_gives_the_same_scene(model, picture, scene, tmp_path):
    Image.fromarray(picture).save(tmp_path / "picture.png")
    tensor = torch.from_numpy(picture).permute(2, 0, 1)
    inputs = [
        picture,
        tmp_path / "picture.png",
        str(tmp_path / "picture.png"),
        Image.fromarray(picture),
        tensor,
        tensor / 255,
    ]
    scenes = model.decompose(inputs, **UNTRAINED)
    assert len(scenes) == 6
    assert all(same(scene, other) for other in scenes)
    assert same(scene, model.decompose(tmp_path / "picture.png", **UNTRAINED)[0])
    assert same(scene, model.decompose(tensor[None], **UNTRAINED)[0])


def test_scenes_have_the_size_of_their_images(model):
    sizes = [(32, 32), (17, 90), (100, 33), (1, 1), (64, 64)]
    scenes = model.decompose([np.full((*size, 3), 90, np.uint8) for size in sizes], batch=2, price=None)
    assert [(scene.height, scene.width) for scene in scenes] == sizes
    for scene in scenes:
        assert scene.reconstruction.shape == (scene.height, scene.width, 3)
        for item in scene.objects:
            assert item.mask.shape == (scene.height, scene.width)


def test_no_images_give_no_scenes(model):
    assert model.decompose([]) == []


def test_boxes_are_tight_around_masks_and_masks_are_disjoint(scene):
    assert sum(item.mask.any() for item in scene.objects) > 1
    total = np.zeros((scene.height, scene.width), int)
    for item in scene.objects:
        rows, columns = np.nonzero(item.mask)
        if len(rows):
            assert item.box == (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
        assert 0.5 < item.score <= 1
        assert item.what.shape == (3,)
        total += item.mask
    total += sum(component.mask.astype(int) for component in scene.components)
    assert (total == 1).all()


def test_where_boxes_scale_with_the_image(model):
    image = np.full((32, 32, 3), 77, np.uint8)
    small = model.decompose(image, **UNTRAINED)[0]
    large = model.decompose(np.full((64, 96, 3), 77, np.uint8), **UNTRAINED)[0]
    np.testing.assert_allclose(large.where_boxes[:3], small.where_boxes[:3] * [3, 2, 3, 2], rtol=1e-4, atol=1e-3)


def test_without_a_price_every_cell_above_the_threshold_is_there_with_its_presence(model, picture):
    probability = model.foreground.find(torch.rand(1, 3, 32, 32), model.final, 0.0).presence
    assert len(probability) == 16
    every = model.decompose(picture, 0.0, price=None)[0]
    assert len(every.objects) == 16
    assert len(model.decompose(picture, 0.0, price=0)[0].objects) < 16
    published = model.decompose(picture, 0.0, published=True)[0]
    assert np.array_equal(published.boxes, published.where_boxes)
    assert np.array_equal(published.where_boxes, every.where_boxes)
    assert np.array_equal(published.scores, every.scores)


def test_a_negative_price_is_refused(model, picture):
    with pytest.raises(UserError, match="price"):
        model.decompose(picture, price=-1)


ASKED = [(False, False), (True, False), (False, True)]  # background, pictures
SIZES = [(40, 56), (32, 32), (40, 56), (3, 200), (1, 1), (40, 56)]


@pytest.fixture(scope="module")
def pictures() -> list[np.ndarray]:
    generator = np.random.default_rng(1)
    return [generator.integers(0, 255, (*size, 3), dtype=np.uint8) for size in SIZES]


@pytest.mark.parametrize(("background", "pictured"), ASKED)
def test_what_is_asked_for_does_not_depend_on_what_is_not(model, pictures, background, pictured):
    full = model.decompose(pictures, **UNTRAINED)
    part = model.decompose(pictures, background=background, pictures=pictured, **UNTRAINED)
    assert sum(len(scene.objects) for scene in full) > 10
    for left, right in zip(full, part, strict=True):
        assert np.array_equal(left.boxes, right.boxes)
        assert np.array_equal(left.where_boxes, right.where_boxes)
        assert np.array_equal(left.scores, right.scores)
        for a, b in zip(left.objects, right.objects, strict=True):
            assert np.array_equal(a.mask, b.mask)
            assert np.array_equal(a.what, b.what)
            assert (a.depth, a.evidence, a.whole_box) == (b.depth, b.evidence, b.whole_box)
            assert (b.crop is not None) == pictured
            assert not pictured or np.array_equal(a.crop, b.crop)
        assert len(right.components) == (3 if background else 0)
        for a, b in zip(left.components[: len(right.components)], right.components, strict=True):
            assert np.array_equal(a.mask, b.mask)
            assert b.image is None
        assert right.reconstruction is None
        assert right.background is None
        assert (right.foreground is not None) == pictured
        assert not pictured or np.array_equal(left.foreground, right.foreground)
        assert not pictured or np.array_equal(left.alpha, right.alpha)


def test_a_scene_without_pictures_is_small(model):
    image = np.random.default_rng(2).integers(0, 255, (128, 128, 3), dtype=np.uint8)
    whole, bare = (model.decompose(image, background=asked, pictures=asked)[0].to_json() for asked in (True, False))
    assert len(bare) < 15_000
    assert len(bare) < len(whole) / 10


def test_nothing_is_computed_in_vain(model, picture, monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError("this was not asked for")

    glimpses: list[int] = []
    handle = model.foreground.glimpse_encoder.register_forward_pre_hook(lambda _, given: glimpses.append(len(given[0])))
    model.decompose(picture, pictures=False)
    monkeypatch.setattr("objectspace.models.parts.scenes.draw", refuse)
    monkeypatch.setattr("objectspace.models.parts.scenes.to_picture", refuse)
    scene = model.decompose(picture, threshold=0.9, background=False, pictures=False, **UNTRAINED)[0]
    handle.remove()
    assert len(scene.objects) == glimpses[1] < glimpses[0] <= 16


def test_images_drawn_together_and_in_parts_are_the_same(model, pictures, monkeypatch):
    together = model.decompose(pictures, batch=6, **UNTRAINED)
    assert all(scene.objects for scene in together), "or nothing is compared"
    monkeypatch.setattr("objectspace.models.parts.scenes._CANVAS", 2 * 40 * 56)
    for one, two in zip(together, model.decompose(pictures, batch=6, **UNTRAINED), strict=True):
        assert same(one, two)
        assert all(np.array_equal(a.mask, b.mask) for a, b in zip(one.objects, two.objects, strict=True))


def test_a_scene_does_not_depend_on_the_others_in_its_batch(model, pictures):
    for picture, one in zip(pictures, model.decompose(pictures, batch=6, **UNTRAINED), strict=True):
        alone = model.decompose(picture, **UNTRAINED)[0]
        assert len(alone.objects) == len(one.objects)
        np.testing.assert_allclose(alone.where_boxes, one.where_boxes, atol=1e-3)
        assert np.abs(alone.reconstruction.astype(int) - one.reconstruction).max() <= 1  # nets round by batch size


def test_a_batch_of_no_images_is_refused(model, picture):
    with pytest.raises(UserError, match="batch"):
        model.decompose(picture, batch=0)


def test_a_high_threshold_gives_no_objects(model, picture):
    scene = model.decompose(picture, threshold=1.0)[0]
    assert scene.objects == ()
    assert np.array_equal(scene.reconstruction, scene.background)


def test_decompose_leaves_the_mode_and_draws_nothing(model, picture):
    state = torch.random.get_rng_state()
    model.train()
    model.decompose(picture)
    assert model.training
    assert torch.equal(state, torch.random.get_rng_state())
    model.eval()


@pytest.mark.parametrize(
    "image",
    [
        "nothing.png",
        np.zeros((4, 4, 7), np.uint8),
        np.zeros((4, 4, 3), np.int64),
        torch.zeros(1, 4, 4),
        torch.full((3, 4, 4), 255.0),
        torch.full((3, 4, 4), float("nan")),
        np.zeros((0, 4, 3), np.uint8),
        42,
    ],
)
def test_what_is_no_image_is_refused_clearly(model, image):
    with pytest.raises(UserError, match="image"):
        model.decompose([image])


def test_a_broken_file_is_refused_clearly(model, tmp_path):
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    with pytest.raises(UserError, match=r"broken\.png"):
        model.decompose(tmp_path / "broken.png")


def test_odd_modes_are_read(model, picture):
    modes = [Image.fromarray(picture).convert(mode) for mode in ("L", "P", "RGBA", "CMYK", "1")]
    assert len(model.decompose([*modes, picture[:, :, 0]])) == 6


def test_rendering_a_scene_gives_its_reconstruction(model, scene):
    assert np.abs(model.render(scene).astype(int) - scene.reconstruction).max() <= 1


BEYOND = [
    {"foreground": {"margin": 0.3, "premultiplied": False}},
    {"background": {"stills": 2}},
    {"background": {"stills": 1, "components": 0}},
]


@pytest.mark.parametrize("options", BEYOND, ids=str)
def test_a_margin_and_stills_are_drawn_as_they_were_found(options, picture):
    model = visible_model(**options)
    scene = model.decompose(picture, price=None)[0]
    assert scene.objects
    assert len(scene.components) == model.config.parts
    assert np.abs(model.render(scene).astype(int) - scene.reconstruction).max() <= 1
    assert model.sample(1, torch.Generator().manual_seed(0), objects=3)[0].reconstruction is not None


def test_a_glimpse_is_the_object_and_a_margin(model):
    wide, images = visible_model(foreground={"margin": 0.5}), torch.rand(1, 3, 32, 32)
    objects, larger = (each(images, sample=False).foreground.objects for each in (model, wide))
    assert torch.equal(objects.frame, objects.where)
    torch.testing.assert_close(larger.where, objects.where)
    torch.testing.assert_close(larger.frame[:, :2], 1.5 * objects.where[:, :2])
    torch.testing.assert_close(larger.frame[:, 2:], objects.where[:, 2:])


def test_rendering_an_edited_scene(model, scene):
    none = dataclasses.replace(scene, objects=())
    assert np.array_equal(model.render(none), scene.background)
    first = scene.objects[0]
    moved = dataclasses.replace(first, where_box=tuple(np.array(first.where_box) + 5))
    resized = dataclasses.replace(first, where_box=(5, 5, 50, 38))
    restyled = dataclasses.replace(first, what=scene.objects[1].what)
    pictures = [model.render(dataclasses.replace(scene, objects=(item,))) for item in (first, moved, resized, restyled)]
    assert all(not np.array_equal(pictures[0], other) for other in pictures[1:])


def test_bringing_an_object_forward_shows_it(model, scene):
    first, second = (dataclasses.replace(item, where_box=(10, 10, 30, 30)) for item in scene.objects[:2])

    def draw(a: float, b: float) -> np.ndarray:
        objects = (dataclasses.replace(first, depth=a), dataclasses.replace(second, depth=b))
        return model.render(dataclasses.replace(scene, objects=objects))

    alone = model.render(dataclasses.replace(scene, objects=(first,)))
    front, behind = (np.abs(draw(*depths).astype(int) - alone).sum() for depths in ((-6, 6), (6, -6)))
    assert front < behind


def test_what_cannot_be_rendered_is_refused_clearly(model, scene):
    with pytest.raises(UserError, match="background"):
        model.render(dataclasses.replace(scene, background=None))
    strange = dataclasses.replace(scene.objects[0], what=np.zeros(9, np.float32))
    with pytest.raises(UserError, match="9 numbers"):
        model.render(dataclasses.replace(scene, objects=(strange,)))
    with pytest.raises(UserError, match="what"):
        model.render(dataclasses.replace(scene, objects=(dataclasses.replace(strange, what=None),)))


def test_samples_follow_the_generator_and_the_expected_count(model):
    first, second = (model.sample(3, torch.Generator().manual_seed(1), objects=8) for _ in range(2))
    assert all(same(a, b) for a, b in zip(first, second, strict=True))
    assert (first[0].height, first[0].width) == (32, 32)
    assert sum(len(scene.objects) for scene in first) > 3
    assert all(scene.objects == () for scene in model.sample(2, objects=0))
    with pytest.raises(UserError, match="cells"):
        model.sample(1, objects=1000)


def test_a_bgr_model_speaks_rgb_to_the_outside(picture):
    rgb, bgr = visible_model(), visible_model(channels="bgr")
    bgr.load_state_dict(rgb.state_dict())
    left, right = (of.decompose(p, **UNTRAINED)[0] for of, p in ((rgb, picture), (bgr, picture[:, :, ::-1])))
    assert left.objects, "or nothing is compared"
    assert all(np.array_equal(a.mask, b.mask) for a, b in zip(left.objects, right.objects, strict=True))
    assert np.array_equal(left.reconstruction, right.reconstruction[:, :, ::-1])
    assert np.abs(bgr.render(right).astype(int) - right.reconstruction).max() <= 1


@pytest.mark.parametrize("images", [None, 7, [None]])
def test_what_is_no_image_is_refused_in_words(model, images):
    with pytest.raises(UserError, match="give a PIL image"):
        model.decompose(images)


def test_a_seed_is_no_generator(model):
    with pytest.raises(UserError, match=r"manual_seed\(7\)"):
        model.sample(1, generator=7)
