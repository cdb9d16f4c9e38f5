"""`objectspace paper`: the list, what cannot be done, and the page of Markdown."""

import json

from objectspace.paper.items import ITEMS
from objectspace.paper.stages import Wanted


def test_the_list_has_every_item_with_its_command_times_and_result(run, monkeypatch) -> None:
    rows = [line.split("\t") for line in run("paper", "list", "--wide")[0].splitlines()]
    assert rows[0][0] == "item"
    assert rows[0][-1] == "result here"
    assert [row[0] for row in rows[1:]] == [item.name for item in ITEMS]
    assert all(len(row) == len(rows[0]) and all(row) for row in rows)
    assert "item  " in run("paper", "list")[0]
    monkeypatch.setenv("COLUMNS", "80")
    narrow = run("paper", "list")[0].splitlines()
    assert [line for line in narrow if not line.startswith("  ")] == [item.name for item in ITEMS]
    assert "  command: objectspace paper run table1 --out DIR" in narrow


def test_what_cannot_be_run_is_explained(run, tmp_path) -> None:
    assert "did you mean 'table1'" in run("paper", "run", "tabel1", "--out", tmp_path, code=2)[1]
    (tmp_path / "file").write_text("")
    assert "cannot write" in run("paper", "run", "latency", "--out", tmp_path / "file" / "out", code=2)[1]
    bad = ("paper", "run", "table1", "--out", tmp_path / "out", "--runs", tmp_path / "absent")
    assert "no directory" in run(*bad, code=2)[1]
    assert "no paper.json" in run("paper", "page", tmp_path, code=2)[1]


def test_options_reach_the_stages(run, tmp_path, monkeypatch) -> None:
    heard: list = []
    monkeypatch.setattr("objectspace.paper.stages.run_items", lambda *given: heard.append(given))
    run("paper", "run", "boundary,table1", "--minutes", 60, "--seeds", 2, "--full", "--out", tmp_path)
    items, place, wanted, _ = heard[0]
    assert [item.name for item in items] == ["boundary", "table1"]
    assert place.full
    assert wanted == Wanted(60.0, 2)


def test_what_was_measured_becomes_a_page_of_markdown_with_its_pictures(run, tmp_path) -> None:
    place = tmp_path / "made"
    (place / "measurements").mkdir(parents=True)
    (place / "pictures").mkdir()
    (place / "paper.json").write_text('{"full": false}')
    numbers = {"published_ap50": 0.91, "published_ap": 0.5, "published_count_error": 0.03}
    about = {"what": "models", "seed": 0, "numbers": numbers}
    for kind in ("SPACE", "SPAIR"):
        content = about | {"name": kind, "model": f"{kind} on rooms-small", "command": "train | it"}
        (place / "measurements" / f"{kind}.json").write_text(json.dumps(content))
    (place / "pictures" / "rooms-rooms-small.png").write_bytes(b"png")
    said, _ = run("paper", "page", place, "-o", tmp_path / "docs" / "paper.md")
    assert "items have been run" in said
    text = (tmp_path / "docs" / "paper.md").read_text()
    assert "| SPACE on rooms-small, the paper |  | 0.9027 ± 0.0009 |" in text
    assert r"train \| it" in text
    assert "![rooms small](images/paper-rooms-rooms-small.png)" in text
    assert (tmp_path / "docs" / "images" / "paper-rooms-rooms-small.png").exists()
    assert "**holds in part** | AP@0.5 within 0.02" in text
    assert "Nothing of this has been run here yet" in text
