"""The documentation names what is there: every file, folder, module and link in it exists."""

import ast
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

import objectspace

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "objectspace"
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("docs/*.md"))}
PAGES |= {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md")}
GENERATED = {"contributing.md", "changelog.md"}  # for the site, by scripts/site_pages.py
ABOUT_CODE = ("docs/tour.md", "docs/decisions.md", "CONTRIBUTING.md")  # elsewhere a folder may be one that a user has

Wrong = Iterator[str]


def spans(text: str) -> list[str]:
    """What stands in `code`, outside of blocks."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.S))


def sections(text: str) -> list[str]:
    return re.split(r"^## ", text, flags=re.M)


def is_path(span: str) -> bool:
    return re.fullmatch(r"[\w./-]+\.py|(docs|examples|recipes|benchmarks)/[\w./-]+\.\w+|\w+\.md", span) is not None


def is_folder(span: str) -> bool:
    return re.fullmatch(r"[\w./-]+/", span) is not None


def missing_files(page: str, text: str) -> Wrong:
    """A name without a folder may be that of a file in one of the rooms that its section names."""
    for section in sections(text):
        rooms = [SOURCE / span for span in spans(section) if is_folder(span) and (SOURCE / span).is_dir()]
        for span in filter(is_path, spans(section)):
            places = [ROOT, ROOT / "docs", SOURCE, *(rooms if "/" not in span else ())]
            if not any((place / span).is_file() for place in places):
                yield f"{page}: there is no {span}"


def missing_folders(page: str, text: str) -> Wrong:
    if page in ABOUT_CODE:
        made = {"demo/", "dist/", "site/"}  # by make
        for section in sections(text):
            rooms = [SOURCE / span for span in spans(section) if is_folder(span) and (SOURCE / span).is_dir()]
            for span in set(filter(is_folder, spans(section))) - made:
                if not any((place / span).is_dir() for place in (ROOT, SOURCE, *rooms)):
                    yield f"{page}: there is no folder {span}"


def missing_modules(page: str, text: str) -> Wrong:
    """Dotted names of the package, and what `python -m` runs."""
    for name in set(re.findall(r"(?<![/\w])objectspace(?:\.[A-Za-z_]\w*)+", text)):
        if not resolves(name):
            yield f"{page}: there is no {name}"
    for name in set(re.findall(r"\bbenchmarks\.([a-z]+)", text)):
        if not (ROOT / "benchmarks" / f"{name}.py").is_file():
            yield f"{page}: there is no benchmarks.{name}"


def resolves(name: str) -> bool:
    parts = name.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        for part in parts[split:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def broken_links(page: str, text: str) -> Wrong:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target and target not in GENERATED and not (ROOT / page).parent.joinpath(target).exists():
            yield f"{page}: the link to {target} leads nowhere"


def missing_headings(page: str, text: str) -> Wrong:
    """A link to a part of a page leads to one of its headings, by the name that sites give it."""
    for target, part in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", text):
        path = (ROOT / page).parent / target if target else ROOT / page
        if "://" not in target and path.suffix == ".md" and path.is_file() and part not in headings(path):
            yield f"{page}: there is no heading {part} in {path.name}"


def headings(path: Path) -> set[str]:
    lines = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


def misplaced_names(page: str, text: str) -> Wrong:
    """In the table of places a name in brackets is declared in the file before it, a method by the class itself."""
    if page == "CONTRIBUTING.md":
        for file, names in re.findall(r"`([\w/]+\.py)` \((`[^)]+`)\)", text):
            for name in spans(names):
                if not declares((SOURCE / file).read_text(encoding="utf-8"), name):
                    yield f"{page}: {file} does not declare {name}"


def declares(source: str, name: str) -> bool:
    """Whether a file has the function or the class of this name, or the method `Class.method`."""
    within: list[ast.stmt] = ast.parse(source).body
    for part in name.split("."):
        found = [node for node in within if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part]
        if not found:
            return False
        within = found[0].body
    return True


Rule = Callable[[str, str], Wrong]
RULES: dict[Rule, tuple[str, str]] = {  # each with what breaks it
    missing_files: ("docs/tour.md", "Look into `models/nowhere.py`."),
    missing_folders: ("docs/tour.md", "Look into `attic/`."),
    missing_modules: ("docs/rl.md", "Call `objectspace.scene.nothing`."),
    broken_links: ("README.md", "See [this](docs/nowhere.md)."),
    missing_headings: ("README.md", "See [this](docs/results.md#nothing-of-the-kind)."),
    misplaced_names: ("CONTRIBUTING.md", "| SPACE | `models/space.py` (`Space.backward`) |"),
}


def test_there_is_something_to_check() -> None:
    assert len(PAGES) > 8
    assert sum(is_path(span) for span in spans(PAGES["docs/tour.md"])) > 40
    assert len(re.findall(r"`([\w/]+\.py)` \((`[^)]+`)\)", PAGES["CONTRIBUTING.md"])) > 8


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_pages_name_what_is_there(rule: Rule) -> None:
    assert [wrong for page, text in PAGES.items() for wrong in rule(page, text)] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_page_that_names_what_is_not_there_is_noticed(rule: Rule) -> None:
    page, text = RULES[rule]
    assert len(list(rule(page, text))) == 1


ASKED = (
    "SPACE's config, forward pass and loss",
    "the stick breaking",
    "the presence prior's schedule",
    "an object's score",
    "the box around a mask",
    "the resize",
    "validation during training",
)


@pytest.mark.parametrize("asked", ASKED)
def test_what_a_newcomer_asks_for_has_one_place(asked: str) -> None:
    rows = [line for line in PAGES["CONTRIBUTING.md"].splitlines() if line.startswith("| ") and asked in line]
    assert len(rows) == 1
    assert len(re.findall(r"`[\w/]+\.py` \(`", rows[0])) == len(list(filter(is_path, spans(rows[0])))) == 1


def test_how_to_add_a_data_set_is_said_once() -> None:
    assert PAGES["CONTRIBUTING.md"].count("**a data set**") == 1


def test_a_file_without_a_folder_is_looked_for_in_the_rooms_that_its_section_names() -> None:
    assert list(missing_files("docs/tour.md", "## A\n`data/` has `sample.py`.\n")) == []
    assert len(list(missing_files("docs/tour.md", "## A\n`data/`\n## B\n`sample.py`\n"))) == 1


def test_the_picture_of_the_architecture_names_what_is_there() -> None:
    text = (ROOT / "docs" / "images" / "architecture.svg").read_text(encoding="utf-8")
    shown = set(re.findall(r"[\w/]+\.py|\b\w+/(?=[<\s,:])", re.sub(r"<style>.*</style>", "", text, flags=re.S)))
    assert len(shown) > 40
    places = {path.relative_to(SOURCE).as_posix() + "/" * path.is_dir() for path in SOURCE.rglob("*")}
    places.add("tests/test_layers.py")
    assert [name for name in sorted(shown) if not any(f"/{place}".endswith(f"/{name}") for place in places)] == []


def test_one_version_is_told_everywhere() -> None:
    released = re.findall(r"^## (\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert released[0] == objectspace.__version__
    assert f"\nversion: {objectspace.__version__}\n" in (ROOT / "CITATION.cff").read_text()
