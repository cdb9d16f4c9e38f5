import contextlib
import io

import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from objectspace.evaluation.coco import coco_ap

BOX: list[float] = [0, 0, 2, 2]
FAR: list[float] = [10, 10, 12, 12]


def by_pycocotools(predictions: list, truths: list, most: int) -> tuple[float, float]:
    """AP@0.5 and AP as the reference implementation counts them."""

    def entries(boxes: list, scores: list | None) -> list[dict]:
        made: list[dict] = []
        for image, each in enumerate(boxes):
            for number, (x0, y0, x1, y1) in enumerate(np.asarray(each, float).reshape(-1, 4).tolist()):
                entry = {"image_id": image + 1, "category_id": 1, "bbox": [x0, y0, x1 - x0, y1 - y0], "iscrowd": 0}
                entry |= {"id": len(made) + 1, "area": (x1 - x0) * (y1 - y0)}
                made.append(entry if scores is None else entry | {"score": float(scores[image][number])})
        return made

    with contextlib.redirect_stdout(io.StringIO()):
        known = COCO()
        known.dataset = {
            "info": {},
            "images": [{"id": number + 1} for number in range(len(truths))],
            "categories": [{"id": 1}],
            "annotations": entries(truths, None),
        }
        known.createIndex()
        found = known.loadRes(entries([boxes for boxes, _ in predictions], [scores for _, scores in predictions]))
        evaluation = COCOeval(known, found, "bbox")
        evaluation.params.maxDets = [most]
        evaluation.evaluate()
        evaluation.accumulate()
    precision = evaluation.eval["precision"][:, :, 0, 0, 0]
    return float(precision[0].mean()), float(precision.mean())


def shaken(seed: int, images: int, most: int, step: float, whole: bool = False) -> tuple[list, list]:
    """True boxes and their shaken copies with false ones among them.

    A coarse `step` makes equal scores, and `whole` pixels make IoUs that are equal to a threshold.
    """
    random = np.random.default_rng(seed)

    def boxes(count: int) -> np.ndarray:
        corner = random.uniform(-5, 60, (count, 2))
        return np.concatenate([corner, corner + random.uniform(4, 20, (count, 2))], 1)

    predictions, truths = [], []
    for _ in range(images):
        true = boxes(random.integers(0, most))
        near = true[random.random(len(true)) < 0.8]
        found = np.concatenate([near + random.normal(0, 1, near.shape), boxes(random.integers(0, 4))])
        if whole:
            true, found = true.round(), found.round()
        found[:, 2:] = np.maximum(found[:, 2:], found[:, :2])
        truths.append(true)
        predictions.append((found, np.ceil(random.random(len(found)) / step) * step))
    return predictions, truths


@pytest.mark.parametrize(
    ("seed", "step", "whole"), [(0, 1e-9, False), (1, 1e-9, True), (2, 0.25, False), (3, 1.0, True)]
)
def test_it_is_the_reference_implementations(seed: int, step: float, whole: bool) -> None:
    predictions, truths = shaken(seed, 30, 25, step, whole)
    found = coco_ap(predictions, truths)
    assert 0.1 < found.ap50 < 0.95
    assert (found.ap50, found.ap) == pytest.approx(by_pycocotools(predictions, truths, 300), abs=1e-12)


def test_more_than_a_hundred_objects_in_an_image_count() -> None:
    places = np.array([[x, y] for x in range(0, 320, 20) for y in range(0, 320, 20)], float)
    boxes = np.concatenate([places, places + 10], 1)  # as many as a grid of 16 x 16 has cells
    scores = np.linspace(1, 0.1, len(boxes))
    assert coco_ap([(boxes, scores)], [boxes]).ap == 1
    assert by_pycocotools([(boxes, scores)], [boxes], 100)[1] < 0.5


def test_empty_sides_are_defined() -> None:
    assert coco_ap([([], [])], [[BOX]]).ap50 == 0
    assert coco_ap([([BOX], [1]), ([], [])], [[BOX], []]).ap == 1
    nothing_true = coco_ap([([BOX], [1])], [[]])
    assert np.isnan([nothing_true.ap50, nothing_true.ap]).all()


def test_a_box_far_beyond_the_image_is_false() -> None:
    huge = [-1e6, -1e6, 1e6, 1e6]
    assert coco_ap([([huge, BOX], [0.9, 0.8])], [[BOX]]).ap50 == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("predictions", "truths"),
    [
        ([([[0, 0, np.nan, 1]], [1])], [[BOX]]),
        ([([BOX], [np.nan])], [[BOX]]),
        ([([BOX], [1])], [[[0, 0, np.inf, 1]]]),
        ([([BOX, FAR], [1])], [[BOX]]),
        ([([BOX], [1])], [[BOX], [BOX]]),
    ],
)
def test_bad_input_is_an_error(predictions: list, truths: list) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - each message differs
        coco_ap(predictions, truths)
