"""A log that was torn by a kill: nothing whole is lost, and what comes after is whole."""

from pathlib import Path

import pytest

from objectspace.io.lines import append_line, read_lines


@pytest.mark.parametrize("torn", ['{"number": 9', "[1]\n7\n", '{"number": "\udcff', "\n"])
def test_lines_before_and_after_a_torn_one_are_read(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "log.jsonl"
    assert list(read_lines(path)) == []
    append_line(path, {"number": 1})
    with path.open("ab") as file:
        file.write(torn.encode("utf-8", "surrogateescape"))
    append_line(path, {"number": 2, "text": "a\nb"}, durable=True)
    append_line(path, {"number": 3})
    assert [entry["number"] for entry in read_lines(path)] == [1, 2, 3]


def test_a_log_of_whole_lines_has_no_others(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for number in range(3):
        append_line(path, {"number": number})
    assert path.read_text() == '{"number": 0}\n{"number": 1}\n{"number": 2}\n'
