import json
import math
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.known import Known, perfect
from objectspace.data import Dataset
from objectspace.data.generate import generate
from objectspace.data.sprites import SpritesSource
from objectspace.data.streams import Stream
from objectspace.evaluation.evaluate import evaluate
from objectspace.evaluation.report import BoxMeasures, Report
from objectspace.scene import Object, Scene
from objectspace.training.validation import measure

KEYS = (
    "ap50 ap count_error accuracy overcount undercount squared_error coco_ap50 coco_ap fg_ari ari miou mbo "
    "precision recall f1 images objects seconds"
)
PERFECT = "ap50 ap coco_ap50 coco_ap precision recall f1 f1_30 accuracy fg_ari ari miou mbo background_miou"
PAIRED = "ap50 ap coco_ap50 coco_ap precision recall f1 f1_30 recall_by_category"


def without_hidden_parts(known: Known) -> Scene:
    """Perfect but for `where_box`, which ends where an object is hidden: it overlaps the ball's by a third."""
    scene = perfect(known)
    return replace(scene, objects=tuple(replace(item, where_box=item.box) for item in scene.objects))


def test_categories_left_out_count_neither_way() -> None:
    known = Known()
    both, ball = perfect(known), replace(perfect(known), objects=perfect(known).objects[:1])
    for scene in (both, ball):  # the cube may be found or not
        report = evaluate([scene] * 3, known, without=["cube"])
        assert (report.objects, report.predicted, report.count_error, report.accuracy) == (3, 3, 0, 1)
        for boxes in (report.visible, report.projected):
            assert (boxes.precision, boxes.recall, boxes.f1, boxes.recall_by_category) == (1, 1, 1, {"ball": 1.0})
        assert (report.miou, report.mbo, report.mask_images) == (None, None, 0)
    assert evaluate([ball] * 3, known, without=["ball"]).visible.recall == 0
    assert evaluate([Scene(8, 8)] * 3, known, without=["cube"]).visible.recall == 0


def test_what_only_touches_a_thing_left_out_stays_false() -> None:
    known = Known()
    near = Object((0.0, 6.0, 4.0, 9.9), (0.0, 6.0, 4.0, 9.9))  # overlaps the cube by a third
    scene = replace(perfect(known), objects=(*perfect(known).objects, near))
    report = evaluate([scene] * 3, known, without=["cube"])
    assert report.predicted == 6
    assert report.visible.precision == 0.5
    assert evaluate([scene] * 3, known, without=["cube"], iou=0.3).visible.precision == 1


def test_perfect_scenes_have_perfect_scores() -> None:
    known = Known()
    content = evaluate([perfect(known)] * 3, known).to_dict()
    assert set(KEYS.split()) <= content.keys()
    assert {f"projected_{key}" for key in PAIRED.split()} <= content.keys()
    for key in PERFECT.split():
        assert content[key] == 1, key
    for key in ("count_error", "overcount", "undercount", "squared_error", "empty_images"):
        assert content[key] == 0, key
    assert (content["images"], content["objects"], content["mask_images"]) == (3, 6, 3)
    assert content["recall_by_category"] == {"ball": 1, "cube": 1}


def test_the_two_pairings_look_at_different_boxes() -> None:
    known = Known()
    report = evaluate([without_hidden_parts(known)] * 3, known)
    assert (report.visible.recall, report.projected.recall) == (1, 0.5)
    assert report.projected.recall_by_category == {"ball": 0, "cube": 1}


def test_precision_and_recall_take_another_threshold() -> None:
    known = Known()
    report = evaluate([without_hidden_parts(known)] * 3, known, iou=0.3)
    assert (report.projected.recall, report.iou) == (1, 0.3)
    assert report.projected.ap50 is not None
    assert report.projected.ap50 < 1


def test_f1_at_a_loose_iou_forgives_what_the_strict_one_does_not() -> None:
    known = Known()
    report = evaluate([without_hidden_parts(known)] * 3, known)
    assert (report.projected.f1, report.projected.f1_30) == (0.5, 1)


def test_each_game_has_a_report_of_its_own() -> None:
    known = Known(groups=("Pong", "Qbert", "Pong"))
    report = evaluate([perfect(known), Scene(8, 8), perfect(known)], known)
    assert {name: (each.images, each.visible.f1) for name, each in report.groups.items()} == {
        "Pong": (2, 1),
        "Qbert": (1, 0),
    }
    assert report.visible.f1 == pytest.approx(0.8)
    assert report.to_dict()["groups"]["Qbert"]["count_error"] == 1
    assert evaluate([perfect(known)], known, indices=[0]).groups == {}


def test_nothing_found_is_zero_and_what_cannot_be_known_is_null() -> None:
    report = evaluate([Scene(8, 8)] * 3, Known())
    assert (report.visible.ap50, report.visible.coco_ap, report.visible.recall, report.visible.f1) == (0, 0, 0, 0)
    assert report.visible.precision is None
    assert report.squared_error is None
    assert (report.count_error, report.undercount, report.fg_ari) == (1, 3, 0)
    assert "NaN" not in json.dumps(report.to_dict())


def test_without_any_annotation_only_pixels_are_measured() -> None:
    known = Known(labelled=False)
    off = replace(perfect(Known()), reconstruction=np.full((8, 8, 3), 151, np.uint8))
    report = evaluate([off] * 3, known)
    assert report.squared_error == pytest.approx(8 * 8 * 3 * 0.2**2)
    assert report.visible == report.projected == BoxMeasures()
    assert (report.accuracy, report.ari, report.objects, report.predicted) == (None, None, 0, 6)


def test_boxes_without_masks_leave_the_mask_measures_open() -> None:
    report = evaluate([perfect(Known())] * 3, Known(with_masks=False))
    assert (report.visible.ap50, report.mask_images) == (1, 0)
    assert (report.ari, report.fg_ari, report.miou, report.mbo, report.background_miou) == (None,) * 5


def test_an_image_with_an_unknown_true_mask_is_left_out_of_the_mask_measures() -> None:
    class Partly(Known):
        def masks(self, index: int) -> list:
            return [*super().masks(index)[:1], None] if index == 1 else super().masks(index)

    report = evaluate([perfect(Known()), Scene(8, 8), perfect(Known())], Partly())
    assert (report.mask_images, report.ari, report.mbo, report.miou) == (2, 1, 1, 1)
    assert report.visible.recall == pytest.approx(2 / 3)


def test_one_scene_without_masks_makes_them_unknown_for_all() -> None:
    """A mean over the other scenes would flatter."""
    scene = perfect(Known())
    bare = Scene(8, 8, tuple(replace(item, mask=None) for item in scene.objects))
    report = evaluate([scene, bare, scene], Known())
    assert (report.visible.ap50, report.mbo, report.squared_error) == (1, None, None)


def test_scenes_and_images_must_agree_in_number_and_size() -> None:
    known = Known()
    with pytest.raises(ValueError, match="only 2 scenes"):
        evaluate([perfect(known)] * 2, known)
    with pytest.raises(ValueError, match="more scenes than the 3"):
        evaluate([perfect(known)] * 4, known)
    with pytest.raises(ValueError, match="scene 0 is 8 x 9"):
        evaluate([Scene(8, 9)] * 3, known)
    with pytest.raises(ValueError, match="no image"):
        evaluate([], known, indices=[])


def test_scenes_are_forgotten_once_seen() -> None:
    seen: list[weakref.ref] = []
    known = Known(images=np.zeros((20, 8, 8, 3), np.uint8))

    def stream():
        for index in range(20):
            assert sum(each() is not None for each in seen) <= 1
            scene = perfect(known, index)
            seen.append(weakref.ref(scene))
            yield scene
            del scene

    assert evaluate(stream(), known).images == 20


def test_a_report_never_holds_a_nan() -> None:
    for value in (math.nan, math.inf):
        with pytest.raises(ValueError, match="squared_error is"):
            Report(1, 1, 1, 0.1, 0.5, squared_error=value).to_dict()


@pytest.fixture(scope="module")
def sprites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("evaluation") / "sprites"
    generate(SpritesSource(24, 32, least=0, most=3, smallest=0.2, largest=0.4), root, [Stream("test", 12)], workers=1)
    return root


@pytest.mark.parametrize("size", [None, (32, 48)])
def test_the_truth_is_perfect_at_any_size(sprites: Path, size: tuple[int, int] | None) -> None:
    dataset = Dataset(sprites, "test", size)
    report = evaluate((dataset.scene(index) for index in range(12)), dataset)
    assert (report.projected.ap, report.projected.coco_ap) == (1, 1)
    assert (report.visible.ap50, report.ari, report.fg_ari, report.miou, report.mbo) == (1, 1, 1, 1, 1)
    assert report.background_miou is None
    assert report.empty_images
    assert report.count_error == 0


def test_some_images_of_a_data_set_are_measured_as_such(sprites: Path) -> None:
    dataset = Dataset(sprites, "test")
    chosen = [5, 2, 9]
    report = evaluate([dataset.scene(index) for index in chosen], dataset, indices=chosen)
    assert (report.images, report.objects) == (3, sum(len(dataset.boxes(index)) for index in chosen))
    assert report.visible.ap50 == 1


def test_images_without_objects_have_no_average_precision(sprites: Path) -> None:
    dataset = Dataset(sprites, "test")
    empty = [index for index in range(12) if not len(dataset.boxes(index))]
    report = evaluate([Scene(24, 32)] * len(empty), dataset, indices=empty)
    assert (report.visible.ap50, report.visible.coco_ap, report.visible.recall, report.count_error) == (None,) * 4
    assert (report.accuracy, report.empty_images) == (1, len(empty))


def test_training_looks_with_the_same_eyes(sprites: Path) -> None:
    dataset = Dataset(sprites, "test")
    random = np.random.default_rng(0)
    scenes = [
        replace(dataset.scene(index), reconstruction=random.integers(0, 256, (24, 32, 3), np.uint8))
        for index in [3, *range(1, 12)]
    ]
    report, seen = evaluate(scenes, dataset, published=scenes), measure(scenes, dataset, scenes)
    assert seen["val_squared_error"] == report.squared_error
    assert (seen["val_ap50"], seen["val_projected_ap"]) == (report.visible.ap50, report.projected.ap)
    assert seen["val_count_error"] == report.count_error
    assert seen["val_published_ap"] == report.published.boxes.ap
    assert seen["val_published_count_error"] == report.published.count_error
    assert not any(key.startswith("val_published") for key in measure(scenes, dataset))
    by_hand = [((dataset.images[n] / 255 - scene.reconstruction / 255) ** 2).sum() for n, scene in enumerate(scenes)]
    assert report.squared_error == pytest.approx(np.mean(by_hand))
