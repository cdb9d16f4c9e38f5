"""labels.html in a real browser: names go in, labels.json comes out, and nothing is fetched."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from helpers.browser import Browser, Page
from objectspace.labels.names import Labels, default_names, read_labels
from objectspace.reports.labels import Group, write_labels_page

pytestmark = pytest.mark.slow

EVIL = '</script><b id="evil">'
NAMES = ("cluster-00", EVIL, "cluster-02")
LABELS = Labels(EVIL, "abc", np.arange(6.0).reshape(3, 2), NAMES, (9, 4, 1))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.fixture
def path(tmp_path: Path) -> Path:
    member = np.random.default_rng(0).integers(0, 255, (9, 14, 3), dtype=np.uint8)
    rows = zip(default_names(3), NAMES, LABELS.objects, ([member] * 5, [member], []), ("disc 9", "", ""), strict=True)
    write_labels_page(tmp_path / "labels.html", "14 objects", [Group(*row) for row in rows], LABELS.to_dict())
    return tmp_path / "labels.html"


def type_name(page: Page, number: int, text: str) -> None:
    page.click(f"#name-{number}")
    page.evaluate(f"document.querySelector('#name-{number}').select()")
    page.call("Input.insertText", text=text)


def saved(browser: Browser, page: Page, folder: Path) -> Labels:
    """Press the button and read the file that the browser puts down."""
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    page.click("button[type=submit]")
    end = time.monotonic() + 20
    while not (folder / "labels.json").exists() and time.monotonic() < end:
        page.evaluate("new Promise(done => setTimeout(done, 50))")
    return read_labels(folder / "labels.json")


def test_names_that_are_typed_come_out_in_the_file(browser: Browser, path: Path, tmp_path: Path) -> None:
    with browser.open(path) as page:
        type_name(page, 0, "  alien ")
        type_name(page, 2, "alien")
        assert page.evaluate("document.querySelector('output').textContent") == "3 of 3 named, 2 different names"
        found = saved(browser, page, tmp_path / "downloads")
        assert page.complaints() == []
    assert found.names == ("alien", EVIL, "alien")
    assert found.to_dict() | {"clusters": 0} == LABELS.to_dict() | {"clusters": 0}
    assert np.array_equal(found.centroids, LABELS.centroids)


def test_a_group_without_a_name_keeps_its_own(browser: Browser, path: Path, tmp_path: Path) -> None:
    with browser.open(path) as page:
        type_name(page, 1, " ")
        assert saved(browser, page, tmp_path / "downloads").names == default_names(3)


@pytest.mark.parametrize("script", [True, False])
def test_nothing_is_fetched_and_no_name_becomes_markup(browser: Browser, path: Path, script: bool) -> None:
    with browser.open(path, script=script) as page:
        assert page.requests() == [page.address]
        assert page.complaints() == []
        assert page.evaluate("document.querySelector('#evil')") is None
        assert page.evaluate("document.querySelector('button').disabled") is not script
        assert page.evaluate("document.querySelectorAll('.crops img').length") == 6
        assert page.evaluate("document.querySelector('h1').textContent") == "14 objects"


def test_the_file_in_the_page_is_the_one_on_disk(browser: Browser, path: Path) -> None:
    with browser.open(path) as page:
        text = page.evaluate("document.querySelector('#labels').textContent")
    assert json.loads(text) == LABELS.to_dict()
