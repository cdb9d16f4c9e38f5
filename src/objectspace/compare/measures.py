"""Measurements that are made once: kept in files named after the model's weights and the data they were made on."""

from hashlib import blake2b
from pathlib import Path
from typing import Any

from objectspace import __version__
from objectspace.compare.trained import TrainedModel
from objectspace.data.memory_map import fingerprint_of
from objectspace.errors import UserError
from objectspace.io.files import read_json, write_json
from objectspace.io.keys import by_new_names
from objectspace.measuring import measure_model, open_for
from objectspace.models import load


def measured(who: TrainedModel, data: Path, split: str, limit: int | None, cache: Path) -> dict[str, Any]:
    """The numbers of a model on a split of a data set, from the cache or by measuring now."""
    path = cache / f"{who.fingerprint}-{data_key(data, split, limit)}.json"
    if path.exists():
        return by_new_names(read_json(path))
    model = load(who.folder)
    numbers = measure_model(model, open_for(model, data, split), limit).to_dict()
    try:
        write_json(path, numbers | {"model": who.name, "data": str(data), "split": split, "version": __version__})
    except OSError as error:
        raise UserError(f"cannot keep the numbers of {who.name} in {cache}: {error}") from error
    return numbers


def data_key(data: Path, split: str, limit: int | None) -> str:
    """The same for the same images and annotations, measured by the same version."""
    content = f"{__version__} {(data / split).resolve()} {fingerprint_of(data / split)} {limit}"
    return blake2b(content.encode(), digest_size=8).hexdigest()
