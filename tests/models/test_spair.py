"""SPAIR and SPAIR-P as modules: who knows whom, patches and whole images, and what every model promises."""

import copy

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from objectspace.config import Anneal, Stage
from objectspace.models import Spair, SpairP, create, load
from objectspace.models.parts.sequence import visited
from objectspace.models.parts.settings import InitConfig
from objectspace.models.parts.single import from_tiles, to_tiles
from objectspace.models.spair import SequentialModel, random_patches
from objectspace.models.spair import SpairConfig as Config
from objectspace.models.spair import SpairPConfig as PatchConfig
from objectspace.ops import geometry
from oracle.small_spair import sequential_model, small_spair, small_spair_p

STAGE = Stage(presence_prior=0.1, scale_prior_mean=-1.0, temperature=1.0, boundary_weight=1.0)
BOTH = pytest.mark.parametrize("config", [small_spair(), small_spair_p()], ids=["spair", "spair-p"])


def walk(model: SequentialModel, features: Tensor, seed: int = 0) -> Tensor:
    """What the cells tell their neighbours, (B, N, L), for leaf features (B, F, rows, columns)."""
    side = model.config.image_size[0] // model.config.foreground.grid[0]
    size = (features.shape[2] * side, features.shape[3] * side)
    images = torch.rand(len(features), 3, *size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    cells, what = model.foreground.walk(images, features, 1.0, False, None)
    places = (cells.scale.value.sigmoid(), cells.shift.value.tanh(), cells.depth.value.sigmoid())
    return torch.cat([cells.presence[..., None], *places, what.value], dim=-1)


def leaf_features(model: SequentialModel, seed: int = 1) -> Tensor:
    shape = (2, model.foreground.encoder.outputs, *model.config.foreground.grid)
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()


def knows(model: SequentialModel, cell: tuple[int, int]) -> Tensor:
    """Which cells' features a cell's latents depend on: (rows, columns)."""
    features = leaf_features(model)
    number = cell[0] * model.config.foreground.grid[1] + cell[1]
    walk(model, features)[:, number].sum().backward()
    return features.grad.abs().sum((0, 1)) > 0


def test_a_cell_knows_itself_and_those_visited_before_it_but_none_later():
    model = sequential_model(small_spair())
    numbers = torch.arange(16).view(4, 4)
    for cell in [(0, 0), (0, 2), (2, 0), (1, 2), (3, 3)]:
        seen = knows(model, cell)
        assert seen[cell]
        assert not seen[numbers > numbers[cell]].any()
    assert not knows(model, (0, 0))[numbers > 0].any()
    assert knows(model, (3, 3)).all()


@pytest.mark.parametrize(("reach", "expected"), [(1, [1, 1, 0, 0]), (2, [1, 1, 1, 0]), (3, [1, 1, 1, 1])])
def test_the_neighbourhood_says_how_far_a_cell_can_see(reach, expected):
    model = sequential_model(small_spair(neighbourhood=reach))
    assert knows(model, (1, 0))[0].tolist() == [bool(known) for known in expected]


def test_visited_neighbours_are_the_row_above_and_the_left():
    assert visited(1) == [(-1, -1), (-1, 0), (-1, 1), (0, -1)]
    assert len(visited(2)) == 12
    assert all(step < (0, 0) and max(map(abs, step)) <= 2 for step in visited(2))


@pytest.mark.parametrize("reach", [1, 2])
def test_a_cell_is_told_its_neighbours_latents_and_beyond_the_grid_the_edge(reach):
    model = sequential_model(small_spair((32, 48), (4, 6), neighbourhood=reach))
    heard: list[Tensor] = []
    model.foreground.context.register_forward_pre_hook(lambda _, inputs: heard.append(inputs[0][:, 0]))
    told = walk(model, leaf_features(model))
    edge = model.foreground.edge.expand(2, -1)
    assert len(heard) == 24, "every cell is told something"
    for number, near in enumerate(heard):
        row, column = divmod(number, 6)
        for part, (down, right) in zip(near.chunk(len(visited(reach)), dim=1), visited(reach), strict=True):
            other = (row + down, column + right)
            inside = other[0] >= 0 and 0 <= other[1] < 6
            expected = told[:, other[0] * 6 + other[1]] if inside else edge
            torch.testing.assert_close(part, expected, rtol=1e-12, atol=1e-12)


def test_the_edge_is_learned():
    model = sequential_model(small_spair())
    walk(model, leaf_features(model))[:, 0].sum().backward()
    assert model.foreground.edge.grad.abs().sum() > 0


def test_what_a_cell_finds_changes_what_its_later_neighbour_finds():
    model = sequential_model(small_spair())
    features = leaf_features(model).detach()
    before = walk(model, features)
    features[:, :, 1, 1] += 1
    changed = (walk(model, features) != before).any(-1).any(0).view(4, 4)
    assert changed[1, 1]
    assert changed[1, 2]
    assert changed[2, :3].all()
    assert not changed[0].any()
    assert not changed[1, 0]


@BOTH
def test_every_cell_is_attended_to_but_only_the_chosen_are_drawn(config):
    foreground = config.foreground.model_copy(update={"budget": 3})
    model = sequential_model(config.model_copy(update={"foreground": foreground})).eval()
    output = model(torch.rand(2, 3, *config.image_size, dtype=torch.float64), STAGE, sample=False)
    assert len(output.foreground.objects.where) == 6
    all_drawn = sequential_model(config).eval()(output.target, STAGE, sample=False)
    assert torch.equal(output.foreground.cells.where, all_drawn.foreground.cells.where)


def test_patches_are_pieces_of_their_images():
    images = torch.arange(2 * 40 * 50.0).view(2, 1, 40, 50).expand(-1, 3, -1, -1)
    places = set()
    for seed in range(40):
        patches = random_patches(images, (32, 32), torch.Generator().manual_seed(seed))
        for image, patch in zip(images, patches, strict=True):
            first = int(patch[0, 0, 0] - image[0, 0, 0])
            top, left = divmod(first, 50)
            assert torch.equal(patch, image[:, top : top + 32, left : left + 32])
            places.add((top, left))
    assert len(places) > 30
    assert max(top for top, _ in places) <= 8
    assert max(left for _, left in places) <= 18


def test_patches_are_for_training_with_a_generator_only():
    model, images = create(small_spair_p()), torch.rand(2, 3, 64, 64)
    generator = torch.Generator().manual_seed(0)
    patched = model.train()(images, STAGE, generator=generator)
    assert patched.target.shape == patched.reconstruction.shape == (2, 3, 32, 32)
    assert patched.foreground.cells.presence.shape == (2, 4)  # cells of 16 pixels
    for whole in (
        model(images, STAGE, sample=False, generator=generator),
        model(images, STAGE),
        model.eval()(images, STAGE, generator=generator),
    ):
        assert torch.equal(whole.target, images)
        assert whole.foreground.cells.presence.shape == (2, 16)


def test_an_image_of_one_patch_is_seen_the_same_in_training_and_in_evaluation():
    model = sequential_model(small_spair_p((32, 32), (4, 4)))
    images = torch.rand(2, 3, 32, 32, dtype=torch.float64)
    trained = model.train()(images, STAGE, generator=torch.Generator().manual_seed(3))
    generator = torch.Generator().manual_seed(3)
    random_patches(images, (32, 32), generator)  # draws the places, of which there is one
    seen = model.eval()(images, STAGE, generator=generator)
    torch.testing.assert_close(trained.loss, seen.loss, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(trained.reconstruction, seen.reconstruction, rtol=1e-9, atol=1e-9)


def test_a_cell_s_box_is_the_same_in_a_patch_and_in_the_whole_image():
    foreground = sequential_model(small_spair_p((64, 96), (8, 12))).foreground
    scale, shift = (torch.randn(1, 1, 2, dtype=torch.float64) for _ in range(2))
    whole, patch = torch.zeros(1, 3, 64, 96).double(), torch.zeros(1, 3, 32, 32).double()
    in_patch = geometry.to_boxes(foreground._to_where(patch, (4, 4), torch.tensor([1 * 4 + 2]), scale, shift), 32, 32)
    corner = torch.tensor([40.0, 24.0] * 2).double()  # the patch begins at cell (3, 5)
    in_whole = geometry.to_boxes(foreground._to_where(whole, (8, 12), torch.tensor([4 * 12 + 7]), scale, shift), 64, 96)
    torch.testing.assert_close(in_patch + corner, in_whole)


def test_every_patch_of_a_whole_image_has_a_background_of_its_own():
    model = sequential_model(small_spair_p()).eval()
    images = torch.rand(1, 3, 64, 64, dtype=torch.float64)
    before = model(images, STAGE, sample=False).background.image
    images[:, :, 32:, :32] = 0.5
    changed = (model(images, STAGE, sample=False).background.image != before).any(1)[0]
    assert changed[32:, :32].any()
    changed[32:, :32] = False
    assert not changed.any()
    alone = model.background(images[:, :, :32, 32:], False, None).image
    torch.testing.assert_close(alone, before[:, :, :32, 32:], rtol=1e-12, atol=1e-12)


def test_tiles_come_back_together():
    images = torch.rand(2, 3, 4, 9)
    assert torch.equal(to_tiles(images, (2, 3))[1], images[0, :, :2, 3:6])
    assert torch.equal(from_tiles(to_tiles(images, (2, 3)), (4, 9)), images)


@BOTH
def test_terms_are_per_image_and_the_loss_is_their_sum(config):
    output = create(config)(torch.rand(3, 3, *config.image_size), STAGE)
    terms = {"likelihood": output.log_likelihood, **output.kl, **output.penalties}
    assert all(term.shape == (3,) and term.isfinite().all() for term in terms.values())
    assert terms.keys() >= {"background", "what", "boundary"}
    torch.testing.assert_close(output.loss, -output.log_likelihood + sum(output.kl.values()) + terms["boundary"])


@BOTH
def test_an_image_is_seen_the_same_alone_and_in_company(config):
    model = sequential_model(config).eval()
    images = torch.rand(3, 3, *config.image_size, dtype=torch.float64)
    together = model(images, STAGE, sample=False)
    for number in range(3):
        alone = model(images[number : number + 1], STAGE, sample=False)
        torch.testing.assert_close(alone.reconstruction[0], together.reconstruction[number], rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(alone.loss[0], together.loss[number], rtol=1e-9, atol=1e-9)


@BOTH
def test_randomness_comes_from_the_generator_alone(config):
    model, images = create(config), torch.rand(2, 3, *config.image_size)
    state = torch.random.get_rng_state()
    for training in (True, False):
        model.train(training)
        first, second = (model(images, STAGE, generator=torch.Generator().manual_seed(5)).loss for _ in range(2))
        assert torch.equal(first, second)
        assert not torch.equal(first, model(images, STAGE, generator=torch.Generator().manual_seed(6)).loss)
    assert torch.equal(state, torch.random.get_rng_state())


@BOTH
def test_forward_changes_no_state_in_evaluation(config):
    model = create(config).eval()
    before = copy.deepcopy(model.state_dict())
    model(torch.rand(2, 3, *config.image_size), STAGE)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


@BOTH
def test_heads_start_at_their_priors(config):
    config = config.model_copy(update={"init": InitConfig(weight_factor=1e-6)})
    anneal = Anneal(scale_prior_mean=-1.7)
    output = create(config, anneal)(torch.rand(2, 3, *config.image_size), anneal.at(0), sample=False)
    cells = output.foreground.cells
    torch.testing.assert_close(cells.scale.mean, torch.full_like(cells.scale.mean, -1.7), atol=1e-3, rtol=0)
    torch.testing.assert_close(cells.scale.std, torch.full_like(cells.scale.std, 0.1), atol=1e-3, rtol=0)
    assert cells.probability.min() > 0.9


@BOTH
def test_every_parameter_is_in_one_group_and_learns(config):
    model = create(config)
    groups = model.parameter_groups()
    assert sum(len(group) for group in groups.values()) == len(list(model.parameters()))
    generator = torch.Generator().manual_seed(0)
    model.train()(torch.rand(2, 3, *config.image_size), STAGE, generator=generator).loss.mean().backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []


def visible_model(config) -> SequentialModel:
    """A model whose objects are opaque, so that there is something to see."""
    model = create(config, seed=1)
    assert isinstance(model, SequentialModel)
    with torch.no_grad():
        model.foreground.glimpse_decoder.dec_alpha.bias.fill_(4)
        model.foreground.heads.z_depth_net.weight.mul_(20)
    return model


@BOTH
def test_a_round_trip_through_a_folder_is_exact(config, tmp_path):
    model = visible_model(config)
    model.save_pretrained(tmp_path)
    back = load(tmp_path)
    assert type(back) is type(model)
    assert back.config == config
    image = np.random.default_rng(0).integers(0, 255, (50, 70, 3), dtype=np.uint8)
    mine, other = model.decompose(image, price=None)[0], back.decompose(image, price=None)[0]
    assert len(mine.objects) > 0
    assert np.array_equal(mine.boxes, other.boxes)
    assert np.array_equal(mine.reconstruction, other.reconstruction)


@BOTH
def test_images_of_any_size_are_taken_apart_and_drawn_again(config):
    model = visible_model(config)
    sizes = [(64, 64), (17, 90), (100, 33), (1, 1)]
    images = [np.random.default_rng(0).integers(0, 255, (*size, 3), dtype=np.uint8) for size in sizes]
    scenes = model.decompose(images, batch=3, price=None)
    assert [(scene.height, scene.width) for scene in scenes] == sizes
    for scene in scenes[:3]:
        assert len(scene.objects) > 0
        assert len(scene.components) == 1
        total = sum((item.mask.astype(int) for item in scene.objects), scene.components[0].mask.astype(int))
        assert total.max() == total.min() == 1, "every pixel belongs to an object or to the background"
        assert np.abs(model.render(scene).astype(int) - scene.reconstruction).max() <= 1
    bare = model.decompose(images[0], background=False, pictures=False, price=None)[0]
    assert bare.background is None
    assert np.array_equal(bare.boxes, scenes[0].boxes)
    assert model.decompose(images[0], background=True, pictures=False)[0].components[0].mask.any()


@BOTH
def test_scenes_are_sampled_from_the_prior(config):
    model = visible_model(config)
    first, again = (model.sample(3, torch.Generator().manual_seed(2), objects=4) for _ in range(2))
    assert len(first) == 3
    assert sum(len(scene.objects) for scene in first) > 0
    assert all(scene.reconstruction.shape == (*config.image_size, 3) for scene in first)
    assert all(np.array_equal(a.reconstruction, b.reconstruction) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0].background, first[1].background)


def test_the_paper_s_tables_make_the_nets():
    with torch.device("meta"):
        whole, patch = Spair(Config()), SpairP(PatchConfig())

    def layers(net: torch.nn.Module) -> list[tuple[int, ...]]:
        return [tuple(layer.weight.shape) for layer in net.modules() if isinstance(layer, torch.nn.Conv2d)]

    assert [shape[0] for shape in layers(whole.background.decoder)] == [
        *(256, 256 * 16, 256, 128 * 16, 128, 64 * 4, 64, 16 * 16, 16, 16, 3)
    ]
    assert [shape[0] for shape in layers(patch.background.decoder)] == [256, 2048, 128, 256, 64, 256, 16, 16, 3]
    assert [shape[0] for shape in layers(patch.background.encoder)] == [16, 32, 64, 128, 32]
    assert all(shape[2:] == (2, 2) for shape in layers(patch.background.encoder))
    assert layers(whole.background.decoder)[0][1] == 32
    assert layers(patch.background.decoder)[0][1] == 16
    assert (whole.config.capacity, patch.config.capacity) == ("256+1", "256+1")


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        (PatchConfig, {"patch": 24}, "multiples of 32"),
        (PatchConfig, {"patch": 96}, "whole patches of 96 x 96"),
        (PatchConfig, {"foreground": {"grid": 2}}, "whole cells of the grid, of 64 pixels"),
        (PatchConfig, {"background": {"encoder": {"channels": [4], "groups": [1]}}}, "the paper's five"),
        (Config, {"image_size": 120, "foreground": {"grid": 15}}, "multiples of 16"),
        (Config, {"background": {"decoder": {"channels": [4], "groups": [1]}}}, "at least five layers"),
        (Config, {"neighbourhood": 0}, "greater than or equal to 1"),
        (Config, {"neighbourhood": 10**9}, "less than or equal to 16"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(kind, change, said):
    with pytest.raises(ValidationError, match=said):
        kind.model_validate(change)
