"""The examples in docstrings run, and say what is so."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

EXAMPLES = {  # module -> the least number of docstrings in it that have an example
    "objectspace": 3,
    "objectspace.scene": 3,
    "objectspace.geometry.regions": 1,
    "objectspace.geometry.rle": 3,
    "objectspace.ops.schedules": 2,
    "objectspace.ops.mixtures": 3,
    "objectspace.ops.geometry": 2,
    "objectspace.nn.palette": 1,
    "objectspace.geometry.boxes": 1,
    "objectspace.data.sampler": 1,
    "objectspace.io.images": 2,
    "objectspace.recipes.files": 1,
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_in_docstrings_run(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    module = import_module(name)
    found = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    assert len(found) >= EXAMPLES[name]
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in found:
        runner.run(test, out=said.append)
    assert "".join(said) == ""
    assert runner.failures == 0
    assert list(tmp_path.iterdir()) == []  # they leave nothing where they are run


def test_an_example_that_is_wrong_is_noticed() -> None:
    test = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    assert doctest.DocTestRunner().run(test, out=lambda _: None).failed == 1
