"""Models by recipe, their numbers over seeds, and what is said about those that failed."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from objectspace.compare import measures
from objectspace.compare.convergence import recipe_for
from objectspace.compare.table import MeasuredModel, cells, latex, markdown, notes, rows_of
from objectspace.compare.trained import TrainedModel, find, find_all, short_names
from objectspace.errors import UserError
from objectspace.measuring import measure_model
from objectspace.models import create
from objectspace.recipes import files as recipe_files
from objectspace.recipes.recipe import Recipe


def trained(name: str, group: str = "g", seed: int = 0, **rest: object) -> TrainedModel:
    values = {"kind": "space", "capacity": "64+5", "size": (128, 128)} | rest
    return TrainedModel(name, Path(name), group=group, seed=seed, **values)


def entry(ap50: float | None, name: str = "a", **rest: object) -> MeasuredModel:
    numbers = {"ap50": ap50, "projected_ap50": 0.25, "count_error": 0.125, "squared_error": 12.34}
    return MeasuredModel(trained(name, **rest), "rooms", numbers)


def test_runs_that_differ_in_their_seed_become_a_row_with_mean_and_deviation() -> None:
    rows = rows_of([entry(0.8, "a", seed=0), entry(0.9, "b", seed=1), entry(0.5, "c", group="other", kind="spair")])
    assert [row.label for row in rows] == ["space 64+5", "spair 64+5"]
    assert cells(rows[0], "visible")[:5] == ["space 64+5", "rooms", "2", "0.850 ± 0.071", "-"]
    assert cells(rows[1], "visible")[3:6] == ["0.500", "-", "0.125"]
    assert cells(rows[1], "projected")[3] == "0.250"
    assert cells(rows[1], "projected")[5] == "0.125", "counts are the same in both pairings"


def test_by_the_published_rule_the_count_is_another_too() -> None:
    numbers = {
        "ap50": 0.9,
        "count_error": 0.05,
        "published_ap50": 0.8,
        "published_count_error": 0.2,
        "squared_error": 3.0,
    }
    (row,) = rows_of([MeasuredModel(trained("a"), "rooms", numbers)])
    assert cells(row, "published")[3:6] == ["0.800", "-", "0.200"]
    assert cells(row, "published")[-1] == "3.0"
    assert "the published rule" in notes([row], "published")[0]
    assert cells(rows_of([entry(0.5)])[0], "published")[3] == "-", "a model without cells"


def test_a_failed_seed_is_not_counted_but_named_with_what_it_reached() -> None:
    failed = entry(0.01, "b", seed=1, failure="collapsed (all-background)")
    rows = rows_of([entry(0.8, "a"), failed])
    assert cells(rows[0], "visible")[2:4] == ["1 of 2", "0.800"]
    assert "not counted: b (seed 1): collapsed (all-background); its AP@0.5 is 0.010" in notes(rows, "visible")


def test_if_all_seeds_failed_there_are_no_numbers() -> None:
    rows = rows_of([entry(0.01, failure="stopped at step 3 of 9")])
    assert cells(rows[0], "visible")[2:4] == ["0 of 1", "-"]


def test_a_measure_that_one_seed_lacks_is_left_open() -> None:
    rows = rows_of([entry(0.8, "a"), entry(None, "b", seed=1)])
    assert cells(rows[0], "visible")[3] == "-"


def test_recipes_of_the_same_capacity_are_told_apart_by_name() -> None:
    rows = rows_of([entry(0.8, "runs/slow"), entry(0.9, "runs/fast", group="other")])
    assert [row.label for row in rows] == ["space 64+5 (runs/slow)", "space 64+5 (runs/fast)"]


def test_errors_of_images_of_other_sizes_are_not_compared_in_silence() -> None:
    rows = rows_of([entry(0.8, "a"), entry(0.9, "b", group="other", size=(64, 64))])
    assert any("cannot be compared" in note for note in notes(rows, "visible"))
    assert not any("cannot be compared" in note for note in notes(rows[:1], "visible"))


def test_the_table_says_which_squared_error_it_has() -> None:
    assert any("that of scenes" in note for note in notes(rows_of([entry(0.8)]), "visible"))


def test_markdown_and_latex_hold_the_same_table() -> None:
    rows = rows_of([entry(0.8, "a_b|c"), entry(0.9, "d", seed=1), entry(0.7, "e&f", group="other")])
    text = markdown(rows, "visible").splitlines()
    assert text[1].count("---") == text[0].count("|") - 1 == 11
    assert text[2].startswith("| space 64+5 (a_b\\|c) | rooms | 2 | 0.850 ± 0.071 |")
    tex = latex(rows, "visible")
    assert r"space 64+5 (a\_b|c) & rooms & 2 & 0.850 $\pm$ 0.071 & - " in tex
    assert r"(e\&f)" in tex
    lines = [line for line in tex.splitlines() if line.endswith(r"\\")]
    assert {line.replace(r"\&", "").count("&") for line in lines} == {10}


@pytest.fixture
def recipe(tiny) -> Recipe:
    return recipe_for(tiny, batch=2, seed=0)


def make_run(folder: Path, recipe: Recipe, **summary: object) -> Path:
    create(recipe.model, seed=0).save_pretrained(folder / "model")
    (folder / "recipe.toml").write_text(recipe_files.dump(recipe))
    content = {"ended": "finished", "seed": 3, "failed_starts": [], "steps": 9, "data": "DATA"} | summary
    content.setdefault("state", {"step": 9, "seconds": 1.0, "lasting": {}})
    (folder / "summary.json").write_text(json.dumps(content))
    return folder


def found(name: object) -> TrainedModel:
    with ExitStack() as stack:
        return find(str(name), stack)


def test_a_run_tells_its_model_seed_and_data(recipe, tmp_path) -> None:
    who = found(make_run(tmp_path / "run", recipe))
    assert (who.kind, who.capacity, who.seed, who.data, who.failure) == ("tiny", "3", 3, Path("DATA"), None)


def test_runs_with_other_seeds_belong_together_and_other_recipes_do_not(recipe, tiny, tmp_path) -> None:
    other = [recipe_for(tiny, batch=2, seed=5), recipe_for(tiny, batch=4, seed=0)]
    groups = [found(make_run(tmp_path / str(n), r)).group for n, r in enumerate([recipe, *other])]
    assert groups[0] == groups[1] != groups[2]


@pytest.mark.parametrize(
    ("summary", "failure"),
    [
        ({"ended": "stopped"}, "stopped at step 9 of 9"),
        ({"state": {"step": 9, "seconds": 1.0, "lasting": {"one-component": 3}}}, "collapsed (one-component)"),
        ({"state": {"step": 9, "seconds": 1.0, "lasting": {"one-component": 2, "splitting": 7}}}, None),
        ({"ended": "out of time"}, None),
    ],
)
def test_the_summary_tells_whether_a_run_failed(recipe, tmp_path, summary, failure) -> None:
    assert found(make_run(tmp_path / "run", recipe, **summary)).failure == failure


def test_seeds_that_were_given_up_are_remarked_upon(recipe, tmp_path) -> None:
    start = {"seed": 2, "collapse": "one-component", "step": 40}
    who = found(make_run(tmp_path / "run", recipe, failed_starts=[start], ended="out of time"))
    assert "seed 2 collapsed (one-component) at step 40" in who.remarks[0]
    assert who.remarks[1] == "out of time at step 9 of 9"


def test_a_run_without_weights_is_a_failure_and_no_error(recipe, tmp_path) -> None:
    folder = make_run(tmp_path / "run", recipe)
    (folder / "summary.json").unlink()
    who = found(folder)
    assert not who.has_weights
    assert "no weights" in who.failure


def test_models_are_found_by_folder_and_by_name_each_once(recipe, tmp_path) -> None:
    folder = make_run(tmp_path / "run", recipe) / "model"
    with ExitStack() as stack:
        given, shipped = find_all([str(folder), "space-rooms-small", str(folder)], stack)
    assert (given.kind, given.seed) == ("tiny", None)
    assert (shipped.kind, shipped.seed is None) == ("space", False)


def test_what_is_neither_run_nor_model_is_refused(tmp_path) -> None:
    with pytest.raises(UserError, match=r"neither recipe\.toml"):
        found(tmp_path)
    with pytest.raises(UserError, match="does not exist"):
        found("nothing-here")


def test_a_model_is_measured_once_for_the_same_weights_and_data(recipe, sprites, tmp_path, monkeypatch) -> None:
    asked: list[tuple[str, int | None]] = []

    def noted(model, dataset, limit):
        asked.append((dataset.split, limit))
        return measure_model(model, dataset, limit)

    def numbers(who: TrainedModel, split: str = "test", limit: int | None = None) -> dict:
        return measures.measured(who, sprites, split, limit, tmp_path / "cache")

    monkeypatch.setattr(measures, "measure_model", noted)
    who = found(make_run(tmp_path / "run", recipe))
    first, second = numbers(who), numbers(who)
    assert all(second[name] == value for name, value in first.items())
    assert asked == [("test", None)]
    numbers(who, "train")
    numbers(who, limit=2)
    create(recipe.model, seed=1).save_pretrained(who.folder)
    numbers(who)
    assert asked[1:] == [("train", None), ("test", 2), ("test", None)]


def test_names_are_shortened_as_long_as_they_can_be_told_apart() -> None:
    assert short_names(["runs/a", "runs/b/model", "space-sprites"]) == {
        "runs/a": "a",
        "runs/b/model": "b",
        "space-sprites": "space-sprites",
    }
    assert list(short_names(["/x/1/run", "/x/2/run"]).values()) == ["1/run", "2/run"]
    assert list(short_names(["run", "run/model"]).values()) == ["run", "run/model"]
