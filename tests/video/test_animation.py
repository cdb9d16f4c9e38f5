"""A GIF holds the pictures it was given, at the pace it was asked for, without keeping them all."""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageSequence

from objectspace.errors import UserError
from objectspace.video.animation import write_gif


def frames_of(path: Path) -> list[NDArray[np.uint8]]:
    with Image.open(path) as image:
        return [np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(image)]


def moving(count: int, side: int = 40) -> list[NDArray[np.uint8]]:
    pictures = []
    for number in range(count):
        picture = np.full((side, side + 10, 3), (20, 30, 40), np.uint8)
        picture[5 + number : 12 + number, 3 * number : 3 * number + 8] = (250, 200, 10 * number)
        pictures.append(picture)
    return pictures


def test_pictures_of_few_colours_come_back_exactly(tmp_path: Path) -> None:
    pictures = moving(8)
    assert write_gif(tmp_path / "deep" / "a.gif", pictures, fps=20) == 8
    for given, read in zip(pictures, frames_of(tmp_path / "deep" / "a.gif"), strict=True):
        assert np.array_equal(given, read)
    with Image.open(tmp_path / "deep" / "a.gif") as image:
        assert (image.info["duration"], image.info["loop"]) == (50, 0)


def test_equal_pictures_are_shown_as_often_as_they_come(tmp_path: Path) -> None:
    [picture] = moving(1)
    write_gif(tmp_path / "a.gif", [picture] * 3, fps=10)
    assert len(frames_of(tmp_path / "a.gif")) == 3


def test_many_colours_are_nearly_right(tmp_path: Path) -> None:
    ramp = np.linspace(0, 255, 64).astype(np.uint8)
    picture = np.stack(np.broadcast_arrays(ramp[:, None], ramp[None], np.uint8(90)), axis=2)
    write_gif(tmp_path / "a.gif", [picture, picture[::-1]], fps=10)
    for given, read in zip([picture, picture[::-1]], frames_of(tmp_path / "a.gif"), strict=True):
        assert np.abs(given.astype(int) - read).mean() < 8


def test_all_pictures_get_the_size_of_the_first(tmp_path: Path) -> None:
    write_gif(tmp_path / "a.gif", [np.zeros((30, 20, 3), np.uint8), np.full((60, 60, 3), 255, np.uint8)], fps=10)
    first, second = frames_of(tmp_path / "a.gif")
    assert first.shape == second.shape == (30, 20, 3)
    assert (second == 255).all()


def test_a_single_pixel_and_no_picture_at_all(tmp_path: Path) -> None:
    write_gif(tmp_path / "a.gif", [np.full((1, 1, 3), 7, np.uint8)], fps=10)
    assert frames_of(tmp_path / "a.gif")[0].tolist() == [[[7, 7, 7]]]
    assert write_gif(tmp_path / "none.gif", [], fps=10) == 0
    assert not (tmp_path / "none.gif").exists()


def test_what_a_gif_cannot_hold_is_refused(tmp_path: Path) -> None:
    for fps in (0, 51):
        with pytest.raises(UserError, match="50 pictures a second"):
            write_gif(tmp_path / "a.gif", moving(1), fps=fps)
    with pytest.raises(UserError, match="65535 pixels"):
        write_gif(tmp_path / "a.gif", [np.zeros((1, 70_000, 3), np.uint8)], fps=10)


def test_a_broken_stream_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    write_gif(tmp_path / "a.gif", moving(2), fps=10)
    before = (tmp_path / "a.gif").read_bytes()

    def broken() -> Iterator[NDArray[np.uint8]]:
        yield from moving(2)
        raise RuntimeError("unplugged")

    with pytest.raises(RuntimeError, match="unplugged"):
        write_gif(tmp_path / "a.gif", broken(), fps=10)
    assert [path.name for path in tmp_path.iterdir()] == ["a.gif"]
    assert (tmp_path / "a.gif").read_bytes() == before


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_pictures(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    peaks = []
    for count in (5, 40):
        noise = (rng.integers(0, 255, (128, 128, 3), dtype=np.uint8) for _ in range(count))
        tracemalloc.start()
        write_gif(tmp_path / "a.gif", noise, fps=10)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert (tmp_path / "a.gif").stat().st_size > 10 * 128 * 128
    assert peaks[1] < peaks[0] + 100_000


def test_a_picture_is_on_disk_before_the_next_but_one_is_asked_for(tmp_path: Path) -> None:
    rng, sizes = np.random.default_rng(0), []

    def noise() -> Iterator[NDArray[np.uint8]]:
        for _ in range(6):
            sizes.append(sum(path.stat().st_size for path in tmp_path.iterdir()))
            yield rng.integers(0, 255, (128, 128, 3), dtype=np.uint8)

    write_gif(tmp_path / "a.gif", noise(), fps=10)
    frame = (tmp_path / "a.gif").stat().st_size / 6
    assert all(size > (number - 2) * frame for number, size in enumerate(sizes))
