"""labels.json: what is written is read back, what is wrong with it is said."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from objectspace.errors import UserError
from objectspace.labels.names import Labels, read_labels
from objectspace.scene import Object, Scene

LABELS = Labels("some-model", "abc", np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.25]]), ("a", "b", "a"), (5, 3, 1))


def scene(*what: tuple[float, ...]) -> Scene:
    box = (0, 0, 1, 1)
    return Scene(4, 4, tuple(Object(box, box, what=np.array(each, np.float32)) for each in what))


def test_labels_come_back_from_the_file(tmp_path: Path) -> None:
    LABELS.write(tmp_path / "deep" / "labels.json")
    read = read_labels(tmp_path / "deep" / "labels.json")
    assert read.to_dict() == LABELS.to_dict()
    assert (read.model, read.weights, read.names, read.objects) == ("some-model", "abc", ("a", "b", "a"), (5, 3, 1))
    assert np.array_equal(read.centroids, LABELS.centroids)
    assert read.fingerprint == LABELS.fingerprint != replace(LABELS, names=("a", "b", "c")).fingerprint


def test_an_object_gets_the_name_of_the_nearest_centroid() -> None:
    labelled = LABELS.apply(scene((0.1, 0.3), (3, 1), (0, 9)))
    assert [item.label for item in labelled.objects] == ["a", "b", "a"]
    assert LABELS.apply(scene()).objects == ()
    assert LABELS.kinds == ("a", "b")


def test_latents_of_another_size_and_other_weights_are_refused() -> None:
    with pytest.raises(UserError, match="latents of 2 numbers, but objects have 3"):
        LABELS.apply(scene((1, 2, 3)))
    with pytest.raises(UserError, match=r"made with some-model \(weights abc, latents of 2 numbers\), and other has"):
        LABELS.check_made_with("other", "def")
    LABELS.check_made_with("some-model", "abc")


def changed(**changes: Any) -> str:
    return json.dumps(LABELS.to_dict() | changes)


CLUSTER = {"name": "a", "objects": 1, "centroid": [0.0, 1.0]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not valid JSON"),
        ("[]", "no labels.json"),
        (changed(format=2), "has format 2"),
        (changed(clusters=[]), "there must be one"),
        (changed(clusters=[CLUSTER | {"name": "  "}]), "names not empty"),
        (changed(clusters=[CLUSTER, CLUSTER | {"centroid": [1.0]}]), "no labels.json"),
        (changed(clusters=[CLUSTER | {"centroid": [0.0, float("nan")]}]), "finite"),
        (changed(clusters=[{"name": "a"}]), "centroid"),
        (changed(what_dim=5), "what_dim is 5"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "labels.json").write_text(text)
    with pytest.raises(UserError, match=said):
        read_labels(tmp_path / "labels.json")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read the labels .*none\.json: No such file"):
        read_labels(tmp_path / "none.json")
