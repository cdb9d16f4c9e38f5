"""The tables of the documentation: made of stored measurements, and as they are made."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import tables
from benchmarks.tables import Measurement, fill, keep, main, measurement_of, read_measurements
from objectspace.errors import UserError
from objectspace.models.card import shipped
from objectspace.recipes import files as recipe_files

RUN = Measurement(
    recipe="space-sprites-fast",
    seed=3,
    minutes=21.4,
    steps=3300,
    ended="finished",
    machine="a laptop",
    data="objectspace data sprites DIR",
    data_seed=1,
    test_seed=777,
    measured_on="1000 images of split test",
    metrics={"ap50": 0.9, "ap": 0.8, "count_error": 0.02, "published_ap50": None},
)
PAGE = "before\n<!-- table: every seed -->\nold\n<!-- end -->\nafter\n"


def rows(*runs: Measurement) -> list[str]:
    return tables.seeds_table([], runs).splitlines()[2:]


def test_the_tables_of_the_documentation_are_up_to_date() -> None:
    assert main(["--check"]) == 0


def test_every_table_is_on_a_page() -> None:
    text = "".join((tables.ROOT / page).read_text(encoding="utf-8") for page in tables.PAGES)
    assert [name for name in tables.TABLES if f"<!-- table: {name} -->\n| " not in text] == []


def test_a_table_that_is_not_up_to_date_is_noticed_and_mended(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert tables.update(True, [page]) == ["page.md"]
    assert page.read_text() == PAGE
    assert tables.update(False, [page]) == ["page.md"]
    assert tables.update(True, [page]) == []
    text = page.read_text()
    assert text.startswith("before\n<!-- table: every seed -->\n| recipe | seed |")
    assert text.endswith("\n<!-- end -->\nafter\n")
    assert "old" not in text


def test_an_unknown_table_is_named() -> None:
    with pytest.raises(UserError, match="no table 'nothing'"):
        fill("<!-- table: nothing -->\n<!-- end -->", [], [])


def test_tables_without_a_row_are_tables() -> None:
    for table in tables.TABLES.values():
        assert len(table([], []).splitlines()) == 2


def test_a_run_is_a_row() -> None:
    expected = "| `space-sprites-fast` | 3 | 21 | 3300 | 0.900 / 0.800 / 0.020 | - |  |"
    assert rows(RUN) == [expected]


def test_minutes_of_the_processor_stand_in_brackets(run: Path) -> None:
    assert "| 21 (6) |" in rows(replace(RUN, processor_minutes=5.6))[0]
    summary = json.loads((run / "summary.json").read_text())
    summary["state"]["processor"] = 336.0
    (run / "summary.json").write_text(json.dumps(summary))
    assert measurement_of(run, None, None, None, "", "").processor_minutes == 5.6
    assert measurement_of(run, None, None, None, "", "", 4.0).processor_minutes == 4.0


def test_seeds_have_a_mean_that_leaves_out_what_failed_or_was_measured_otherwise() -> None:
    better = replace(RUN, seed=4, metrics={"ap50": 0.8, "ap": 0.6, "count_error": 0.04})
    stopped = replace(RUN, seed=5, ended="stopped", metrics={"ap50": 0.0, "ap": 0.0, "count_error": 1.0})
    other = replace(RUN, seed=6, note="64 images", metrics={"ap50": 0.0, "ap": 0.0, "count_error": 1.0})
    unmeasured = replace(RUN, seed=7, metrics={}, failed_starts=2)
    table = rows(RUN, better, stopped, other, unmeasured)
    assert len(table) == 6
    assert "mean of 2 |" in table[-1]
    assert "0.850 ± 0.071 / 0.700 ± 0.141 / 0.030 ± 0.014" in table[-1]
    assert table[2].endswith("| stopped |")
    assert table[3].endswith("| 64 images |")
    assert table[4].endswith("| 2 failed starts before it; not measured |")


def test_shipped_weights_are_a_row_until_their_seed_is_measured_anew() -> None:
    card = next(card for card in shipped() if card.name == "space-sprites")
    assert "the shipped weights" in tables.seeds_table([card], [])
    assert "the shipped weights" not in tables.seeds_table([card], [replace(RUN, seed=card.seed)])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """What a run leaves that has ended, without weights."""
    folder, data = tmp_path / "run", tmp_path / "data"
    folder.mkdir()
    data.mkdir()
    (data / "dataset.json").write_text(json.dumps({"settings": {"seed": 1}}))
    recipe = recipe_files.load("space-sprites-fast", ["training.seed=3"])
    (folder / "recipe.toml").write_text(recipe_files.dump(recipe), encoding="utf-8")
    state = {"step": 3300, "seconds": 1284.0}
    summary = {"ended": "finished", "seed": 3, "failed_starts": [], "state": state, "steps": 3300, "data": str(data)}
    (folder / "summary.json").write_text(json.dumps(summary))
    numbers = {"ap50": 0.90001, "ap": 0.8, "count_error": 0.02, "published_ap50": None, "images": 1000, "split": "test"}
    (tmp_path / "numbers.json").write_text(json.dumps(numbers | {"groups": {}, "data": "/home/someone/data"}))
    return folder


def test_a_run_is_kept_with_its_numbers(run: Path, tmp_path: Path) -> None:
    kept = measurement_of(run, run.parent / "numbers.json", 777, None, "a laptop", "")
    metrics = {**RUN.metrics, "images": 1000}
    assert kept == replace(RUN, metrics=metrics, data=kept.data)
    assert kept.data.startswith("objectspace data sprites")
    path = keep(kept, tmp_path / "kept")
    assert path.name == "space-sprites-fast-seed3.json"
    assert read_measurements(tmp_path / "kept") == [kept]
    assert str(tmp_path) not in path.read_text()
    with pytest.raises(UserError, match="is there already"):
        keep(kept, tmp_path / "kept")


def test_a_run_by_a_recipe_of_ones_own_wants_a_name(run: Path) -> None:
    changed = recipe_files.load("space-sprites-fast", ["training.seed=3", "training.batch=4"])
    (run / "recipe.toml").write_text(recipe_files.dump(changed), encoding="utf-8")
    with pytest.raises(UserError, match="--recipe"):
        measurement_of(run, None, None, None, "", "")
    assert measurement_of(run, None, None, "mine", "", "").recipe == "mine"


def test_what_is_no_measurement_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.json").write_text('{"recipe": "space-sprites-fast"}')
    with pytest.raises(UserError, match=r"broken\.json is no measurement"):
        read_measurements(tmp_path)
    assert main(["add", str(tmp_path)]) == 2
    assert "summary.json" in capsys.readouterr().err
