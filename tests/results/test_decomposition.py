"""A heap of images into a directory: memory that does not grow, disks that fill up."""

import weakref
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from objectspace.config import View
from objectspace.errors import UserError
from objectspace.io.files import write_atomically
from objectspace.io.paths import ImageFile, image_files
from objectspace.models import create
from objectspace.results import batch, decomposition
from objectspace.results.decomposition import Decomposition
from objectspace.results.directory import Summary, bare
from objectspace.results.options import DecomposeOptions
from objectspace.scene import Object, Scene
from oracle.mixtures import small_genesis, small_iodine
from oracle.small import small_config, small_model
from oracle.small_spair import small_spair


class Finder:
    """Finds one object in every image, in no time."""

    config = SimpleNamespace(model_dump_json=lambda **_: "{}", view=View(), image_size=(32, 48))
    final = None

    def state_dict(self) -> dict[str, Any]:
        return {}

    def decompose(self, images: list[np.ndarray], *_: object, **__: object) -> list[Scene]:
        return [self.scene(*image.shape[:2]) for image in images]

    @staticmethod
    def scene(height: int, width: int) -> Scene:
        mask = np.ones((height, width), np.bool_)
        return Scene(height, width, (Object((0, 0, width, height), (0, 0, width, height), mask=mask),))


def run(folder: Path, out: Path, **options: Any) -> Summary:
    plain = {"overlays": False, "report_images": 0, "batch": 4} | options
    work = Decomposition(out, Finder(), "finder", DecomposeOptions(**plain))
    return work.run(image_files([str(folder)], out), None, lambda _: None)


def make(folder: Path, count: int) -> Path:
    folder.mkdir()
    Image.new("RGB", (4, 3)).save(folder / "0.png")
    for number in range(1, count):
        (folder / f"{number}.png").hardlink_to(folder / "0.png")
    return folder


def test_no_more_than_a_batch_is_ever_held(tmp_path, monkeypatch):
    folder, original = make(tmp_path / "in", 50), Finder.decompose
    alive: weakref.WeakSet[ImageFile] = weakref.WeakSet()
    most = []

    def named() -> Iterator[ImageFile]:
        for number in range(50):
            source = ImageFile(str(folder / f"{number}.png"))
            alive.add(source)
            yield source

    def counted(self: Finder, images: list[np.ndarray], *_: object, **__: object) -> list[Scene]:
        most.append(len(alive))
        return original(self, images)

    monkeypatch.setattr(Finder, "decompose", counted)
    options = DecomposeOptions(overlays=False, report_images=0, batch=4)
    done = Decomposition(tmp_path / "out", Finder(), "finder", options).run(named(), None, lambda _: None)
    assert done.images == 50
    assert 4 <= max(most) <= 6


def test_a_batch_of_large_images_is_done_before_it_is_full(tmp_path, monkeypatch):
    monkeypatch.setattr(batch, "LARGEST_BATCH", 24)
    sizes = []

    def noted(self, images, *_, **__):
        sizes.append(len(images))
        return [self.scene(*image.shape[:2]) for image in images]

    monkeypatch.setattr(Finder, "decompose", noted)
    run(make(tmp_path / "in", 5), tmp_path / "out")
    assert sizes == [2, 2, 1]


def test_a_disk_that_is_full_is_explained_and_the_rest_done_later(tmp_path, monkeypatch):
    folder = make(tmp_path / "in", 12)

    def full(path: Path, *rest: Any, **options: Any) -> None:
        if path.name == "6.json":
            raise OSError(28, "No space left on device", str(path))
        write_atomically(path, *rest, **options)

    monkeypatch.setattr(decomposition, "write_atomically", full)
    with pytest.raises(UserError, match=r"6\.json: No space left.*the same command continues"):
        run(folder, tmp_path / "out")
    monkeypatch.setattr(decomposition, "write_atomically", write_atomically)
    done = run(folder, tmp_path / "out")
    assert (done.images, done.new) == (12, 8)


@pytest.mark.parametrize(
    "config", [small_config(), small_spair(), small_genesis(), small_iodine()], ids=lambda c: c.kind
)
def test_a_bare_scene_is_what_a_model_gives_that_is_asked_for_no_more(config):
    model = small_model(config) if config.kind == "spair" else create(config, seed=1)
    if config.kind == "space":  # opaque objects on black are worth something
        with torch.no_grad():
            model.foreground.glimpse_decoder.dec_alpha.bias.fill_(4)
            list(model.background.component_decoder.parameters())[-1].fill_(-6)
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 255, (*size, 3), dtype=np.uint8) for size in ((32, 32), (40, 57), (9, 90))]
    whole, asked = (model.decompose(images, 0.3, background=more, pictures=more) for more in (True, False))
    assert any(len(scene.found) for scene in asked)
    assert [bare(scene).to_json() for scene in whole] == [scene.to_json() for scene in asked]
    assert whole[0].to_json() != asked[0].to_json()


def test_a_page_takes_images_apart_once_and_no_more_than_a_batch_with_pictures_in_vain(tmp_path, monkeypatch):
    folder, original, asked = make(tmp_path / "in", 14), Finder.decompose, []

    def counted(self: Finder, images: list[np.ndarray], *_: object, pictures: bool, **__: object) -> list[Scene]:
        asked.extend([pictures] * len(images))
        return original(self, images)

    monkeypatch.setattr(Finder, "decompose", counted)
    run(folder, tmp_path / "out", report_images=6)
    assert asked == [True] * 8 + [False] * 6
    page = (tmp_path / "out" / "report.html").read_text()
    assert [f"in/{number}.png</a>" in page for number in range(14)] == [True] * 6 + [False] * 8


def test_a_part_of_the_page_that_a_power_cut_has_spoilt_is_made_again(tmp_path, monkeypatch):
    folder = make(tmp_path / "in", 3)
    run(folder, tmp_path / "out", report_images=9)
    before = (tmp_path / "out" / "report.html").read_bytes()
    (tmp_path / "out" / ".page" / "000002.html").write_bytes(b"<section")
    (tmp_path / "out" / "report.html").unlink()
    run(folder, tmp_path / "out", report_images=9)
    assert (tmp_path / "out" / "report.html").read_bytes() == before
