"""Images of any size in tiles: what two tiles saw is one thing, in the image's own pixels, whatever the size."""

import numpy as np
import pytest

from objectspace import load
from objectspace.config import View
from objectspace.data.sample import Sample
from objectspace.data.sprites import SpritesSource
from objectspace.errors import UserError
from objectspace.geometry.boxes import iou
from objectspace.geometry.window import Window
from objectspace.io.images import resize
from objectspace.models import Space
from objectspace.models.parts import tiles
from objectspace.models.parts.seams import Place, Sight, join
from objectspace.scene import Object, Scene
from oracle.small import small_config

QUICK = {"background": False, "pictures": False}


@pytest.fixture(scope="module")
def model() -> Space:
    loaded = load("space-sprites")
    assert isinstance(loaded, Space)
    return loaded


@pytest.fixture(scope="module")
def sample() -> Sample:
    """Twelve things of 10 to 18 pixels on 150 x 110."""
    source = SpritesSource(height=110, width=150, least=12, most=12, smallest=0.09, largest=0.16, seed=3)
    return source.make("test", "", 0)[0]


def truth(sample: Sample) -> np.ndarray:
    return np.array([item.visible_box for item in sample.objects])


@pytest.mark.parametrize("scale", [1, 0.5, 2])
def test_every_thing_is_found_once_at_any_scale_in_the_images_own_pixels(
    model: Space, sample: Sample, scale: float
) -> None:
    height, width = (round(side / scale) for side in sample.image.shape[:2])
    [scene] = model.decompose(resize(sample.image, height, width), tile=True, scale=scale, **QUICK)
    assert (scene.height, scene.width) == (height, width)
    overlaps = iou(scene.boxes, truth(sample) / scale)
    assert overlaps.shape == (12, 12)
    assert (overlaps.max(0) > 0.5).all()
    for item in scene.objects:
        rows, columns = np.nonzero(item.mask)
        assert item.box == (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)


def test_pictures_and_maps_are_put_together_of_the_tiles(model: Space, sample: Sample) -> None:
    [scene] = model.decompose(sample.image, tile=True)
    assert scene.unexplained is not None
    assert scene.unexplained_share < 0.1
    assert scene.reconstruction is not None
    assert np.abs(scene.reconstruction.astype(int) - sample.image).mean() < 12
    assert scene.components == ()
    assert len(Scene.from_json(scene.to_json()).objects) == 12


def test_an_image_of_the_models_size_is_one_tile(model: Space, sample: Sample) -> None:
    image = np.ascontiguousarray(sample.image[:64, :64])
    [whole], [tiled] = model.decompose(image, **QUICK), model.decompose(image, tile=True, **QUICK)
    assert np.array_equal(tiled.boxes, whole.boxes)
    assert np.array_equal(tiled.unexplained, whole.unexplained)


@pytest.mark.parametrize("size", [(1, 1), (1, 200), (130, 1), (33, 95), (64, 65), (7, 5)])
@pytest.mark.parametrize("scale", [1, 0.3, 1.7])
def test_images_of_odd_sizes_are_covered(size: tuple[int, int], scale: float) -> None:
    small = Space.create(small_config(), seed=1).eval()
    [scene] = small.decompose(np.zeros((*size, 3), np.uint8), tile=True, scale=scale, price=None)
    assert (scene.height, scene.width) == size
    assert (scene.boxes[:, :2] >= 0).all()
    assert (scene.boxes[:, 2:] <= size[::-1]).all()


@pytest.mark.parametrize(("length", "shown"), [(300, 300), (301, 150), (40, 90), (20, 20), (1, 1), (97, 33)])
def test_cores_cover_every_pixel_once_and_lie_in_their_tiles(length: int, shown: int) -> None:
    spans = list(tiles._along(length, shown, 32, 9))
    assert [span.last for span in spans[:-1]] == [span.first for span in spans[1:]]
    assert (spans[0].first, spans[-1].last) == (0, length)
    for span in spans:
        assert span.own <= span.first <= span.last <= span.end <= length
        assert abs(span.own - span.corner * length / shown) <= max(1, length / shown) / 2 + 1e-9, "the same place"
        assert span.corner + 32 <= max(shown, 32)


def test_a_view_with_a_scale_needs_no_word_and_a_scale_needs_tiles(model: Space, sample: Sample) -> None:
    own = model.seeing(View(scale=1)).decompose(sample.image, **QUICK)[0]
    assert np.array_equal(own.boxes, model.decompose(sample.image, tile=True, **QUICK)[0].boxes)
    with pytest.raises(UserError, match="tile=True"):
        model.decompose(sample.image, scale=0.5)
    with pytest.raises(UserError, match="up to 16"):
        model.decompose(sample.image, tile=True, scale=float("nan"))


def seen(box: tuple[int, int, int, int], place: Place, score: float = 0.9) -> Sight:
    x0, y0, x1, y1 = box
    window = Window.of(np.ones((y1 - y0, x1 - x0), np.bool_), y0, x0, (40, 100))
    return Sight(Object(box, box, score, mask=window), window, place, (40, 100))


LEFT = Place((0, 0, 60, 40), (0.0, 0.0, 50.0, 40.0), 2.0)
RIGHT = Place((40, 0, 100, 40), (50.0, 0.0, 100.0, 40.0), 2.0)


@pytest.mark.parametrize(
    ("sights", "boxes"),
    [
        ([seen((10, 5, 20, 15), LEFT)], [(10, 5, 20, 15)]),
        ([seen((42, 5, 55, 15), LEFT), seen((42, 6, 55, 15), RIGHT)], [(42, 5, 55, 15)]),  # twice: the roomier one
        ([seen((50, 5, 60, 15), LEFT), seen((50, 5, 66, 15), RIGHT)], [(50, 5, 66, 15)]),  # cut by one rim
        ([seen((20, 5, 60, 15), LEFT), seen((40, 5, 90, 15), RIGHT)], [(20, 5, 90, 15)]),  # by both: joined
        ([seen((44, 5, 50, 15), LEFT), seen((51, 5, 58, 15), RIGHT)], [(44, 5, 50, 15), (51, 5, 58, 15)]),  # two things
        ([seen((54, 5, 58, 15), LEFT)], []),  # what the tile whose core it is does not see
        ([], []),
    ],
)
def test_what_two_tiles_saw_is_one(sights: list[Sight], boxes: list[tuple[int, ...]]) -> None:
    for order in (sights, sights[::-1]):
        assert sorted(item.box for item in join(order)) == boxes
