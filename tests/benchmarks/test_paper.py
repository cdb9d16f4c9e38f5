"""docs/paper.md and the results in the package are made of what was measured, and are as they are made."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import paper
from benchmarks.tables import Measurement
from objectspace.errors import UserError
from objectspace.models.card import shipped
from objectspace.paper.items import ITEMS
from objectspace.paper.listing import known_results

RUN = Measurement(
    recipe="space-rooms-large-fast",
    seed=5,
    minutes=12.0,
    steps=100,
    ended="finished",
    machine="a laptop",
    data="objectspace data rooms DIR",
    data_seed=1,
    test_seed=777,
    metrics={"published_objects": 10, "published_predicted": 12, "published_ap50": 0.5},
)


def test_the_page_and_the_results_are_up_to_date() -> None:
    assert paper.main(["--check"]) == 0
    assert known_results().keys() == {item.name for item in ITEMS}


def test_a_measured_run_becomes_a_finding_of_the_items_that_show_its_model() -> None:
    finding = paper.from_measurement(RUN)
    assert (finding.model, finding.seed, finding.planned) == ("SPACE on rooms-large", 5, 100)
    assert finding.numbers["found_per_object"] == pytest.approx(1.2)
    assert "--set training.seed=5" in finding.command


def test_what_a_directory_has_is_kept_and_comes_before_cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "made"
    with pytest.raises(UserError, match=r"no paper\.json"):
        paper.keep(place)
    (place / "measurements").mkdir(parents=True)
    (place / "pictures").mkdir()
    (place / "paper.json").write_text('{"full": false}')
    about = {
        "name": "x",
        "what": "models",
        "model": "SPACE on rooms-large",
        "seed": 0,
        "numbers": {"published_ap50": 0.25},
    }
    (place / "measurements" / "x.json").write_text(json.dumps(about))
    (place / "pictures" / "rooms-rooms-large.png").write_bytes(b"png")
    monkeypatch.setattr(paper, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(paper, "IMAGES", tmp_path / "images")
    assert paper.keep(place) == 2
    assert (tmp_path / "images" / "paper-rooms-rooms-large.png").exists()
    card = [card for card in shipped() if card.name == "space-rooms-large"]
    assert len(card) == 1
    found = paper.gather(tmp_path / "kept", tmp_path / "none", [replace(card[0], seed=0)])
    number = found.number("SPACE on rooms-large", "published_ap50")
    assert number is not None
    assert number.value == 0.25
    (place / "paper.json").write_text('{"full": true}')
    with pytest.raises(UserError, match="--full"):
        paper.keep(place)
