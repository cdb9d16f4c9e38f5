"""Files of earlier versions have numbers under other names: they are read under today's."""

import json
from pathlib import Path

from objectspace.io.keys import RENAMED
from objectspace.models.card import Card, read_card, shipped
from objectspace.training.log import MetricsLog


def test_shipped_cards_have_todays_keys_when_they_are_read() -> None:
    cards = shipped()
    assert cards
    for card in cards:
        assert "squared_error" in card.metrics, card.name
        assert not card.metrics.keys() & RENAMED.keys(), card.name


def test_a_card_of_before_is_read_with_all_its_numbers(tmp_path: Path) -> None:
    card = Card("n", "a", "r", "d", 0, 0, 1, 1.0, "m", 0, "float16", metrics={"ap50": 0.5, "mse": 2.0, "ari": None})
    (tmp_path / "card.json").write_text(card.to_json())
    assert read_card(tmp_path).metrics == {"ap50": 0.5, "squared_error": 2.0, "ari": None}


def test_a_log_that_is_continued_has_one_name_for_each_number(tmp_path: Path) -> None:
    before = [{"step": 1, "loss": 3.0, "mse": 2.0}, {"step": 2, "val_mse": 1.5}, {"step": 3, "mse": 1.0}]
    (tmp_path / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in before))
    with MetricsLog(tmp_path, 2) as log:
        log.write(3, {"squared_error": 1.0})
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert lines == [
        {"step": 1, "loss": 3.0, "squared_error": 2.0},
        {"step": 2, "val_squared_error": 1.5},
        {"step": 3, "squared_error": 1.0},
    ]
