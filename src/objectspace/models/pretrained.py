"""Models on disk: a folder with `config.json` (what the model is) and `model.safetensors` (its weights). No pickle.

Reading trusts nothing: the config is small and validated, and the header of the weights must name exactly the tensors
that the config asks for, of the right sizes, in a file of the right length, before any weight is allocated.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from objectspace.config import ModelConfig, Stage
from objectspace.errors import UserError, nearest
from objectspace.io.files import read_foreign_json, write_atomically
from objectspace.models.base import SceneModel
from objectspace.models.parts.settings import GridConfig
from objectspace.models.seen import Seen, from_json

FORMAT = 1
CONFIG, WEIGHTS = "config.json", "model.safetensors"
RUN = "model"  # where a run has its weights
_LARGEST_CONFIG = 1_000_000  # bytes; ours have 3000
_LARGEST_HEADER = 10_000_000
_DTYPES = {torch.float32: "F32", torch.float64: "F64", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64"}


def save_pretrained(model: SceneModel, directory: str | Path, *, half: bool = False) -> None:
    """Write the model into a folder, each file first under a temporary name.

    `half` stores what was learned in half precision; running statistics, few and of any magnitude, keep theirs.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    content = {"format": FORMAT, "model": model.config.model_dump(mode="json"), "final": asdict(model.final)}
    if model.seen is not None:
        content["seen"] = model.seen.to_json()
    learned = {name for name, _ in model.named_parameters()} if half else set()
    weights = {
        name: (value.half() if name in learned else value).detach().cpu().contiguous()
        for name, value in model.state_dict().items()
    }
    for name in (CONFIG, WEIGHTS):
        part = directory / f".{name}.part"
        if name == CONFIG:
            part.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        else:
            save_file(weights, part, metadata={"format": "pt", "made_by": "objectspace"})
        os.replace(part, directory / name)


def from_pretrained(directory: str | Path) -> SceneModel:
    """The model in a folder, in evaluation mode; anything wrong with it is a `UserError`."""
    directory = Path(directory)
    config, final = read_config(directory / CONFIG)
    path, kind = directory / WEIGHTS, SceneModel.by_config[type(config)]
    try:
        with torch.device("meta"):  # shapes only: no memory, whatever the config asks for
            expected = kind(config).state_dict()
    except (RuntimeError, ValueError, TypeError, OverflowError) as error:
        raise UserError(f"{directory / CONFIG} describes no model that can be built: {error}") from error
    header = _read_header(path)
    forgotten = kind.forgotten - expected.keys()
    _check_header({name: entry for name, entry in header.items() if name not in forgotten}, expected, path)
    model = kind(config, final)
    if isinstance(config, GridConfig):
        model.seen = read_seen(directory / CONFIG, config.foreground.what_dim)
    try:
        weights = {name: tensor for name, tensor in load_file(path).items() if name not in forgotten}
        model.load_state_dict(weights, strict=True)
    except (OSError, RuntimeError, SafetensorError) as error:
        raise UserError(f"the weights {path} cannot be read: {error}") from error
    return model.eval()


def load(name_or_directory: str | Path) -> SceneModel:
    """A model by the folder it was saved in, by a run's, or by the name of one that comes with the package."""
    path = Path(name_or_directory)
    if path.is_dir():
        run = not (path / CONFIG).exists() and (path / RUN / CONFIG).exists()
        return from_pretrained(path / RUN if run else path)
    folder = resources.files("objectspace") / "weights" / str(name_or_directory)
    if Path(str(name_or_directory)).name == str(name_or_directory) and folder.is_dir():
        with resources.as_file(folder) as directory:
            return from_pretrained(directory)
    name = str(name_or_directory)
    if os.sep in name:
        raise UserError(f"there is no model in {name}: it does not exist; give a model's folder, or a run's")
    raise UserError(f"there is no model {name!r}: it is no folder, and of those that ship {nearest(name, _known())}")


def _known() -> list[str]:
    folder = resources.files("objectspace") / "weights"
    return sorted(item.name for item in folder.iterdir() if item.is_dir()) if folder.is_dir() else []


def read_config(path: Path) -> tuple[ModelConfig, Stage]:
    """What a model's config.json says: what the model is, and the annealed values it ended with."""
    try:
        content = read_foreign_json(path, _LARGEST_CONFIG)
    except OSError as error:
        raise UserError(f"there is no model in {path.parent}: {path.name} cannot be read: {error}") from error
    if not isinstance(content, dict) or not {"format", "model", "final"} <= content.keys():
        raise UserError(f"{path} is no config of an objectspace model: it needs format, model and final")
    if content["format"] != FORMAT:
        raise UserError(f"{path} has format {content['format']}; this version of objectspace reads {FORMAT}")
    try:
        config = ModelConfig.model_validate(content["model"])
        final = TypeAdapter(Stage).validate_python(_today(content["final"], config))
    except ValidationError as error:
        issues = "; ".join(f"{'.'.join(map(str, issue['loc']))}: {issue['msg']}" for issue in error.errors()[:3])
        raise UserError(f"{path} describes no model of this version: {issues}") from error
    return config, final


def read_seen(path: Path, what_dim: int) -> Seen | None:
    """What a model's config.json says of its training images; None for weights of before."""
    content = json.loads(path.read_text(encoding="utf-8")).get("seen")
    return None if content is None else from_json(content, what_dim, str(path))


def write_seen(directory: Path, seen: Seen) -> None:
    """Put what training images were like beside weights that there are; the weights stay as they are."""
    content = read_foreign_json(directory / CONFIG, _LARGEST_CONFIG) | {"seen": seen.to_json()}
    write_atomically(directory / CONFIG, (json.dumps(content, indent=1) + "\n").encode())


def _today(final: Any, config: ModelConfig) -> Any:
    """The final values as this version names them: once both sigmas had a common factor."""
    if not isinstance(final, dict) or "sigma_factor" not in final:
        return final
    kept = {key: value for key, value in final.items() if key != "sigma_factor"}
    factor = final["sigma_factor"]
    if isinstance(factor, (int, float)) and factor != 1 and isinstance(config, GridConfig):
        behind = config.model_dump()["background"]["sigma"]
        kept |= {"foreground_sigma": config.foreground.sigma * factor, "background_sigma": behind * factor}
    return kept


def _read_header(path: Path) -> dict[str, Any]:
    """The header of a safetensors file: 8 bytes of length, then JSON."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(size - 8, _LARGEST_HEADER):
                raise UserError(f"{path} is cut off, or no safetensors file")
            header = json.loads(file.read(length))
    except OSError as error:
        raise UserError(f"the weights {path} cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is no safetensors file: its header is not JSON") from error
    if not isinstance(header, dict) or not all(isinstance(entry, dict) for entry in header.values()):
        raise UserError(f"{path} is no safetensors file: its header is no table")
    header.pop("__metadata__", None)
    spans = sorted(_span(entry, path) for entry in header.values())
    ends = [0, *(end for _, end in spans)]
    if [start for start, _ in spans] != ends[:-1] or ends[-1] != size - 8 - length:
        raise UserError(f"{path} is cut off or damaged: its tensors do not fill the file")
    return header


def _span(entry: Mapping[str, Any], path: Path) -> tuple[int, int]:
    """Where a tensor begins and ends in the file."""
    span = entry.get("data_offsets")
    if not isinstance(span, list) or len(span) != 2 or not all(type(place) is int for place in span):
        raise UserError(f"{path} is no safetensors file: a tensor has no place in it")
    return span[0], span[1]


def _check_header(header: Mapping[str, Any], expected: Mapping[str, Tensor], path: Path) -> None:
    missing, extra = sorted(expected.keys() - header.keys()), sorted(header.keys() - expected.keys())
    if missing or extra:
        raise UserError(
            f"{path} does not fit its config: missing {', '.join(missing[:3]) or 'nothing'}; "
            f"unknown {', '.join(extra[:3]) or 'nothing'}"
        )
    for name, tensor in expected.items():
        given, dtype = header[name].get("shape"), header[name].get("dtype")
        if given != list(tensor.shape):
            raise UserError(f"{path} does not fit its config: {name} is {given}, not {list(tensor.shape)}")
        if dtype != _DTYPES[tensor.dtype] and not (tensor.is_floating_point() and dtype in ("F16", "BF16", "F64")):
            raise UserError(f"{path}: {name} holds {dtype}, which is no {_DTYPES[tensor.dtype]}")
