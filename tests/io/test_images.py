import hashlib
import io
import os
import struct
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageFile

from helpers.writers import picture, save
from objectspace.data.atari.screen import scaled
from objectspace.errors import UserError
from objectspace.io.images import MAX_PIXELS, BadImage, list_images, read_frames, read_image, resize


def stored(image: Image.Image, kind: str = "PNG", **options: Any) -> io.BytesIO:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer


def reason(source: Path | io.BytesIO) -> str:
    with pytest.raises(BadImage) as caught:
        read_image(source)
    return caught.value.reason


def ramp(dtype: Any, top: float) -> NDArray[Any]:
    return np.linspace(0, top, 256).reshape(16, 16).astype(dtype)


GREY = np.repeat(np.arange(256, dtype=np.uint8).reshape(16, 16, 1), 3, axis=2)


def test_rgb_comes_back_as_it_was(tmp_path: Path) -> None:
    assert np.array_equal(read_image(save(tmp_path / "a.png", picture(0))), picture(0))


def test_grey_and_one_bit_become_rgb() -> None:
    assert np.array_equal(read_image(stored(Image.fromarray(GREY[:, :, 0]))), GREY)
    assert np.array_equal(read_image(stored(Image.fromarray(GREY[:, :, 0] > 127))), np.where(GREY > 127, 255, 0))


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "PPM"])
def test_16_bit_grey_spans_black_to_white(kind: str) -> None:
    assert np.array_equal(read_image(stored(Image.fromarray(ramp(np.uint16, 65535)), kind)), GREY)


def test_a_dark_16_bit_image_stays_dark() -> None:
    assert read_image(stored(Image.fromarray(ramp(np.uint16, 2570)))).max() == 10


@pytest.mark.parametrize(("dtype", "top"), [(np.int32, 25_500_000), (np.float32, 1), (np.float32, 255)])
def test_wide_numbers_are_brought_into_range(dtype: Any, top: float) -> None:
    assert np.abs(read_image(stored(Image.fromarray(ramp(dtype, top)), "TIFF")).astype(int) - GREY).max() <= 1


def test_numbers_that_are_none_do_not_spoil_the_others() -> None:
    values = ramp(np.float32, 1)
    values[0, 0], values[0, 1] = np.nan, np.inf
    assert np.array_equal(read_image(stored(Image.fromarray(values), "TIFF"))[1:], GREY[1:])


def test_palette_shows_its_colours() -> None:
    colours = np.zeros((4, 4, 3), np.uint8)
    colours[:2] = 200, 30, 10
    assert np.array_equal(read_image(stored(Image.fromarray(colours).quantize(4))), colours)


def test_a_transparent_palette_entry_turns_white() -> None:
    image = Image.new("P", (2, 1))
    image.putpalette([255, 0, 0, 0, 0, 255])
    image.putpixel((1, 0), 1)
    assert read_image(stored(image, transparency=0)).tolist() == [[[255, 255, 255], [0, 0, 255]]]


def test_alpha_is_laid_over_white_unless_the_stored_colours_are_wanted() -> None:
    pixels = np.array([[[10, 20, 30, 0], [10, 20, 30, 255], [0, 0, 0, 128]]], np.uint8)
    shown = read_image(stored(Image.fromarray(pixels)))
    assert shown.tolist() == [[[255, 255, 255], [10, 20, 30], [127, 127, 127]]]
    assert read_image(stored(Image.fromarray(pixels)), matte=None).tolist() == pixels[:, :, :3].tolist()
    grey = Image.fromarray(np.array([[[60, 0], [60, 255]]], np.uint8), "LA")
    assert read_image(stored(grey))[0, :, 0].tolist() == [255, 60]


def test_cmyk_in_tiff_and_inverted_in_jpeg_are_converted() -> None:
    red = Image.new("CMYK", (16, 16), (0, 255, 255, 0))
    for file in (stored(red, "TIFF"), stored(red, "JPEG", quality=95)):
        assert np.abs(read_image(file).astype(int) - (255, 0, 0)).max() < 8


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_rotation_is_undone(kind: str, orientation: int) -> None:
    upright = np.zeros((16, 32, 3), np.uint8)
    upright[:8, :8] = 255  # white in the upper left corner
    flipped = upright[:, ::-1] if orientation in (2, 4, 5, 7) else upright
    turned = np.rot90(flipped, {1: 0, 2: 0, 3: 2, 4: 2, 5: 1, 6: 1, 7: 3, 8: 3}[orientation])
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"lossless": True} if kind == "WEBP" else {}
    image = read_image(stored(Image.fromarray(np.ascontiguousarray(turned)), kind, exif=exif, **options))
    assert image.shape == (16, 32, 3)
    assert image[2:6, 2:6].min() > 240
    assert image[10:, 10:].max() < 15


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP", "TIFF"])
def test_of_an_animation_the_first_frame_is_taken(kind: str) -> None:
    first, second = Image.new("RGB", (8, 6), (0, 0, 0)), Image.new("RGB", (8, 6), (255, 255, 255))
    options = {"lossless": True} if kind == "WEBP" else {}
    image = read_image(stored(first, kind, save_all=True, append_images=[second], **options))
    assert image.shape == (6, 8, 3)
    assert image.max() == 0


def test_files_that_cannot_be_opened_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty.png").touch()
    (tmp_path / "dangling.png").symlink_to(tmp_path / "nowhere.png")
    os.mkfifo(tmp_path / "pipe.png")
    assert "does not exist" in reason(tmp_path / "missing.png")
    assert "link" in reason(tmp_path / "dangling.png")
    assert "directory" in reason(tmp_path)
    assert "0 bytes" in reason(tmp_path / "empty.png")
    assert "regular file" in reason(tmp_path / "pipe.png")
    assert "cannot be opened" in reason(tmp_path / ("x" * 300 + ".png"))

    def refuse(*_: object) -> None:  # root may read everything, so the refusal is played
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert "permission denied" in reason(tmp_path / "empty.png")


def test_what_is_no_image_is_refused() -> None:
    assert "not an image" in reason(io.BytesIO(b"a letter to my aunt"))
    assert "not an image" in reason(io.BytesIO(b"\x89PNG"))


def test_what_would_be_handed_to_an_interpreter_is_refused() -> None:
    assert "not an image" in reason(stored(Image.new("RGB", (8, 8)), "EPS"))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM"])
@pytest.mark.parametrize("kept", [0.3, 0.6, 0.9])
def test_a_truncated_image_is_refused(kind: str, kept: float) -> None:
    whole = stored(Image.fromarray(picture(0, 64, 64)), kind).getvalue()
    assert reason(io.BytesIO(whole[: int(kept * len(whole))]))


def test_truncated_images_are_never_allowed_by_a_switch() -> None:
    assert ImageFile.LOAD_TRUNCATED_IMAGES is False


def test_a_damaged_image_is_refused() -> None:
    whole = bytearray(stored(Image.fromarray(picture(0, 64, 64))).getvalue())
    whole[2000] ^= 0xFF
    assert "damaged" in reason(io.BytesIO(bytes(whole)))


def png_that_claims(width: int, height: int) -> io.BytesIO:
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))
    return io.BytesIO(b"\x89PNG\r\n\x1a\n" + chunk + struct.pack(">I", 0) + b"IDAT" + struct.pack(">I", 0x35AF061E))


def test_an_enormous_image_is_refused_by_its_header() -> None:
    before = Image.MAX_IMAGE_PIXELS
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "enormous" in reason(png_that_claims(60000, 60000))
        assert "truncated" in reason(png_that_claims(12000, 12000))  # large, but allowed: no warning either
    text = reason(png_that_claims(20000, 20000))
    assert "400000000" in text
    assert str(MAX_PIXELS) in text.replace(",", "")
    assert before == Image.MAX_IMAGE_PIXELS


def test_the_limit_holds_where_pillow_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    assert "20000 x 20000" in reason(png_that_claims(20000, 20000))


def test_images_are_listed_in_natural_order_without_hidden_ones(tmp_path: Path) -> None:
    for name in ("b/img10.png", "b/img2.PNG", "a.jpeg", ".hidden.png", ".git/x.png", "notes.txt", "b/img02.png"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    found = [path.relative_to(tmp_path).as_posix() for path in list_images(tmp_path)]
    assert found == ["a.jpeg", "b/img2.PNG", "b/img02.png", "b/img10.png"]


def test_listing_a_directory_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="missing"):
        list_images(tmp_path / "nowhere")


def test_shrinking_averages_and_growing_interpolates() -> None:
    board = (np.indices((8, 8)).sum(axis=0)[:, :, None].repeat(3, axis=2) % 2 * 200).astype(np.uint8)
    assert (resize(board, 4, 4) == 100).all()
    assert np.ptp(resize(board, 3, 3).astype(int)) < 60  # not a whole factor: still averaged
    halves = np.zeros((1, 2, 3), np.uint8)
    halves[:, 1] = 200
    assert resize(halves, 1, 4)[0, :, 0].tolist() == [0, 50, 150, 200]
    assert resize(halves, 5, 4).shape == (5, 4, 3)


@pytest.mark.parametrize(
    ("given", "wanted", "digest"),
    [
        ((128, 128), (128, 128), "39a7c912"),
        ((210, 160), (128, 128), "50e8b396"),
        ((480, 640), (128, 128), "8a673a00"),
        ((256, 384), (128, 128), "c3848ccc"),
        ((64, 64), (128, 128), "90516109"),
        ((33, 7), (16, 48), "5f62512f"),
    ],
)
def test_trained_weights_and_kept_data_see_the_pixels_they_always_saw(
    given: tuple[int, int], wanted: tuple[int, int], digest: str
) -> None:
    assert hashlib.blake2b(resize(picture(7, *given), *wanted).tobytes(), digest_size=4).hexdigest() == digest


@pytest.mark.parametrize(
    ("wanted", "digest"),
    [
        ((128, 128), "8ce30caf"),
        ((64, 64), "f052066f"),
        ((84, 84), "a2f9e4df"),
        ((105, 80), "9ff3f5aa"),
        ((210, 160), "85962f95"),
        ((240, 320), "1c66a26f"),
    ],
)
def test_screens_are_the_bytes_that_data_sets_of_games_have_always_held(wanted: tuple[int, int], digest: str) -> None:
    assert hashlib.blake2b(scaled(picture(7, 210, 160), *wanted).tobytes(), digest_size=4).hexdigest() == digest


@pytest.mark.parametrize(("bits", "is_read"), [(8, True), (16, False)])
def test_planar_colours_are_read_right_or_refused(bits: int, is_read: bool, tmp_path: Path) -> None:
    colours = np.random.default_rng(0).integers(0, 2**bits, (5, 7, 3)).astype(f"<u{bits // 8}")
    planes = [np.ascontiguousarray(colours[..., channel]).tobytes() for channel in range(3)]
    length = len(planes[0])
    bits_at, places_at, lengths_at = (8 + 3 * length + part for part in (0, 6, 18))
    head = {
        256: (3, 1, 7),
        257: (3, 1, 5),
        258: (3, 3, bits_at),
        259: (3, 1, 1),
        262: (3, 1, 2),
        273: (4, 3, places_at),
    }
    head |= {277: (3, 1, 3), 278: (3, 1, 5), 279: (4, 3, lengths_at), 284: (3, 1, 2)}
    table = struct.pack("<H", len(head)) + b"".join(struct.pack("<HHII", tag, *entry) for tag, entry in head.items())
    numbers = struct.pack("<3H3I3I", *[bits] * 3, *(8 + length * channel for channel in range(3)), *[length] * 3)
    path = tmp_path / "planar.tif"
    path.write_bytes(
        b"II*\0" + struct.pack("<I", 8 + 3 * length + len(numbers)) + b"".join(planes) + numbers + table + bytes(4)
    )
    if is_read:
        assert np.array_equal(read_image(path), colours)
        return
    for read in (read_image, lambda file: list(read_frames(file))):
        with pytest.raises(BadImage, match="planar"):
            read(path)
