"""The fast SPAIR and its literal transcription agree, in values and in gradients, on images and on patches."""

import copy

import pytest
import torch
from torch import Tensor

from objectspace.config import Stage
from objectspace.models.parts.grid import GridOutput
from objectspace.models.parts.single import SingleOutput
from objectspace.models.spair import SequentialModel
from oracle import spair_oracle
from oracle.agreement import assert_same, values
from oracle.choices import balanced
from oracle.small import kept_cells, looks_behind_first, present_cells, random_images, turns_of
from oracle.small_spair import sequential_model, small_spair, small_spair_p

STAGE = Stage(presence_prior=0.1, scale_prior_mean=-1.0, temperature=1.3, boundary_weight=0.7)
CASES = 8  # put together by chance
SIZES = [((32, 32), (4, 4)), ((32, 48), (2, 3)), ((48, 32), (6, 4)), ((16, 32), (4, 8)), ((64, 64), (1, 1))]


def draw_noise(
    model: SequentialModel, output: GridOutput, stage: Stage, sample: bool, generator: torch.Generator
) -> tuple[dict[str, Tensor] | None, Tensor | None, Tensor | None]:
    """The random numbers the model drew, in its order: cell by cell; the cells kept, and explored by turns."""
    count, cells = output.foreground.cells.presence.shape
    sizes = {"depth": 1, "scale": 2, "shift": 2, "what": model.config.foreground.what_dim}
    noise: dict[str, list[Tensor]] = {"presence": [], **{name: [] for name in sizes}}

    back = output.background
    assert isinstance(back, SingleOutput)

    def behind() -> Tensor:
        return torch.randn(back.latent.mean.shape, generator=generator, dtype=torch.float64)

    background = behind() if sample and looks_behind_first(stage) else None
    kept = kept_cells(count, cells, stage.dropped_cells, generator)
    for _ in range(cells if sample else 0):
        noise["presence"].append(torch.rand(count, generator=generator, dtype=torch.float64))
        for name, size in sizes.items():
            noise[name].append(torch.randn(count, size, generator=generator, dtype=torch.float64))
    turns = turns_of(count, cells, stage, output.foreground.objects.chosen, generator)
    if not sample:
        return None, kept, turns
    drawn = {name: torch.stack(parts) for name, parts in noise.items()}
    return drawn | {"background": behind() if background is None else background}, kept, turns


def assert_equal_in_values_and_gradients(
    model: SequentialModel, images: Tensor, stage: Stage = STAGE, sample: bool = False, seed: int = 0
) -> GridOutput:
    slow_model = copy.deepcopy(model)
    output = model(images, stage, sample=sample, generator=torch.Generator().manual_seed(seed))
    fast = values(output)
    generator = torch.Generator().manual_seed(seed)
    if output.target.shape != images.shape:  # patches: their places are drawn first
        patch, size = output.target.shape[2:], images.shape[2:]
        tops = torch.randint(size[0] - patch[0] + 1, (len(images),), generator=generator)
        lefts = torch.randint(size[1] - patch[1] + 1, (len(images),), generator=generator)
        images = torch.stack(
            [images[b, :, tops[b] : tops[b] + patch[0], lefts[b] : lefts[b] + patch[1]] for b in range(len(images))]
        )
    noise, kept, turns = draw_noise(model, output, stage, sample, generator)
    assert torch.equal(output.target, images)
    chosen = present_cells(output.foreground.objects.chosen)
    slow = spair_oracle.spair(slow_model, images, stage, chosen, noise, kept, turns)
    assert_same(fast, slow, model, slow_model)
    return output


CHOICES = {
    "size": SIZES,
    "count": [1, 2, 3],
    "neighbourhood": [1, 2, 3],
    "glimpse": [8, 16],
    "spread": [0.5, 3.0, 8.0],
    "budget": [None, 1, 3],
    "threshold": [0.0, 0.4],
    "fraction": [1, 2],
    "weighted": [False, True],
    "training": [False, True],
    "sample": [False, True],
    "wavefront": [False, True],
    "seed": range(CASES),
}


@pytest.mark.parametrize(list(CHOICES), balanced(CASES, **CHOICES))
def test_random_configurations(
    size,
    count,
    neighbourhood,
    glimpse,
    spread,
    budget,
    threshold,
    fraction,
    weighted,
    training,
    sample,
    wavefront,
    seed,
):
    foreground = {
        "glimpse": glimpse,
        "budget": budget,
        "presence_threshold": threshold,
        "presence_weighted_kl": weighted,
    }
    config = small_spair(
        size[0], size[1], foreground, {"fraction": fraction}, neighbourhood=neighbourhood, wavefront=wavefront
    )
    model = sequential_model(config, seed, spread).train(training)
    assert_equal_in_values_and_gradients(model, random_images(count, size[0], seed), STAGE, sample, seed)


def test_a_background_that_reads_smaller_images():
    model = sequential_model(small_spair((64, 32), (4, 2), background={"fraction": 4, "input_fraction": 2})).train()
    assert_equal_in_values_and_gradients(model, random_images(2, (64, 32), 5), sample=True)


def test_fixed_alpha_annealed_sigmas_and_an_epsilon_in_the_mixture():
    stage = Stage(
        presence_prior=1e-10,
        scale_prior_mean=-2,
        temperature=0.5,
        fixed_alpha=0.2,
        foreground_sigma=0.09,
        background_sigma=0.07,
    )
    model = sequential_model(small_spair(grid=(2, 2), mixture_epsilon=1e-5))
    assert_equal_in_values_and_gradients(model, random_images(2, (32, 32), 6), stage)


@pytest.mark.slow
@pytest.mark.parametrize("patch", [(32, 32), (64, 32)])
def test_patches_in_training(patch):
    model = sequential_model(small_spair_p((64, 96), (8, 12), patch=patch), spread=8.0).train()
    output = assert_equal_in_values_and_gradients(model, random_images(2, (64, 96), 7), sample=True, seed=7)
    assert output.target.shape == (2, 3, *patch)
    assert output.foreground.cells.presence.shape == (2, patch[0] * patch[1] // 64)


@pytest.mark.slow
@pytest.mark.parametrize("sample", [False, True])
def test_whole_images_made_of_patches(sample):
    model = sequential_model(small_spair_p((64, 96), (4, 6), neighbourhood=2)).eval()
    output = assert_equal_in_values_and_gradients(model, random_images(2, (64, 96), 8), sample=sample, seed=8)
    assert isinstance(output.background, SingleOutput)
    assert output.background.latent.mean.shape == (2, 6, 3)
