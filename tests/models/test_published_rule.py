"""`decompose_published`: the objects as the published evaluation counts them."""

import numpy as np
import pytest
import torch

from objectspace.models import create
from objectspace.models.genesis import GenesisConfig
from objectspace.ops import geometry
from oracle.small import small_config


@pytest.fixture(scope="module")
def model():
    torch.set_num_threads(1)
    return create(small_config(), seed=1)


@pytest.fixture(scope="module")
def picture():
    return np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)


def test_every_cell_above_one_half_is_there_with_its_presence_and_its_where(model, picture):
    with torch.no_grad():
        images = torch.from_numpy(picture).permute(2, 0, 1)[None].float() / 255
        cells = model.eval()(images, sample=False).foreground.cells
    above = cells.probability[0] > 0.5
    (scene,) = model.decompose_published(picture)
    assert len(scene.objects) == int(above.sum()) > 0
    np.testing.assert_allclose(scene.scores, cells.probability[0][above].numpy(), atol=1e-5)
    boxes = geometry.to_boxes(cells.where[0][above], 32, 32).numpy()
    np.testing.assert_allclose(scene.where_boxes, boxes, atol=1e-3)


def test_our_rule_leaves_hidden_ones_out_and_this_one_does_not(model, picture):
    ours, published = model.decompose(picture)[0], model.decompose_published(picture)[0]
    assert len(ours.objects) < len(published.objects)


def test_every_box_is_the_latents_own(model, picture):
    (scene,) = model.decompose_published(picture)
    assert scene.objects
    assert all(item.box == item.where_box for item in scene.objects)


def test_a_model_without_cells_has_no_such_objects(picture):
    config = GenesisConfig(image_size=(32, 32), components=2)
    assert config.cells == 0
    assert create(config).decompose_published(picture) is None
