"""An image of any size reaches a model as the same bytes in training and when it is taken apart."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from helpers.writers import picture
from objectspace.config import ModelConfig, View
from objectspace.data import Dataset
from objectspace.data.sampler import Sampler
from objectspace.io.images import read_deep, read_image
from objectspace.io.paths import ImageFile
from objectspace.io.view import at_scale, tile_of
from objectspace.models import SceneModel, create
from objectspace.models.inputs import photo_of, prepare
from objectspace.training.batches import to_images
from oracle.mixtures import small_genesis
from oracle.small import small_config

PHOTOS = [(32, 48), (64, 96), (96, 48), (128, 480), (33, 47), (100, 33), (17, 90), (401, 299), (31, 49), (16, 96)]
PHOTOS += [(16, 24), (8, 48), (5, 7), (1, 1), (1, 300)]  # these grow, or grow in one direction
SIZES = [(32, 48), (48, 32), (32, 32), (16, 80)]


@pytest.fixture(scope="module", params=[".png", ".jpg", ".gif"])
def photos(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Image files of all sizes, in a split of a data set."""
    folder = tmp_path_factory.mktemp("photos") / "train" / "images"
    folder.mkdir(parents=True)
    paths = [folder / f"{number:02d}{request.param}" for number in range(len(PHOTOS))]
    for number, (path, size) in enumerate(zip(paths, PHOTOS, strict=True)):
        Image.fromarray(picture(number, *size)).save(path)
    return paths


def as_array(path: Path) -> NDArray[np.uint8]:
    return read_image(path)


def as_tensor(path: Path) -> Tensor:
    return torch.from_numpy(read_image(path)).permute(2, 0, 1)


WAYS: dict[str, Callable[[Path], Any]] = {
    "a path": lambda path: path,
    "an array": as_array,
    "an array of floats": lambda path: as_array(path) / 255,
    "a tensor": as_tensor,
    "a tensor of floats": lambda path: as_tensor(path) / 255,
    "an image": Image.open,
    "a frame, as the command reads it": lambda path: next(ImageFile(str(path)).frames())[1],
}


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_bytes_are_those_of_the_memory_map(size: tuple[int, int], photos: list[Path]) -> None:
    trained_on = Dataset(photos[0].parents[2], "train", size).images
    for path, expected in zip(photos, trained_on, strict=True):
        numbers = torch.from_numpy(expected.copy()).permute(2, 0, 1).float() / 255
        for way, read in WAYS.items():
            given = prepare(read(path), size)
            assert torch.equal(given.image, numbers), f"{path.name} as {way}"
            assert np.array_equal((given.pixels * 255).round().permute(1, 2, 0), read_image(path)), "the photo stays"


@pytest.fixture(scope="module")
def deep_photos(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Dark pictures of 12 bit in files of 16, some of bytes among them."""
    folder = tmp_path_factory.mktemp("deep") / "train" / "images"
    folder.mkdir(parents=True)
    for number, size in enumerate(PHOTOS):
        dark = picture(number, *size)
        words = dark[..., 0].astype(np.uint16) * 9 + 100
        Image.fromarray(words if number % 3 else dark).save(folder / f"{number:02d}.{'tif' if number % 2 else 'png'}")
    return sorted(folder.iterdir())


@pytest.mark.parametrize("view", [View(stretch="each", gamma=0.7), View(stretch="all", low=0.001, high=0.04)], ids=str)
def test_stretched_bytes_are_those_of_the_memory_map(view: View, deep_photos: list[Path]) -> None:
    size = (32, 48)
    trained_on = Dataset(deep_photos[0].parents[2], "train", size, view=view).images
    for path, expected in zip(deep_photos, trained_on, strict=True):
        for way in (path, Image.open(path), read_deep(path), next(ImageFile(str(path)).deep_frames())[1]):
            given = prepare(way, size, view=view)
            assert torch.equal(given.image, torch.from_numpy(expected.copy()).permute(2, 0, 1).float() / 255), path
    assert trained_on[1].std() > 20, "the little that a dark picture has is seen"


def test_tiles_of_the_memory_map_are_parts_of_the_picture_that_is_taken_apart(deep_photos: list[Path]) -> None:
    size, view = (16, 32), View(scale=0.7, stretch="each")
    dataset = Dataset(deep_photos[0].parents[2], "train", size, view=view)
    pictures = {path.name: at_scale(photo_of(path, 0, view), view.scale) for path in deep_photos}
    assert len(dataset) > 2 * len(pictures)
    assert {name.split("@")[0] for name in dataset.names[: len(pictures)]} == set(pictures), "the first ones are of all"
    for name, tile in zip(dataset.names, dataset.images, strict=True):
        path, place = name.split("@")
        left, top = map(int, place.split(","))
        assert np.array_equal(tile, tile_of(pictures[path], (top, left), size))


@pytest.mark.parametrize("config", [small_config(), small_config(channels="bgr"), small_genesis()])
def test_nets_read_the_same_numbers(config: ModelConfig, photos: list[Path]) -> None:
    dataset = Dataset(photos[0].parents[2], "train", config.image_size, config.channels)
    sampler = Sampler(len(photos), len(photos), seed=0)
    batch = to_images(dataset, sampler, 0, Fabric(accelerator="cpu"))
    trained_on = torch.empty_like(batch)
    trained_on[torch.from_numpy(sampler.indices(0, 0))] = batch
    assert torch.equal(read_by(create(config), photos), trained_on)


def read_by(model: SceneModel, paths: list[Path]) -> Tensor:
    """The images that the model's first net is given when files are taken apart."""
    first = next(module for module in model.modules() if isinstance(module, torch.nn.Conv2d))
    seen: list[Tensor] = []
    first.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0][:, :3].clone()))
    model.decompose(paths, background=True, pictures=False, batch=len(paths))
    return seen[0]
