"""Models side by side: a row a model, a column a part, nothing where a model has no such part."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from objectspace.compare.page import MOST, PARTS, Block, _components, compared_page, compared_sheet
from objectspace.scene import Component, Object, Scene

IMAGE = np.full((32, 32, 3), 90, np.uint8)
MASK = np.zeros((32, 32), np.bool_)
MASK[4:12, 4:12] = True


@pytest.fixture
def blocks() -> list[Block]:
    box = (4.0, 4.0, 12.0, 12.0)
    of_cells = Scene(32, 32, (Object(box, box, mask=MASK),), (), IMAGE, IMAGE, IMAGE)
    of_components = Scene(32, 32, components=(Component(MASK, IMAGE, box), Component(~MASK)), reconstruction=IMAGE // 2)
    scenes = {"space <1>": of_cells, "genesis": of_components, "nothing": Scene(32, 32)}
    return [Block(f"image {number}.png", IMAGE, scenes, of_cells if number else None) for number in range(2)]


class Rows(HTMLParser):
    """The rows of all tables: for each, its heading and how many pictures each cell holds."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[int]] = []

    def handle_starttag(self, tag: str, attributes: object) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            self.rows[-1].append(0)
        elif tag == "img":
            self.rows[-1][-1] += 1


def test_a_row_is_a_model_and_what_it_lacks_stays_empty(blocks) -> None:
    reader = Rows()
    reader.feed(compared_page("title", blocks))
    first = reader.rows[1:4]  # below the headings: the input, the name, the parts
    assert first == [[1, 0, 1, 1, 1, 1, 1, 0], [0, 1, 1, 0, 0, 1, 1], [0, 1, 0, 0, 0, 0, 0]]
    assert len(reader.rows) == 1 + 3 + 1 + 4  # the second image has its truth too


def test_components_are_shown_one_by_one_where_they_are_seen_and_of_many_the_largest() -> None:
    parts = [Component(np.zeros((32, 32), np.bool_), IMAGE)]
    for number in range(MOST + 2):
        mask = np.zeros((32, 32), np.bool_)
        mask[number, : number + 1] = True
        parts.append(Component(mask, IMAGE + number))
    shown = _components(Scene(32, 32, components=tuple(parts)))
    assert [int((picture > 0).any(2).sum()) for picture in shown] == list(range(3, MOST + 3))
    assert [int(picture.max()) for picture in shown] == [92 + number for number in range(MOST)]


def test_the_page_needs_nothing_and_escapes_names(blocks) -> None:
    page = compared_page("a & b", blocks)
    assert "<title>a &amp; b</title>" in page
    assert "space &lt;1&gt;" in page
    assert "default-src 'none'" in page
    assert not re.search(r'(src|href)="(?!data:)', page)


def test_a_model_that_draws_badly_shows_it(blocks) -> None:
    page = compared_page("title", blocks)
    expected = 32 * 32 * 3 * (45 / 255) ** 2
    assert f"squared error {expected:.1f}" in page
    assert "squared error 0<" in page


def test_the_picture_has_a_column_a_part_and_a_row_a_model(blocks) -> None:
    sheet = compared_sheet(blocks)
    assert sheet.shape[1] == (len(PARTS) + 1 + 1) * (128 + 6) + 6
    assert sheet.shape[0] == 7 * (128 + 16 + 6) + 6
