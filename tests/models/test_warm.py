"""The warm start: regions that the background does not explain become what cells should hold."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from scipy import ndimage
from torch import Tensor

from objectspace.config import Stage
from objectspace.errors import UserError
from objectspace.geometry.regions import Region, find_regions
from objectspace.models import Genesis, create
from objectspace.models.parts import targets, warm
from objectspace.models.parts.cells import Cells
from objectspace.models.parts.foreground import Foreground
from objectspace.models.parts.grid import GridModel
from objectspace.models.parts.targets import REACH, Targets, find_targets
from objectspace.ops import geometry
from objectspace.ops.distributions import Gaussian
from oracle.mixtures import small_genesis
from oracle.small import small_config
from oracle.small_spair import small_spair

STAGE = Stage(presence_prior=0.1, scale_prior_mean=-1.0, temperature=1.0, unknown=0.1, warm=0.5)
GROUND = torch.tensor([0.2, 0.3, 0.4])


def connected(unexplained: np.ndarray, image: np.ndarray | None = None, least_pixels: int = 4) -> list[Any]:
    """Regions, as plainly as can be."""
    labels, _ = ndimage.label(unexplained > 0.5)
    regions = []
    for number, (rows, columns) in enumerate(ndimage.find_objects(labels), 1):
        mask = labels[rows, columns] == number
        box = (columns.start, rows.start, columns.stop, rows.stop)
        if mask.sum() >= least_pixels:
            regions.append(Region(box, mask))
    return regions


@pytest.fixture(autouse=True)
def plain_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (targets, warm):
        monkeypatch.setattr(module, "find_regions", connected)


def unexplained(*boxes: tuple[int, int, int, int, int], count: int = 2, size: tuple[int, int] = (32, 48)) -> Tensor:
    """Images with boxes x0 y0 x1 y1, each of the image numbered first, unexplained."""
    left = torch.zeros(count, *size)
    for number, x0, y0, x1, y1 in boxes:
        left[number, y0:y1, x0:x1] = 0.9
    return left


def find(left: Tensor, cell: int = 8) -> Targets:
    return find_targets(torch.rand(len(left), 3, *left.shape[1:]), left, stand_in(cell, left.shape[1:]))


def stand_in(cell: int, size: tuple[int, int]) -> Any:
    """What the warm start asks of a foreground."""
    foreground = SimpleNamespace(cell=cell, image_size=size)
    foreground.to_latents = partial(Foreground.to_latents, foreground)
    return foreground


def test_a_region_teaches_the_cell_at_its_centre():
    targets = find(unexplained((0, 17, 9, 22, 15), (1, 40, 0, 48, 3), (1, 0, 28, 9, 32)))
    assert targets.image.tolist() == [0, 1, 1]
    assert targets.cell.tolist() == [6 + 2, 24 + 5, 24 + 18]  # of 4 x 6 cells


def test_its_latents_give_its_box_back():
    boxes = [(0, 17, 9, 22, 15), (1, 40, 0, 48, 3), (1, 0, 28, 9, 32)]
    targets = find(unexplained(*boxes))
    said = [
        geometry.to_where(scale[None, None], shift[None, None], 4, 6, numbers=cell[None] % 24)[0, 0]
        for scale, shift, cell in zip(targets.scale, targets.shift, targets.cell, strict=True)
    ]
    given = torch.tensor([box[1:] for box in boxes], dtype=torch.float32)
    torch.testing.assert_close(geometry.to_boxes(torch.stack(said), 32, 48), given, rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(geometry.to_boxes(targets.where, 32, 48), given, rtol=1e-5, atol=1e-4)


def test_of_two_in_one_cell_the_one_further_off_its_middle_goes_to_a_neighbour():
    first, second = (0, 8, 8, 11, 10), (0, 10, 11, 15, 14)
    targets = find(unexplained(first, second))
    assert targets.cell.tolist() == [1, 7]  # above, and their own
    boxes = geometry.to_boxes(targets.where, 32, 48)
    torch.testing.assert_close(boxes, torch.tensor([first[1:], second[1:]], dtype=torch.float32))
    assert (targets.shift.tanh().abs() < REACH).all()


def test_a_region_is_left_out_when_every_cell_within_reach_is_taken():
    left, taken = unexplained((0, 17, 9, 22, 15)), torch.zeros(2, 24, dtype=torch.bool)
    own = find(left).cell.item()
    taken[0, own] = True
    foreground = stand_in(8, (32, 48))
    images = torch.rand(2, 3, 32, 48)
    beside = find_targets(images, left, foreground, taken=taken).cell.item()
    assert beside == own + 1 or beside == own - 1 or abs(beside - own) == 6
    taken[0] = True
    assert len(find_targets(images, left, foreground, taken=taken).cell) == 0


def test_what_covers_too_much_or_too_little_is_no_object():
    assert len(find(unexplained((0, 0, 0, 25, 16), (1, 3, 3, 4, 6))).cell) == 0  # 400 of 1536 pixels; 3 pixels
    assert len(find(unexplained((0, 0, 0, 24, 16))).cell) == 1


def test_a_mask_holds_the_region_s_own_pixels():
    left = unexplained((0, 17, 9, 22, 15))
    left[0, 9, 17] = 0  # a corner
    mask = find(left).masks
    assert mask.shape == (1, 1, 32, 48)
    assert torch.equal(mask[0, 0] > 0, left[0] > 0.5)


def discs(count: int, seed: int, side: int = 32) -> tuple[Tensor, list[np.ndarray]]:
    """Discs of one colour each on a plain ground that do not touch, and their boxes."""
    generator = np.random.default_rng(seed)
    rows, columns = np.mgrid[:side, :side] + 0.5
    images, boxes = GROUND[:, None, None].repeat(count, 1, side, side).view(count, 3, side, side).clone(), []
    for image in images:
        taken, found = np.zeros((side, side), bool), []
        for _ in range(2):
            radius = generator.uniform(3.5, 6)
            x, y = generator.uniform(radius, side - radius, 2)
            disc = (rows - y) ** 2 + (columns - x) ** 2 < radius**2
            if not (ndimage.binary_dilation(disc, iterations=2) & taken).any():
                taken |= disc
                image[:, torch.from_numpy(disc)] = torch.from_numpy(generator.uniform(0.6, 1, (3, 1))).float()
                where_rows, where_columns = np.nonzero(disc)
                found.append([where_columns.min(), where_rows.min(), where_columns.max() + 1, where_rows.max() + 1])
        boxes.append(np.array(found, np.float64))
    return images, boxes


WIDE = {
    "glimpse": 8,
    "encoder": {"channels": (16,) * 6, "groups": (4,) * 6},
    "residual": {"channels": (16, 16), "groups": (4, 4)},
    "residual_encoder": {"channels": (16,), "groups": (4,)},
    "glimpse_encoder": {"channels": (8,) * 6, "groups": (2,) * 6},
    "glimpse_decoder": {"channels": (8, 8, 8), "groups": (2, 2, 2)},
}


def on_plain_ground(**foreground: Any) -> GridModel:
    """A model whose background is the ground, and nothing else."""
    background = {"stills": 1, "components": 0, "sigma": 0.1}
    init = {"weight_factor": 1.0, "presence_bias": -0.2, "alpha_bias": 0.0}
    model = create(small_config(foreground=WIDE | foreground, background=background, init=init), seed=0)
    with torch.no_grad():
        model.background.pictures.copy_(GROUND[:, None, None].expand(3, 32, 32))
    assert isinstance(model, GridModel)
    return model


@pytest.fixture(params=["space", "spair"])
def model(request: pytest.FixtureRequest) -> GridModel:
    model = create(small_config() if request.param == "space" else small_spair())
    assert isinstance(model, GridModel)
    return model


def test_presence_where_and_glimpses_learn_and_the_background_does_not(model):
    images, _ = discs(4, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warm, "find_regions", lambda left, picture, least_pixels: connected(picture[..., 0] > 0.5))
        output = model.warm_start(images, STAGE, generator=torch.Generator().manual_seed(0))
    assert (output.objects > 0).all()
    output.loss.mean().backward()
    moved = {name for name, each in model.named_parameters() if each.grad is not None and each.grad.any()}
    front = model.foreground
    taught = [
        *(f"heads.z_{name}_net.weight" for name in ("pres", "scale", "shift", "depth")),
        "glimpse_encoder.enc_what.weight",
    ]
    assert {f"foreground.{name}" for name in taught} <= moved
    assert all(any(name.startswith(f"foreground.{part}") for name in moved) for part, _ in front.named_children())
    assert not any(name.startswith("background.") for name in moved)


def test_an_image_without_regions_teaches_that_there_is_nothing():
    model = on_plain_ground()
    images = GROUND[None, :, None, None].expand(2, 3, 32, 32)
    output = model.warm_start(images, STAGE, generator=torch.Generator().manual_seed(0))
    assert output.objects.tolist() == [0, 0]
    output.loss.mean().backward()
    assert output.loss.isfinite().all()
    assert (model.foreground.heads.z_pres_net.bias.grad > 0).all(), "presence should fall"


def test_what_is_cheap_at_first():
    model, (images, _) = on_plain_ground(), discs(4, 0)
    prices = []
    for done in (0.0, 1.0):
        prices.append(model.warm_start(images, replace(STAGE, warm=done), sample=False).kl["what"])
    torch.testing.assert_close(prices[0], warm.FIRST_PRICE * prices[1])


@pytest.mark.slow
def test_discs_are_found_after_the_warm_start_alone():
    model, (images, _), steps = on_plain_ground(margin=0.2, premultiplied=False), discs(512, 1), 180
    optimiser = torch.optim.Adam(model.foreground.parameters(), lr=3e-3, fused=True)
    for step in range(steps):
        stage = replace(STAGE, warm=step / steps, scale_prior_std=0.2)
        optimiser.param_groups[0]["lr"] = 3e-3 * min(1.0, 2 * (1 - step / steps))
        generator = torch.Generator().manual_seed(step)
        some = torch.randint(len(images), (16,), generator=generator)
        loss = model.warm_start(images[some], stage, generator=generator).loss.mean()
        optimiser.zero_grad()
        loss.backward()
        for group in model.clip_groups():
            torch.nn.utils.clip_grad_norm_(group, 1.0)
        optimiser.step()
    pictures, boxes = discs(64, 2)
    with torch.no_grad():
        cells = model.eval()(pictures, STAGE, sample=False).foreground.cells
    found = [
        geometry.to_boxes(where[p > 0.5], 32, 32).numpy()
        for where, p in zip(cells.where, cells.probability, strict=True)
    ]
    hits = [
        max((overlap(box, other) for other in others), default=0) > 0.5
        for each, others in zip(boxes, found, strict=True)
        for box in each
    ]
    assert np.mean(hits) > 0.8, np.mean(hits)
    assert sum(map(len, found)) < 1.5 * len(hits)


def overlap(box: np.ndarray, other: np.ndarray) -> float:
    inner = np.clip(np.minimum(box[2:], other[2:]) - np.maximum(box[:2], other[:2]), 0, None).prod()
    return float(inner / ((box[2:] - box[:2]).prod() + (other[2:] - other[:2]).prod() - inner))


LESSON = replace(STAGE, warm=None, lesson=1.0, scale_prior_mean=-1.2)


def off(model: GridModel) -> GridModel:
    """The model with every cell absent."""
    with torch.no_grad():
        model.foreground.heads.z_pres_net.weight.zero_()
        model.foreground.heads.z_pres_net.bias.fill_(-3)
    return model


def test_what_nobody_explains_goes_on_teaching_places_and_looks_but_not_presence():
    model, (images, _) = off(on_plain_ground()), discs(4, 0)
    output = model(images, LESSON, sample=False)
    assert (output.penalties["lesson"] > 0).all()
    output.penalties["lesson"].sum().backward()
    moved = {name for name, each in model.named_parameters() if each.grad is not None and each.grad.any()}
    heads = {f"foreground.heads.z_{name}_net.weight" for name in ("scale", "shift", "depth")}
    assert heads | {"foreground.glimpse_encoder.enc_what.weight"} <= moved
    assert not any("z_pres_net" in name or name.startswith("background.") for name in moved)


def test_the_bound_does_not_see_the_lesson():
    model, (images, _) = off(on_plain_ground()), discs(4, 0)
    with_it, without = (model(images, stage, sample=False) for stage in (LESSON, replace(LESSON, lesson=0.0)))
    assert "lesson" not in without.penalties
    assert torch.equal(with_it.elbo, without.elbo)
    torch.testing.assert_close(with_it.loss, without.loss + with_it.penalties["lesson"])


def test_slivers_and_cells_that_hold_something_are_taught_nothing():
    model = off(on_plain_ground())
    images = GROUND[None, :, None, None].expand(1, 3, 32, 32).clone()
    images[:, :, 24:29, 20] = 1.0  # 5 pixels of 7 x 7 * 0.16 that are asked for
    assert model(images, LESSON, sample=False).penalties["lesson"].item() == 0
    images[:, :, 4:6, 4:20] = 1.0  # long and thin
    assert model(images, LESSON, sample=False).penalties["lesson"].item() == 0
    images[:, :, 4:12, 20:24] = 1.0
    assert model(images, LESSON, sample=False).penalties["lesson"].item() > 0
    cells = model.foreground.propose(images, 1.0, False, None)
    present = replace(cells, presence_logits=torch.full_like(cells.presence_logits, 3.0))
    left = (images[:, 0] > 0.9).float()
    missed = warm.lesson(model, images, left, None, present, LESSON, False, None)
    assert (missed.terms.item(), len(missed.cell)) == (0, 0)


def test_what_is_missed_is_worth_its_pixels_less_what_it_costs():
    model, (images, _) = off(on_plain_ground(premultiplied=False)), discs(2, 0)
    left = ((images - GROUND[:, None, None]).abs().amax(1) > 0.1).float()
    cells = model.foreground.propose(images, 1.0, False, None)
    missed = warm.lesson(model, images, left, None, cells, LESSON, False, None)
    assert len(missed.worth) == len(missed.cell) == len(missed.image) > 0
    lesson = warm.learn(model, images, left, replace(LESSON, warm=1.0), False, None)
    drawn, what = lesson.log_likelihood, lesson.kl["what"]  # of the same regions, a sum for each image
    pixels = lesson.targets.masks.flatten(1).sum(1)
    worth = drawn - what - torch.zeros(2).index_add(0, lesson.targets.image, pixels) * np.log(0.1)
    torch.testing.assert_close(torch.zeros(2).index_add(0, missed.image, missed.worth), worth)


def at(box: tuple[float, float, float, float], cell: int) -> tuple[Tensor, Tensor]:
    """The scale and shift (2,) with which a cell of 4 x 4 says a box in an image of 32 x 32."""
    where = geometry.from_boxes(torch.tensor([box]), 32, 32)
    scale, shift = geometry.to_latents(where, torch.tensor([cell]), 4, 4)
    return scale[0], shift[0]


def holding(*objects: tuple[int, tuple[float, float, float, float]]) -> Cells:
    """The cells of one image of 32 x 32, of which some hold boxes."""
    scale, shift, logits = torch.zeros(1, 16, 2), torch.zeros(1, 16, 2), torch.full((1, 16), -5.0)
    for cell, box in objects:
        scale[0, cell], shift[0, cell] = at(box, cell)
        logits[0, cell] = 5.0
    size, place = (Gaussian(each.requires_grad_(), torch.ones_like(each), each) for each in (scale, shift))
    nothing = torch.zeros(1, 16, 1)
    where = geometry.to_where(scale, shift, 4, 4)
    return Cells(logits, logits.sigmoid(), size, place, Gaussian(nothing, nothing + 1, nothing), where)


def taught(cells: Cells, *boxes: tuple[int, int, int, int]) -> Tensor:
    """What regions that the background leaves teach cells that hold something."""
    left = torch.zeros(1, 32, 32)
    for x0, y0, x1, y1 in boxes:
        left[0, y0:y1, x0:x1] = 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warm, "find_regions", find_regions)
        return warm._alone(stand_in(8, left.shape[1:]), cells, left, 4)


def test_a_region_that_holds_one_object_teaches_it_where_it_ends():
    cells = holding((5, (9.0, 9, 15, 16)))
    off = taught(cells, (8, 8, 16, 16))
    scale, shift = at((8, 8, 16, 16), 5)
    difference = torch.cat([cells.scale.mean[0, 5] - scale, cells.shift.mean[0, 5] - shift])
    torch.testing.assert_close(off, (0.5 * (difference / warm.ALONE_STD).square()).sum()[None])
    off.sum().backward()
    assert cells.scale.mean.grad.nonzero()[:, 1].unique().tolist() == [5]
    assert (cells.scale.mean.grad[0, 5] < 0).all(), "the box should grow"


def test_a_region_of_two_objects_or_of_much_more_than_one_teaches_nothing():
    one, other = (5, (9.0, 9, 15, 16)), (6, (16.0, 9, 23, 16))
    assert taught(holding(one, other), (8, 8, 24, 16)).item() == 0
    assert taught(holding(one), (8, 8, 24, 17)).item() == 0, "the object is less than 0.6 of it"
    assert taught(holding(one), (20, 20, 27, 27)).item() == 0, "it lies elsewhere"
    assert taught(holding(), (8, 8, 17, 16)).item() == 0
    assert taught(holding(one)).item() == 0
    assert taught(holding(one, other), (8, 8, 16, 16), (17, 9, 24, 16)).item() > 0, "each has its own"


def test_models_without_cells_have_no_warm_start():
    model = create(small_genesis())
    assert isinstance(model, Genesis)
    with pytest.raises(UserError, match=r"genesis has no warm start: set anneal\.warm_start = 0"):
        model.warm_start(torch.rand(1, 3, 32, 32), STAGE)
