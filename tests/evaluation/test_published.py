"""The published rule as a measure: every cell above one half, `where_box`, whole objects."""

from dataclasses import replace

import pytest

from helpers.known import Known, perfect
from objectspace.evaluation.boxes import count_errors, paper_ap, paper_ap_range
from objectspace.evaluation.evaluate import evaluate
from objectspace.scene import Object, Scene


def with_a_duplicate(known: Known) -> Scene:
    """The ball once more, hidden: our rule would have left it out."""
    scene = perfect(known)
    twice = Object((0, 0, 1, 1), (0.0, 0.0, 4.0, 5.5), score=0.75)
    return replace(scene, objects=(*scene.objects, twice))


def test_it_stands_beside_ours() -> None:
    known = Known()
    cells = [with_a_duplicate(known)] * 3
    content = evaluate([perfect(known)] * 3, known, published=cells).to_dict()
    predictions, whole = [(scene.where_boxes, scene.scores) for scene in cells], [known.boxes(0)] * 3
    assert content["published_ap50"] == paper_ap(predictions, whole, 0.5)
    assert content["published_ap"] == pytest.approx(paper_ap_range(predictions, whole))
    assert content["published_count_error"] == count_errors(predictions, whole).error_rate == 0.5
    assert (content["published_predicted"], content["published_precision"]) == (9, pytest.approx(2 / 3))
    assert (content["count_error"], content["precision"], content["predicted"]) == (0, 1, 6)


def test_alone_it_measures_nothing_else() -> None:
    known = Known()
    report = evaluate(None, known, published=[with_a_duplicate(known)] * 3)
    assert (report.objects, report.published.count_error, report.published.boxes.recall) == (6, 0.5, 1)
    assert (report.visible.f1, report.projected.f1, report.count_error, report.squared_error, report.ari) == (None,) * 5


def test_without_it_there_is_none() -> None:
    assert not any(key.startswith("published") for key in evaluate([perfect(Known())] * 3, Known()).to_dict())


def test_each_game_has_it_and_means_over_games_are_given() -> None:
    known = Known(groups=("Pong", "Qbert", "Pong"))
    cells = [perfect(known), with_a_duplicate(known), perfect(known)]
    content = evaluate([perfect(known)] * 3, known, published=cells).to_dict()
    assert [content["groups"][name]["published_count_error"] for name in ("Pong", "Qbert")] == [0, 0.5]
    assert content["group_means"]["published_count_error"] == 0.25
    assert content["published_count_error"] == pytest.approx(1 / 6)


def test_categories_left_out_are_left_out_of_it_too() -> None:
    known = Known()
    report = evaluate(None, known, published=[with_a_duplicate(known)] * 3, without=["ball"])
    assert (report.published.objects, report.published.predicted, report.published.count_error) == (3, 3, 0)


def test_both_rules_need_a_scene_for_every_image() -> None:
    known = Known()
    with pytest.raises(ValueError, match="shorter"):
        evaluate([perfect(known)] * 3, known, published=[perfect(known)] * 2)
    with pytest.raises(ValueError, match="no scenes"):
        evaluate(None, known)
