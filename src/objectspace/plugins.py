"""Models in files of one's own: what `objectspace --with FILE` executes.

A file declares a config with a `kind`, and a model of it; docs/adding-a-model.md shows how. Executing it makes the kind
known to recipes, weights and comparisons, as importing it from Python does. Installed packages do without: see
`config/installed.py`.
"""

import importlib.util
import sys
import traceback
from hashlib import blake2b
from pathlib import Path
from types import ModuleType

from objectspace.errors import UserError

_loaded: dict[Path, ModuleType] = {}


def load_file(path: Path | str) -> ModuleType:
    """Execute a file that declares models; anything wrong with it is a `UserError` that names the file and the line."""
    path = Path(path).absolute()
    if path in _loaded:
        return _loaded[path]
    if not path.is_file() or path.suffix != ".py":
        raise UserError(f"--with {path}: there is no such Python file (its name must end in .py)")

    from objectspace.config import ModelConfig

    before = dict(ModelConfig.kinds)
    module = _execute(path)
    declared = {kind: config for kind, config in ModelConfig.kinds.items() if before.get(kind) is not config}
    try:
        _check(path, before, declared)
    except UserError:
        ModelConfig.kinds.clear()
        ModelConfig.kinds.update(before)
        raise
    _loaded[path] = module
    return module


def loaded_files() -> list[Path]:
    """The files executed so far, for processes that are to know the same models."""
    return list(_loaded)


def _execute(path: Path) -> ModuleType:
    digest = blake2b(str(path.resolve()).encode(), digest_size=4).hexdigest()  # two files may have one name
    name = f"objectspace_with_{path.stem}_{digest}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and annotations look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise UserError(f"--with {_place(error, path)}: {type(error).__name__}: {error}") from error
    return module


def _check(path: Path, before: dict[str, type], declared: dict[str, type]) -> None:
    from objectspace.models.base import SceneModel

    if not declared:
        raise UserError(f"--with {path}: it declares no model: it needs a ModelConfig with a kind of its own")
    for kind, config in declared.items():
        if kind in before:
            raise UserError(f"--with {path}: there is a kind of model {kind!r} already: give yours another name")
        if config not in SceneModel.by_config:
            wanted = f"class {config.__name__}Model(SceneModel, config={config.__name__})"
            raise UserError(f"--with {path}: the kind {kind!r} has a config but no model: declare  {wanted}")


def _place(error: BaseException, path: Path) -> str:
    """The file, and the line of it at which an error arose."""
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f"{error.filename or path}, line {error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path}, line {lines[-1]}" if lines else str(path)
