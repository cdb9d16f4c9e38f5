"""Scenes that a model draws, measured beside the data: how many objects, how large, of which colours, how far off.

The distance is Fréchet's between Gaussians of features: means and standard deviations of the maps of a small untrained
net of convolutions, the same for everybody. Its floor is the distance between two halves of the data.
"""

import time
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import nn

from objectspace.data.dataset import Dataset
from objectspace.models import load
from objectspace.models.base import SceneModel
from objectspace.models.seen import Appearance
from objectspace.paper.findings import Finding, read_finding, write_finding
from objectspace.paper.measure import machine_here, today
from objectspace.paper.place import Place, has_weights
from objectspace.paper.trainings import Say, Training
from objectspace.reports.pictures import Tile, sheet
from objectspace.scene import Picture, Scene
from objectspace.training.seen import note_seen

COUNT = 200  # scenes of each kind
SHOWN = 16
CAPTIONS = {"prior": "looks-from-the-prior", "seen": "looks-as-seen"}
BINS = 4  # of each colour channel
Features = NDArray[np.float64]


def measure_samples(training: Training, place: Place, say: Say) -> Finding | None:
    """How near a model's scenes are to its data, with looks from the prior and as seen; None without weights."""
    run, count = place.run(training.name), COUNT
    path = place.measurements / f"samples-{training.name}.json"
    if not has_weights(run):
        return None
    stamp = f"{(run / 'model' / 'model.safetensors').stat().st_mtime_ns}"
    if path.exists() and (known := read_finding(path)).of == stamp:
        return known
    name, begun = training.model.data + ("-full" if training.full else ""), time.monotonic()
    model = load(run / "model")
    if model.seen is None:
        note_seen(
            model, Dataset(place.data(name), "train", model.config.image_size, model.config.channels), training.seed
        )
    test = Dataset(place.tested_on(name), "test", model.config.image_size)
    say(f"drawing scenes with {training.name}")
    chosen = np.linspace(0, len(test) - 1, min(2 * count, len(test))).astype(np.int64)
    images = [test.images[index] for index in chosen]
    drawn = _drawn(model, count)
    numbers = compare(images, [test.scene(int(index)) for index in chosen], drawn)
    place.pictures.mkdir(parents=True, exist_ok=True)
    for way, scenes in drawn.items():
        picture = sheet([Tile(_picture(scene)) for scene in scenes[:SHOWN]], 8)
        Image.fromarray(picture).save(place.pictures / f"generation-{CAPTIONS[way]}.png")
    finding = Finding(
        name=path.stem,
        what="samples",
        model=training.model.key,
        recipe=training.model.recipe_name(training.full),
        seed=training.seed,
        command=f"objectspace sample --model {training.name}/model --count {count} [--appearance seen]",
        measured_on=f"{count} scenes of each kind, {len(images)} test images",
        seconds=round(time.monotonic() - begun, 1),
        of=stamp,
        numbers=numbers,
        machine=machine_here(),
        date=today(),
    )
    write_finding(place.measurements, finding)
    return finding


def compare(images: Sequence[Picture], truth: Sequence[Scene], drawn: dict[str, list[Scene]]) -> dict[str, Any]:
    """The measures of the data, a half of it against the other, and of each way of drawing, against all of it."""
    features = features_of(images)
    floor = frechet(features[::2], features[1::2])
    table: dict[str, Any] = {"data": about(images, truth) | {"colours": 0.0, "distance": floor, "times_floor": 1.0}}
    own = colours(images)
    for way, scenes in drawn.items():
        pictures = [_picture(scene) for scene in scenes]
        distance = frechet(features, features_of(pictures))
        table[way] = about(pictures, scenes) | {
            "colours": float(np.abs(colours(pictures) - own).sum() / 2),
            "distance": distance,
            "times_floor": distance / max(floor, 1e-9),
        }
    return table


def about(images: Sequence[Picture], scenes: Sequence[Scene]) -> dict[str, Any]:
    """Objects an image, and the geometric mean of their sides as a fraction of the image's."""
    sides = [
        float(np.sqrt(max(box[2] - box[0], 0) * max(box[3] - box[1], 0)) / np.sqrt(image.shape[0] * image.shape[1]))
        for image, scene in zip(images, scenes, strict=True)
        for box in scene.boxes
    ]
    counts = [len(scene.objects) for scene in scenes]
    return {
        "objects": float(np.mean(counts)),
        "objects_deviation": float(np.std(counts)),
        "sides": float(np.mean(sides)) if sides else None,
        "sides_deviation": float(np.std(sides)) if sides else None,
    }


def colours(images: Sequence[Picture]) -> Features:
    """The share of pixels of each of 64 colours."""
    levels = np.stack(images).reshape(-1, 3).astype(np.int64) * BINS // 256
    numbers = (levels[:, 0] * BINS + levels[:, 1]) * BINS + levels[:, 2]
    return np.bincount(numbers, minlength=BINS**3) / len(numbers)


def features_of(images: Sequence[Picture]) -> Features:
    """What an untrained net makes of images (H, W, 3): (n, 96)."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layers = [nn.Conv2d(before, after, 4, 2) for before, after in ((3, 16), (16, 32))]
    made = []
    with torch.inference_mode():
        for image in images:
            maps = torch.from_numpy(image.copy()).permute(2, 0, 1)[None].float() / 255 - 0.5
            found = []
            for layer in layers:
                maps = torch.relu(layer(maps))
                found += [maps.mean((2, 3))[0], maps.std((2, 3))[0]]
            made.append(torch.cat(found))
    return torch.stack(made).double().numpy()


def frechet(one: Features, other: Features) -> float:
    """Fréchet's distance between the Gaussians that fit two sets of features (n, D)."""
    apart = one.mean(0) - other.mean(0)
    first, second = np.cov(one.T), np.cov(other.T)
    values, vectors = np.linalg.eigh(first)
    half = vectors * np.sqrt(values.clip(0)) @ vectors.T  # its square root: both are symmetric
    shared = np.sqrt(np.linalg.eigvalsh(half @ second @ half).clip(0)).sum()
    return float(max(apart @ apart + np.trace(first) + np.trace(second) - 2 * shared, 0.0))


def _drawn(model: SceneModel, count: int) -> dict[str, list[Scene]]:
    """Scenes with looks from the prior, and as seen where the model knows."""
    ways: tuple[Appearance, ...] = get_args(Appearance)
    return {
        way: model.sample(count, torch.Generator().manual_seed(0), appearance=way)
        for way in ways
        if way == "prior" or model.seen is not None
    }


def _picture(scene: Scene) -> Picture:
    if scene.reconstruction is None:
        raise ValueError("a drawn scene has a picture")
    return scene.reconstruction
