"""The page as a file: whole or not there, complete, escaped, and of constant memory. In a browser: see beside."""

import re
import tomllib
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.report_scenes import BOXES, NAME, bare, full, picture
from objectspace.errors import UserError
from objectspace.evaluation.report import Report
from objectspace.reports.html import ReportWriter
from objectspace.reports.page.histogram import histogram
from objectspace.reports.page.markup import number
from objectspace.reports.page.summary import MEASURES
from objectspace.scene import Object, Scene


def written(path: Path, image: np.ndarray, scene: Scene, truth: np.ndarray | None = None, name: str = "x") -> str:
    with ReportWriter(path, "a title", "a model") as report:
        report.add(name, image, scene, truth)
    return path.read_text(encoding="utf-8")


def test_the_page_appears_whole_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.html"
    with ReportWriter(path, "t", "m") as report:
        report.add("x", *full())
        assert not path.exists()
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert page.rstrip().endswith("</html>")
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]


def test_an_exception_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("an older page")

    def interrupted() -> None:
        with ReportWriter(path, "t", "m") as report:
            report.add("x", *full())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "an older page"
    assert list(tmp_path.iterdir()) == [path]


def test_every_picture_that_a_scene_holds_is_shown(tmp_path: Path) -> None:
    page = written(tmp_path / "r.html", *full(), np.array(BOXES))
    captions = re.findall(r"<figcaption>(\w+)", page)
    assert captions[2:] == [
        "input", "reconstruction", "foreground", "alpha", "background", "segmentation", "difference", "1", "2",
    ]  # fmt: skip
    assert page.count("<li>") == len(BOXES)
    assert "<dt>score</dt><dd>0.80</dd>" in page
    assert "<dt>depth</dt><dd>2.00</dd>" in page
    assert "<dt>size</dt><dd>16 × 24</dd>" in page
    assert page.count('class="dashes"') == len(BOXES)
    assert "50% of the pixels" in page


def test_what_objects_are_worth_and_what_is_unexplained_is_shown_where_it_is_known(tmp_path: Path) -> None:
    image, scene = full()
    assert "nats" not in (without := written(tmp_path / "r.html", image, scene))
    assert "% unexplained" not in without
    assert "data-unexplained" not in without
    assert 'class="nobody"' not in without
    objects = tuple(replace(item, evidence=123.4 * index) for index, item in enumerate(scene.objects))
    left = np.zeros((scene.height, scene.width), np.bool_)
    left[: scene.height // 4] = True
    page = written(tmp_path / "r.html", image, replace(scene, objects=objects, unexplained=left))
    assert "<dt>evidence</dt><dd>247 nats</dd>" in page
    assert "<title>object 2, score 0.80, 123 nats</title>" in page
    assert " · 25.0% unexplained" in page


@pytest.mark.parametrize("lacking", ["reconstruction", "foreground", "alpha", "background", "components"])
def test_what_a_scene_lacks_is_left_out(tmp_path: Path, lacking: str) -> None:
    image, scene = full()
    page = written(tmp_path / "r.html", image, replace(scene, **{lacking: () if lacking == "components" else None}))
    gone = "<h4>Background components" if lacking == "components" else f"<figcaption>{lacking}"
    assert gone in written(tmp_path / "r.html", image, scene)
    assert gone not in page


@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 3000), (1000, 2000), (700, 3)])
def test_any_size_of_image_has_a_page_of_sane_size(tmp_path: Path, height: int, width: int) -> None:
    box = (0.0, 0.0, width / 2, height / 2)
    image, scene = bare(height, width, box)
    mask = np.ones((height, width), np.bool_)
    scene = replace(scene, objects=(Object(box, box, mask=mask),), reconstruction=image, alpha=image[..., 0])
    page = written(tmp_path / "r.html", image, scene)
    sizes = [(int(w), int(h)) for w, h in re.findall(r'width="(\d+)" height="(\d+)" alt', page)]
    assert len(sizes) == 6
    assert all(1 <= side <= 512 for size in sizes for side in size)
    assert len(page) < 2_000_000


def test_odd_boxes_do_no_harm(tmp_path: Path) -> None:
    outside, point, beyond = (500.0, 0.0, 600.0, 10.0), (5.0, 5.0, 5.0, 5.0), (-9.0, -9.0, 900.0, 900.0)
    image, scene = bare(20, 30, outside, point, beyond)
    empty = tuple(replace(item, mask=np.zeros((20, 30), np.bool_)) for item in scene.objects)
    page = written(tmp_path / "r.html", image, replace(scene, objects=empty), np.array([outside, beyond]))
    assert "outside the image" in page
    assert page.count('class="box"') == 2
    assert 'd="M0 0H30V20H0z"' in page, "cut off where the image ends"


def test_a_page_without_objects_and_one_without_images(tmp_path: Path) -> None:
    assert "No object was found" in written(tmp_path / "r.html", *bare(9, 9), np.zeros((0, 4)))
    with ReportWriter(tmp_path / "none.html", "t", "m"):
        pass
    assert "<dt>images</dt><dd>0</dd>" in (tmp_path / "none.html").read_text(encoding="utf-8")


def test_text_from_outside_is_escaped(tmp_path: Path) -> None:
    image, scene = bare(9, 9, (1, 1, 3, 3))
    scene = replace(scene, objects=(replace(scene.objects[0], label="<i>"),))
    with ReportWriter(tmp_path / "r.html", "<u>", "<s>") as report:
        report.add(NAME + "\udcff", image, scene)  # a file name that is no Unicode
        report.metrics({"<em>": 1.0})
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert not re.search(r"<(b|i|u|s|em)>", page)
    assert page.count("<script>") == 1
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; &#34;quoted&#34;" in page


def test_the_same_scenes_give_the_same_page(tmp_path: Path) -> None:
    assert written(tmp_path / "a.html", *full()) == written(tmp_path / "b.html", *full())


def test_memory_does_not_grow_with_the_number_of_images(tmp_path: Path) -> None:
    image, scene = full()
    with ReportWriter(tmp_path / "r.html", "t", "m") as report:
        report.add("x", image, scene)
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        for index in range(30):
            report.add(str(index), image, scene)
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
    assert (tmp_path / "r.html").stat().st_size > 2_000_000
    assert grown < 200_000


@pytest.mark.slow
def test_the_page_is_put_together_without_being_held_as_a_whole(tmp_path: Path) -> None:
    path, image = tmp_path / "r.html", picture(512, 512)
    with ReportWriter(path, "t", "m") as report:
        for index in range(20):
            report.add(str(index), image, Scene(512, 512))
        tracemalloc.start()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < path.stat().st_size / 2


def test_every_file_of_the_pages_is_shipped() -> None:
    root = Path(__file__).parents[2]
    patterns = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["objectspace"]
    package = root / "src" / "objectspace"
    shipped = {path for pattern in patterns for path in package.glob(pattern)}
    files = {path for path in (package / "reports" / "page").iterdir() if path.is_file() and path.suffix != ".py"}
    assert files
    assert files <= shipped


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    image, scene = full()
    with ReportWriter(tmp_path / "r.html", "t", "m") as report:
        with pytest.raises(ValueError, match="as its scene"):
            report.add("x", image[1:], scene)
        with pytest.raises(ValueError, match="as its scene"):
            report.add("x", image.astype(np.float32), scene)
        with pytest.raises(ValueError, match=r"\(n, 4\)"):
            report.add("x", image, scene, np.zeros((4, 3)))
    with pytest.raises(ValueError, match="with block"):
        report.add("x", image, scene)
    with pytest.raises(UserError, match="is a directory"), ReportWriter(tmp_path, "t", "m"):
        pass
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"), ReportWriter(tmp_path / "file" / "r.html", "t", "m"):
        pass


def test_metrics_stand_in_a_table_with_their_meaning(tmp_path: Path) -> None:
    with ReportWriter(tmp_path / "r.html", "t", "m") as report:
        report.metrics(
            {"recall": 0.5, "ap50": 0.87654, "projected_ap50": 0.8, "ari": None, "overcount": 1, "mse": 0.0021}
        )
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)<td class="meaning">(.*?)</td></tr>', page)
    values = {name: re.findall(r">([^<]*)</td>", cells) for name, cells, _ in rows}
    assert values == {
        "AP at IoU 0.5": ["0.877", "0.800"],
        "recall": ["0.500", ""],
        "overcount": ["1", ""],
        "ARI": ["–", ""],
        "squared error": ["0.0021", ""],
    }
    assert all(meaning for *_, meaning in rows)
    assert "10/11 = 0.909" in rows[0][2]


def test_all_that_an_evaluation_measures_has_a_meaning(tmp_path: Path) -> None:
    table = Report(images=1, objects=2, predicted=3, seconds=4.0, iou=0.5).to_dict()
    numbers = {key.removeprefix("projected_") for key in table} - {"recall_by_category", "groups", "group_means"}
    assert numbers <= set(MEASURES)
    with ReportWriter(tmp_path / "r.html", "t", "m") as report:
        report.metrics(table)
    assert "recall_by_category" not in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_histogram_counts_what_it_is_given() -> None:
    chart = histogram({0: 1, 3: 4, 4: 2}, {3: 2}, "objects", "image")
    titles = re.findall(r"<title>(.*?)</title>", chart)
    assert titles == ["0: 1 image", "1: 0 images", "2: 0 images", "3: 4 images", "3: 2 images in truth", "4: 2 images"]
    heights = [float(value) for value in re.findall(r'class="bar".*?height="([\d.]+)"', chart)]
    assert heights[3] == pytest.approx(2 * heights[4], abs=0.02)
    assert "objects</text>" in chart
    assert "images</text>" in chart


def test_a_histogram_of_a_wide_range_has_few_bars() -> None:
    chart = histogram(dict.fromkeys(range(1000), 1), None, "pixels", "object")
    counts = [int(value) for value in re.findall(r"<title>\d+ to \d+: (\d+)", chart)]
    assert len(counts) <= 24
    assert sum(counts) == 1000


def test_a_large_photograph_does_not_fill_the_disk(tmp_path: Path) -> None:
    soft = np.asarray(np.add.outer(np.arange(512), np.arange(512)) // 4, np.uint8)
    grain = np.clip(soft[..., None] + picture(512, 512) // 16.0, 0, 255).astype(np.uint8)
    assert len(written(tmp_path / "r.html", grain, Scene(512, 512))) < 400_000


def test_numbers_are_short() -> None:
    assert [number(20, 0), number(20), number(1.50), number(-0.001), number(12.345)] == [
        "20",
        "20",
        "1.5",
        "0",
        "12.35",
    ]
