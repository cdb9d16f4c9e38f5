"""Boxes: tight around masks, inside images, over one another, and as COCO writes them."""

import json
from collections.abc import Iterator

import numpy as np
import pytest

from objectspace.geometry.boxes import clip_box, from_coco_box, iou, tight_box, tight_boxes, to_coco_box
from objectspace.io.coco import coco_lines

BOX, FAR = [0, 0, 2, 2], [10, 10, 12, 12]


def test_a_tight_box_holds_all_pixels_of_a_mask_and_ends_one_past_the_last() -> None:
    mask = np.zeros((6, 8), np.bool_)
    assert tight_box(mask) is None
    mask[2, 3] = mask[4, 6] = True
    assert tight_box(mask) == (3, 2, 7, 5)
    assert all(isinstance(side, float) for side in tight_box(mask) or ())


def test_many_tight_boxes_are_those_of_each_mask() -> None:
    masks = np.random.default_rng(0).random((20, 5, 7)) < 0.1
    masks = masks[masks.any((1, 2))]
    assert len(masks) > 10
    assert [tuple(box) for box in tight_boxes(masks).tolist()] == [tight_box(mask) for mask in masks]
    for mask, (x0, y0, x1, y1) in zip(masks, tight_boxes(masks).tolist(), strict=True):
        rows, columns = np.nonzero(mask)
        assert (x0, y0, x1, y1) == (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)


def test_a_box_is_cut_off_at_the_border_of_the_image() -> None:
    assert clip_box((-1, 2, 9, 4), height=3, width=8) == (0, 2, 8, 3)
    assert clip_box((8, 0, 9, 1), height=3, width=8) is None


def test_iou_of_known_boxes() -> None:
    assert iou([BOX], [BOX, FAR, [1, 0, 3, 2], [0, 0, 0, 0]]) == pytest.approx(np.array([[1, 0, 1 / 3, 0]]))
    assert iou(np.zeros((0, 4)), [BOX]).shape == (0, 1)
    assert iou([[1, 1, 1, 1]], [[1, 1, 1, 1]]) == 0
    assert iou([[3, 3, 1, 1]], [[0, 0, 4, 4]]) == 0


def test_coco_writes_a_corner_and_a_size() -> None:
    assert to_coco_box((1.5, 2, 4, 2.12345)) == [1.5, 2, 2.5, 0.123]
    assert from_coco_box([1.5, 2, 2.5, 1]) == (1.5, 2, 4, 3)


def test_a_coco_file_is_one_json_object_with_an_entry_a_line_and_images_are_made_first() -> None:
    made: list[str] = []

    def entries(name: str) -> Iterator[dict[str, str]]:
        for number in range(2):
            made.append(name)
            yield {"name": f"{name}{number}"}

    text = b"".join(coco_lines({"a": 1}, [{"id": 1}], entries("image"), entries("object"))).decode()
    assert json.loads(text) == {
        "info": {"a": 1},
        "categories": [{"id": 1}],
        "images": [{"name": "image0"}, {"name": "image1"}],
        "annotations": [{"name": "object0"}, {"name": "object1"}],
    }
    assert made == ["image", "image", "object", "object"]
    assert '{"name": "image0"},\n{"name": "image1"}]' in text
