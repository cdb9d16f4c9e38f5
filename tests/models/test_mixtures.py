"""What GENESIS and IODINE have in common: invariants, scenes of components, samples, saving."""

import copy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from helpers.sprites import few_sprites
from objectspace.data import Dataset
from objectspace.errors import UserError
from objectspace.evaluation.evaluate import evaluate
from objectspace.geometry.boxes import tight_box
from objectspace.models import Iodine, SceneModel, create, load
from objectspace.models.parts.mixture import owned
from objectspace.models.parts.pictures import Backdrops
from objectspace.scene import Scene
from oracle.mixtures import SMALL, small_mixture

SHAPE = (8, 3, 32, 32)
IMAGES: dict[str, Callable[[torch.Generator], Tensor]] = {
    "random": lambda generator: torch.rand(SHAPE, generator=generator),
    "black": lambda _: torch.zeros(SHAPE),
    "white": lambda _: torch.ones(SHAPE),
    "constant": lambda generator: torch.rand(8, 3, 1, 1, generator=generator).expand(SHAPE),
    "edges of the range": lambda generator: torch.rand(SHAPE, generator=generator).round(),
}


@pytest.fixture(params=sorted(SMALL))
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def model(kind: str) -> SceneModel:
    """A model in whose scenes several components own pixels."""
    model = small_mixture(SMALL[kind](), seed=2).float().eval()
    if isinstance(model, Iodine):
        with torch.no_grad():
            model.decoder.convolutions[0].weight[:, -2:].mul_(6)  # slots that know where they are
    return model


@pytest.fixture(scope="module")
def picture() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 255, (40, 56, 3), dtype=np.uint8)


def same(a: Scene, b: Scene) -> bool:
    masks = all(np.array_equal(one.mask, two.mask) for one, two in zip(a.components, b.components, strict=True))
    return masks and np.array_equal(a.reconstruction, b.reconstruction)


@pytest.mark.parametrize("images", IMAGES)
@pytest.mark.parametrize("sigma", [0.05, 0.7])
def test_terms_are_finite_and_masks_sum_to_one(kind: str, sigma: float, images: str) -> None:
    model = create(SMALL[kind](sigma=sigma)).train()
    generator = torch.Generator().manual_seed(1)
    output = model(IMAGES[images](generator), generator=generator)
    for name, term in {"likelihood": output.log_likelihood, **output.kl, **output.penalties}.items():
        assert term.shape == (8,), name
        assert term.isfinite().all(), name
    torch.testing.assert_close(output.loss, -output.elbo + sum(output.penalties.values()))
    output.loss.mean().backward()
    assert all(parameter.grad is None or parameter.grad.isfinite().all() for parameter in model.parameters())
    torch.testing.assert_close(output.masks.sum(1), torch.ones(8, 1, 32, 32))
    torch.testing.assert_close(output.reconstruction, (output.masks * output.means).sum(1))


def test_a_batch_of_one(kind: str) -> None:
    assert create(SMALL[kind]()).train()(torch.rand(1, 3, 32, 32)).means.shape == (1, 3, 3, 32, 32)


def test_an_image_is_seen_the_same_alone_and_in_company(model: SceneModel) -> None:
    model, images = model.double(), torch.rand(4, 3, 32, 32, dtype=torch.float64)
    together = model(images, sample=False)
    for number in range(4):
        alone = model(images[number : number + 1], sample=False)
        for name in ("means", "log_masks", "loss"):
            given, expected = getattr(alone, name)[0], getattr(together, name)[number]
            torch.testing.assert_close(given, expected, rtol=1e-9, atol=1e-9)


def test_forward_changes_no_state_and_randomness_comes_from_the_generator(model: SceneModel) -> None:
    before, state = copy.deepcopy(model.state_dict()), torch.random.get_rng_state()
    images = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    first, second, other = (model(images, generator=torch.Generator().manual_seed(seed)).loss for seed in (5, 5, 6))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)
    assert torch.equal(state, torch.random.get_rng_state())
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_all_parameters_have_one_optimiser(model: SceneModel) -> None:
    (group,) = model.parameter_groups().values()
    assert len(group) == len(list(model.parameters()))
    assert model.parameter_groups().keys() == {"background"}


def test_a_saved_model_does_the_same(model: SceneModel, picture: np.ndarray, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    again = load(tmp_path)
    assert type(again) is type(model)
    assert same(again.decompose(picture)[0], model.decompose(picture)[0])


def test_every_pixel_belongs_to_one_component_and_nothing_is_dropped(model: SceneModel, picture: np.ndarray) -> None:
    scene = model.decompose(picture)[0]
    assert scene.objects == ()
    assert len(scene.components) == model.config.parts
    assert np.array_equal(sum(part.mask.astype(int) for part in scene.components), np.ones((40, 56), int))
    assert sum(part.mask.any() for part in scene.components) == len(scene.found) > 1
    for part in scene.components:
        assert part.box == tight_box(part.mask)
        assert (part.box is None) == (not part.mask.any())
    assert scene.reconstruction.shape == (40, 56, 3)
    assert all(part.image.shape == (40, 56, 3) for part in scene.components)


def test_masks_are_enlarged_before_the_largest_is_taken(model: SceneModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slanted edge between two components stays smooth at eight times the size: no steps of eight pixels."""
    x, y = torch.meshgrid(torch.arange(32.0), torch.arange(32.0), indexing="xy")
    first = torch.sigmoid((x - 0.3 * y - 11) / 4)
    masks = torch.stack([first, 1 - first, torch.zeros_like(first)])[None]
    monkeypatch.setattr(model, "infer", lambda images, pictures: Backdrops(masks, None))
    scene = model.decompose(np.zeros((256, 256, 3), np.uint8), pictures=False)[0]
    edge = scene.components[0].mask[16:-16].argmax(1)
    assert np.abs(np.diff(edge)).max() <= 2
    assert scene.components[2].box is None


def test_images_of_any_size_and_kind(model: SceneModel, picture: np.ndarray) -> None:
    sizes = [(32, 32), (17, 90), (100, 33), (1, 1)]
    scenes = model.decompose([np.full((*size, 3), 90, np.uint8) for size in sizes], batch=2)
    assert [(scene.height, scene.width) for scene in scenes] == sizes
    grey = model.decompose(picture[:, :, 0])[0]
    assert same(grey, model.decompose(np.repeat(picture[:, :, :1], 3, axis=2))[0])
    assert model.decompose([]) == []
    for wrong in ({"batch": 0}, {"threshold": 2.0}):
        with pytest.raises(UserError, match=next(iter(wrong))):
            model.decompose(picture, **wrong)


def test_less_may_be_asked_for(model: SceneModel, picture: np.ndarray) -> None:
    full = model.decompose(picture)[0]
    less = model.decompose(picture, 0.9, background=False, pictures=False)[0]
    assert less.reconstruction is None
    assert all(part.image is None for part in less.components)
    assert np.array_equal(less.boxes, full.boxes)


def test_decompose_leaves_mode_gradients_and_random_state_alone(model: SceneModel, picture: np.ndarray) -> None:
    state = torch.random.get_rng_state()
    model.train()
    first = model.decompose(picture)[0]
    assert model.training
    assert same(first, model.decompose(picture)[0])
    assert torch.equal(state, torch.random.get_rng_state())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_bgr_model_speaks_rgb_to_the_outside(kind: str, picture: np.ndarray) -> None:
    rgb, bgr = (small_mixture(SMALL[kind](channels=order)).eval() for order in ("rgb", "bgr"))
    left, right = rgb.decompose(picture)[0], bgr.decompose(picture[:, :, ::-1])[0]
    assert np.array_equal(left.reconstruction, right.reconstruction[:, :, ::-1])


def test_samples_follow_the_generator(model: SceneModel) -> None:
    first, second = (model.sample(3, torch.Generator().manual_seed(1)) for _ in range(2))
    assert all(same(a, b) for a, b in zip(first, second, strict=True))
    assert not same(first[0], first[1])
    assert (first[0].height, first[0].width) == (32, 32)
    assert first[0].objects == ()
    assert model.sample(0) == []
    with pytest.raises(UserError, match="leave that out"):
        model.sample(1, objects=3)


def test_components_with_pixels_are_counted() -> None:
    log_masks = torch.tensor([[[0.7, 0.6], [0.3, 0.4], [0.0, 0.0]], [[0.2, 0.4], [0.1, 0.5], [0.7, 0.1]]]).log()
    assert owned(log_masks[:, :, None, None]).tolist() == [1, 2]


def test_the_evaluator_measures_their_scenes(model: SceneModel, tmp_path: Path) -> None:
    dataset = Dataset(few_sprites(tmp_path / "data", test=3), "test", (32, 32))
    report = evaluate(model.decompose(list(dataset.images)), dataset)
    assert report.predicted > 3
    assert report.visible is not None
    for number in (
        report.visible.ap50,
        report.visible.recall,
        report.squared_error,
        report.ari,
        report.fg_ari,
        report.mbo,
    ):
        assert number is not None
        assert np.isfinite(number)
