"""The command line in this process: exit codes and texts as a user meets them, without a start-up each time."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from objectspace.cli import main
from objectspace.models import create
from oracle.small import small_config

torch.set_num_threads(1)
Run = Callable[..., tuple[str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command, checks its exit code, gives what it printed to stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: object, code: int = 0) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", ["objectspace", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        assert (left.value.code or 0) == code, err
        assert "Traceback" not in err
        return out, err

    return call


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small random model whose opaque objects are worth something, since its background is black."""
    model = create(small_config(), seed=1)
    with torch.no_grad():
        model.foreground.glimpse_decoder.dec_alpha.bias.fill_(4)
        model.foreground.heads.z_depth_net.weight.mul_(20)
        list(model.background.component_decoder.parameters())[-1].fill_(-6)
    folder = tmp_path_factory.mktemp("model") / "small"
    model.save_pretrained(folder)
    return folder
