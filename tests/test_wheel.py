"""What is uploaded: built, installed where nothing is but what it asks for, and used there."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import objectspace

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
NOT_OURS = shutil.ignore_patterns("__pycache__", "*.egg-info", ".cache")
EXTRAS = ["mujoco", "gymnasium", "ale_py", "ocatari", "h5py", "cv2", "pytest", "mkdocs", "sklearn"]  # modules
NEEDS = {  # command -> the extra that it needs. In one process, as starting one takes longer than all of them
    ("data", "rooms", "{out}", "--variant", "small", "--workers", "1"): "rooms",
    ("data", "atari", "{out}", "--games", "SpaceInvaders", "--workers", "1"): "atari",
    ("data", "convert", "{file}.h5", "{out}", "--format", "ocl-hdf5"): "hdf5",
    ("data", "convert", "{file}.h5", "{out}", "--format", "emorl-hdf5"): "hdf5",
    ("decompose", "{file}.mp4", "--model", "space-sprites", "--out", "{out}"): "video",
}
SKIPS = 1  # exit code of `decompose` where nothing could be used; of all others: 2
WHAT_IS_THERE = f"""
import importlib.metadata, importlib.util, json, objectspace

try:
    import objectspace.rl
    said = ""
except Exception as error:
    said = str(error)
there = {{
    "file": objectspace.__file__,
    "version": importlib.metadata.version("objectspace"),
    "extras": [name for name in {EXTRAS} if importlib.util.find_spec(name)],
    "wrapper": said,
}}
print(json.dumps(there))
"""
ALL_OF_THEM = """
import contextlib, io, json, sys
from objectspace.cli import main

said = []
for sys.argv[1:] in json.load(sys.stdin):
    with contextlib.redirect_stderr(io.StringIO()) as errors, contextlib.redirect_stdout(io.StringIO()):
        try:
            main()
            code = 0
        except SystemExit as left:
            code = left.code
    said.append([code, errors.getvalue()])
print(json.dumps(said))
"""


def run(*command: object, given: str | None = None) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    words = [str(part) for part in command]
    return subprocess.run(words, check=False, capture_output=True, text=True, env=clean, input=given)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of sdist and wheel, made as `make wheel` does; the wheel is made of the sdist."""
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("dist")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    shutil.copytree(ROOT / "src", tree / "src", ignore=NOT_OURS)
    done = run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, tree)
    assert done.returncode == 0, done.stderr
    return out


def required(wheel: Path) -> set[str]:
    """The distributions that a wheel asks for without extras, and what those ask for."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        asked = Parser().parsestr(archive.read(name).decode()).get_all("Requires-Dist") or []
    todo = [(Requirement(text), "") for text in asked]
    found: set[tuple[str, str]] = set()
    while todo:
        requirement, extra = todo.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        for wanted in ("", *requirement.extras):
            key = canonicalize_name(requirement.name), wanted
            if key not in found:
                found.add(key)
                todo += [(Requirement(text), wanted) for text in metadata.requires(requirement.name) or []]
    return {name for name, _ in found}


@pytest.fixture(scope="session")
def bare(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it requires, linked from this one, and nothing else."""
    environment = tmp_path_factory.mktemp("bare") / "env"
    assert run(sys.executable, "-m", "venv", "--without-pip", environment).returncode == 0
    [packages] = environment.glob("lib/python*/site-packages")
    [wheel] = built.glob("*.whl")
    for name in required(wheel):
        distribution = metadata.distribution(name)
        for top in {file.parts[0] for file in distribution.files or () if file.parts[0] not in ("..", "__pycache__")}:
            if not (packages / top).exists():
                (packages / top).symlink_to(Path(str(distribution.locate_file(top))))
    python, how = environment / "bin" / "python", ("--quiet", "--no-deps", "--no-index", "--no-compile")
    done = run(sys.executable, "-m", "pip", "--python", python, "install", *how, wheel)
    assert done.returncode == 0, done.stderr
    return environment


@pytest.fixture(scope="session")
def there(bare: Path) -> dict[str, Any]:
    done = run(bare / "bin" / "python", "-c", WHAT_IS_THERE)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_sdist_and_wheel_hold_all_of_the_package(built: Path) -> None:
    [wheel], [sdist] = built.glob("*.whl"), built.glob("*.tar.gz")
    assert objectspace.__version__ in wheel.name
    assert objectspace.__version__ in sdist.name
    package = ROOT / "src" / "objectspace"
    tracked = {path.relative_to(package.parent).as_posix() for path in package.rglob("*") if path.is_file()}
    tracked = {name for name in tracked if "__pycache__" not in name and "/.cache/" not in name}
    with zipfile.ZipFile(wheel) as archive:
        assert {name for name in archive.namelist() if name.startswith("objectspace/")} == tracked
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/src/")[2] for name in archive.getnames()}
    assert tracked <= inside


def test_what_is_imported_there_is_the_wheel(bare: Path, there: dict[str, Any]) -> None:
    assert Path(there["file"]).is_relative_to(bare)
    assert there["version"] == objectspace.__version__


def test_the_wheel_takes_a_sample_apart_without_extras(bare: Path, tmp_path: Path) -> None:
    out, sample = tmp_path / "out", tmp_path / "sample"
    sample.mkdir()
    for path in sorted((ROOT / "src" / "objectspace" / "samples" / "sprites" / "test" / "images").iterdir())[:4]:
        shutil.copy(path, sample)
    done = run(bare / "bin" / "objectspace", "decompose", sample, "--model", "space-sprites", "--out", out)
    assert done.returncode == 0, done.stderr
    content = json.loads((out / "annotations.json").read_text())
    assert len(content["images"]) == 4
    assert len(content["annotations"]) > len(content["images"])
    assert (out / "report.html").stat().st_size > 10_000


def test_extras_are_not_in_the_bare_environment(there: dict[str, Any]) -> None:
    assert there["extras"] == []


def test_every_optional_command_says_which_extra_it_needs(bare: Path, tmp_path: Path) -> None:
    for name in ("given.h5", "given.mp4"):
        (tmp_path / name).write_bytes(b"something")
    places = [{"out": tmp_path / f"out{number}", "file": tmp_path / "given"} for number in range(len(NEEDS))]
    commands = [[part.format(**place) for part in command] for command, place in zip(NEEDS, places, strict=True)]
    done = run(bare / "bin" / "python", "-c", ALL_OF_THEM, given=json.dumps(commands))
    assert done.returncode == 0, done.stderr
    for (command, extra), (code, errors) in zip(NEEDS.items(), json.loads(done.stdout), strict=True):
        assert code == (SKIPS if command[0] == "decompose" else 2), errors
        assert f"pip install 'objectspace[{extra}]'" in errors


def test_the_wrapper_for_agents_says_which_extra_it_needs(there: dict[str, Any]) -> None:
    assert "pip install 'objectspace[atari]'" in there["wrapper"]


def test_every_extra_for_users_is_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(NEEDS.values()) == set(project["optional-dependencies"]) - {"all", "dev", "docs"}
