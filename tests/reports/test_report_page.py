"""The page in a real browser: nothing fetched, nothing broken, boxes in their place, objects lit when pointed at."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.browser import Browser, Page
from helpers.report_scenes import BOXES, NAME, bare, full
from objectspace.reports.html import ReportWriter

pytestmark = pytest.mark.slow

TALL: tuple[float, ...] = (10, 200, 40, 900)
TRUTH = np.array([[5.0, 7.0, 19.0, 31.0]])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    with ReportWriter(path, "A report", "space-test") as report:
        report.add(NAME, *full(), TRUTH)
        report.add("empty", *bare(40, 40))
        report.add("tall", *bare(1000, 60, TALL))
        for index in range(9):
            report.add(f"more/{index}.png", *bare(64, 64, *[(3.0, 3.0, 20.0, 20.0)] * index))
        report.metrics({"ap50": 0.8, "projected_ap50": 0.7, "mse": 12.5})
    return path


def style(page: Page, selector: str, name: str) -> str:
    """A computed style, after all transitions."""
    wait = "Promise.all(document.getAnimations().map(each => each.finished))"
    return str(page.evaluate(f"{wait}.then(() => getComputedStyle(document.querySelector('{selector}')).{name})"))


def is_lit(page: Page, index: int) -> bool:
    """Whether the card, the box and the shade of an object of the first image are lit, and all other things not."""
    lit = page.evaluate("""[...document.querySelectorAll('#image-1 .card, #image-1 .over .thing, #image-1 .shade')]
        .filter(part => getComputedStyle(part).getPropertyValue('--lit') === '1')
        .map(part => [...part.classList].find(name => /^k\\d+$/.test(name)))""")
    return bool(lit == [f"k{index}"] * 3)


def places(page: Page, selector: str, image: int) -> list[list[float]]:
    """Where elements lie on the input of an image, as x0 y0 x1 y1 in pixels of the shown picture's width and height."""
    return page.evaluate(f"""(async () => {{
        const input = document.querySelector('#image-{image} .input img');
        input.loading = 'eager';
        await input.decode();
        if (getComputedStyle(input).objectFit !== 'contain') throw new Error('the picture is not letterboxed');
        const outer = input.getBoundingClientRect();
        const scale = Math.min(outer.width / input.naturalWidth, outer.height / input.naturalHeight);
        const x = outer.x + (outer.width - scale * input.naturalWidth) / 2;
        const y = outer.y + (outer.height - scale * input.naturalHeight) / 2;
        const shown = [scale * input.naturalWidth, scale * input.naturalHeight];
        return [shown, ...[...document.querySelectorAll('#image-{image} {selector}')].map(part => {{
            const box = part.getBoundingClientRect();
            return [box.left - x, box.top - y, box.right - x, box.bottom - y];
        }})];
    }})()""")


@pytest.mark.parametrize("script", [True, False])
def test_nothing_is_fetched_and_nothing_complained_about(browser: Browser, path: Path, script: bool) -> None:
    with browser.open(path, script=script) as page:
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        assert page.requests() == [page.address]
        assert page.complaints() == []


def test_the_network_is_forbidden(browser: Browser, path: Path) -> None:
    with browser.open(path) as page:
        refused = page.evaluate("""new Promise(done => {
            const found = [];
            document.addEventListener('securitypolicyviolation', event => {
                found.push(event.effectiveDirective);
                if (found.length === 3) done(found.sort());
            });
            fetch('http://127.0.0.1:9/').catch(() => {});
            new Image().src = 'http://127.0.0.1:9/x.png';
            const script = document.createElement('script');
            script.textContent = 'document.title = "!"';
            document.head.append(script);
        })""")
        assert refused == ["connect-src", "img-src", "script-src-elem"]
        assert page.evaluate("document.title") == "A report"


@pytest.mark.parametrize("script", [True, False])
def test_all_pictures_decode_and_have_words(browser: Browser, path: Path, script: bool) -> None:
    with browser.open(path, script=script) as page:
        sizes = page.evaluate("""Promise.all([...document.images].map(async image => {
            image.loading = 'eager';
            await image.decode();
            return [image.naturalWidth, image.naturalHeight, image.alt];
        }))""")
    assert len(sizes) > 30
    assert all(width > 0 and height > 0 and alt for width, height, alt in sizes)


def test_names_are_text(browser: Browser, path: Path) -> None:
    with browser.open(path) as page:
        assert page.evaluate("document.querySelector('#image-1 h3').textContent") == NAME
        assert page.evaluate("document.title") == "A report"


@pytest.mark.parametrize("width", [400, 800, 1400])
def test_boxes_lie_where_the_scene_says(browser: Browser, path: Path, width: int) -> None:
    with browser.open(path, width=width) as page:
        for image, size, boxes in ((1, (64, 48), BOXES), (3, (60, 1000), [TALL])):
            page.evaluate(f"document.querySelector('#image-{image}').scrollIntoView()")
            shown, *found = places(page, ".found .box", image)
            assert shown[0] > 20
            scale = np.tile(np.array(shown) / size, 2)
            expected = sorted((np.array(boxes) * scale).tolist())
            assert np.abs(np.array(sorted(found)) - expected).max() < 1
        page.evaluate("document.querySelector('#image-1').scrollIntoView()")
        shown, *true = places(page, ".dashes", 1)
        assert np.abs(np.array(true) - TRUTH * np.tile(np.array(shown) / (64, 48), 2)).max() < 1


def test_the_shade_leaves_out_exactly_the_object(browser: Browser, path: Path) -> None:
    with browser.open(path) as page:
        shaded = page.evaluate("""[[12, 18], [2, 18], [12, 40]].map(([x, y]) =>
            document.querySelector('#image-1 .shade.k0').isPointInFill(new DOMPoint(x, y)))""")
    assert shaded == [False, True, True]


@pytest.mark.parametrize("script", [True, False])
def test_pointing_at_a_card_or_a_box_lights_both(browser: Browser, path: Path, script: bool) -> None:
    with browser.open(path, script=script) as page:
        for index in (2, 1):
            for part in ("object", "box"):
                page.point_at("h2")
                assert not is_lit(page, index)
                page.point_at(f"#image-1-{part}-{index + 1}")
                assert is_lit(page, index), part
        assert float(style(page, "#image-1 .shade.k1", "opacity")) == 1
        assert float(style(page, "#image-1 .card.k0", "opacity")) < 0.5
        assert float(style(page, "#image-1 .card.k1", "opacity")) == 1


@pytest.mark.parametrize("script", [True, False])
def test_the_keyboard_lights_an_object_too(browser: Browser, path: Path, script: bool) -> None:
    with browser.open(path, script=script) as page:
        page.evaluate("document.querySelector('#image-1 h3 a').focus()")
        page.press("Tab")
        focused = page.evaluate("document.activeElement.id")
        assert focused.startswith("image-1-box-")
        assert is_lit(page, int(focused[-1]) - 1)


def test_without_script_a_click_leads_from_card_to_box_and_keeps_it_lit(browser: Browser, path: Path) -> None:
    with browser.open(path, script=False) as page:
        page.click("#image-1-object-3")
        page.point_at("h1")
        assert page.evaluate("location.hash") == "#image-1-box-3"
        assert is_lit(page, 2)


def test_a_clicked_object_stays_lit_until_escape(browser: Browser, path: Path) -> None:
    with browser.open(path) as page:
        page.click("#image-1-object-3")
        page.point_at("h1")
        assert is_lit(page, 2)
        page.press("Escape")
        page.evaluate("document.activeElement.blur()")
        assert not is_lit(page, 2)


def test_without_script_everything_is_there_but_the_controls(browser: Browser, path: Path) -> None:
    with browser.open(path, script=False) as page:
        hidden = page.evaluate("""[...document.querySelectorAll('figure, .card, h3, table, .chart')]
            .filter(part => !part.checkVisibility() || part.getBoundingClientRect().height < 1).length""")
        assert hidden == 0
        assert page.evaluate("document.querySelector('.tools').checkVisibility()") is False
        assert page.evaluate("document.querySelector('.theme').checkVisibility()") is False


def contrast(first: str, second: str) -> float:
    """The contrast of two colours `rgb(r, g, b)`, by the web's accessibility guidelines."""

    def luminance(color: str) -> float:
        channels = np.array([float(part) for part in color[4:-1].split(",")]) / 255
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    low, high = sorted([luminance(first), luminance(second)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_follow_the_system_and_can_be_read(
    browser: Browser, path: Path, scheme: str, script: bool
) -> None:
    with browser.open(path, scheme=scheme, script=script) as page:
        paper, card = style(page, "body", "backgroundColor"), style(page, ".card", "backgroundColor")
        assert (contrast(paper, "rgb(0, 0, 0)") < 2) == (scheme == "dark")
        for ink in (style(page, "body", "color"), style(page, ".note", "color"), style(page, ".chart text", "fill")):
            assert contrast(ink, paper) > 4.5
            assert contrast(ink, card) > 4.5


def test_the_button_turns_light_into_dark_and_back(browser: Browser, path: Path) -> None:
    with browser.open(path) as page:
        light = style(page, "body", "backgroundColor")
        page.click(".theme")
        assert contrast(style(page, "body", "backgroundColor"), "rgb(0, 0, 0)") < 2
        page.click(".theme")
        assert style(page, "body", "backgroundColor") == light


@pytest.mark.parametrize("width", [320, 400, 700, 1000])
def test_a_narrow_window_needs_no_scrolling_sideways(browser: Browser, path: Path, width: int) -> None:
    with browser.open(path, width=width) as page:
        page.evaluate("document.querySelectorAll('.scene').forEach(each => each.style.contentVisibility = 'visible')")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def names_shown(page: Page) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('.scene')].filter(s => !s.hidden).map(s => s.id)")


def test_images_can_be_found_and_put_in_order(browser: Browser, path: Path) -> None:
    with browser.open(path) as page:
        page.evaluate("""(search => {
            search.value = 'More/7';
            search.dispatchEvent(new Event('input'));
        })(document.querySelector('.search input'))""")
        assert names_shown(page) == ["image-11"]
        assert page.evaluate("document.querySelector('.shown').textContent") == "1 of 12 images"
        page.evaluate("""(search => {
            search.value = '';
            search.dispatchEvent(new Event('input'));
        })(document.querySelector('.search input'))""")
        given = names_shown(page)
        for order, first in (("most", "image-12"), ("fewest", "image-2"), ("given", "image-1")):
            page.evaluate(f"""(select => {{
                select.value = '{order}';
                select.dispatchEvent(new Event('change'));
            }})(document.querySelector('.order'))""")
            assert names_shown(page)[0] == first
        assert names_shown(page) == given


def test_boxes_and_truth_can_be_hidden(browser: Browser, path: Path) -> None:
    with browser.open(path) as page:
        for kind in ("found", "truth"):
            assert style(page, f"#image-1 .{kind}", "display") != "none"
            page.click(f".show-{kind}")
            assert style(page, f"#image-1 .{kind}", "display") == "none"


def test_on_paper_everything_is_drawn_and_no_control(browser: Browser, path: Path) -> None:
    with browser.open(path, scheme="dark") as page:
        page.call("Emulation.setEmulatedMedia", media="print")
        assert style(page, ".tools", "display") == "none"
        assert style(page, ".scene", "contentVisibility") == "visible"
        assert contrast(style(page, "body", "backgroundColor"), "rgb(255, 255, 255)") < 1.2
        page.call("Emulation.setEmulatedMedia", media="")
        assert page.pdf().count(b"/Type /Page\n") + page.pdf().count(b"/Type /Page ") > 1


def test_what_is_unexplained_is_outlined_can_be_hidden_and_puts_images_in_order(
    browser: Browser, tmp_path: Path
) -> None:
    image, scene = full()
    with ReportWriter(tmp_path / "r.html", "A report", "space-test") as report:
        for share in (0.1, 0.5, 0.0):
            left = np.zeros((scene.height, scene.width), np.bool_)
            left[: round(share * scene.height)] = True
            report.add(f"{share}", image, replace(scene, unexplained=left))
    with browser.open(tmp_path / "r.html") as page:
        assert page.evaluate("document.querySelectorAll('.nobody').length") == 2
        page.evaluate("""(select => {
            select.value = 'unexplained';
            select.dispatchEvent(new Event('change'));
        })(document.querySelector('.order'))""")
        assert page.evaluate("[...document.querySelectorAll('.scene h3')].map(each => each.textContent)") == [
            "0.5",
            "0.1",
            "0.0",
        ]
        page.evaluate("document.querySelector('.show-nobody').click()")
        assert style(page, ".nobody", "display") == "none"
        assert page.complaints() == []
