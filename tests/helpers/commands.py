"""`objectspace ...` in this process: as a user meets it, without the start of a process each time."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import pytest

from objectspace.cli import main


@dataclass(frozen=True)
class Said:
    stdout: str
    stderr: str


def command(*arguments: object, code: int = 0) -> Said:
    """Run a command, check its exit code, give what it printed. Warnings are pytest's: they do not reach stderr."""
    written = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(stream, "utf-8", write_through=True) for stream in written)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["objectspace", *map(str, arguments)])
        patch.setenv("COLUMNS", "160")
        patch.setenv("NO_COLOR", "1")
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as left:
            main()
    said = Said(*(stream.getvalue().decode() for stream in written))
    assert (left.value.code or 0) == code, said.stderr
    assert "Traceback" not in said.stderr
    return said
