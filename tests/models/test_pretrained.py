"""Models on disk: exactly what was saved comes back, and nothing else is let in."""

import json
import struct
import tracemalloc
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from objectspace.config import Anneal
from objectspace.errors import UserError
from objectspace.models import Space, create, from_pretrained, load, save_pretrained
from oracle.small import small_config


@pytest.fixture
def model() -> Space:
    return Space.create(small_config(channels="bgr"), Anneal(presence_prior=0.3), seed=4)


@pytest.fixture
def folder(model, tmp_path) -> Path:
    save_pretrained(model, tmp_path / "model")
    return tmp_path / "model"


def rewrite_config(folder: Path, **changes) -> None:
    content = json.loads((folder / "config.json").read_text())
    for path, value in changes.items():
        *sections, last = path.split("__")
        table = content
        for section in sections:
            table = table[section]
        table[last] = value
    (folder / "config.json").write_text(json.dumps(content))


def test_a_round_trip_is_exact(model, folder):
    back = from_pretrained(folder)
    assert back.config == model.config
    assert back.final == model.final
    assert back.final.presence_prior == 0.3
    assert not back.training
    for (name, a), (other, b) in zip(model.state_dict().items(), back.state_dict().items(), strict=True):
        assert name == other
        assert a.dtype == b.dtype
        assert torch.equal(a, b)
    images = torch.rand(2, 3, 32, 32)
    assert torch.equal(model.eval()(images, sample=False).loss, back(images, sample=False).loss)


def test_a_dense_model_comes_back_as_it_was(tmp_path):
    model = create(small_config(foreground={"dense": (8, 6)}))
    save_pretrained(model, tmp_path)
    back, images = from_pretrained(tmp_path), torch.rand(2, 3, 32, 32)
    assert back.config == model.config
    assert isinstance(back, Space)
    assert back.config.foreground.dense == (8, 6)
    assert torch.equal(model.eval()(images, sample=False).loss, back(images, sample=False).loss)


def test_planes_of_colour_come_back_as_they_were(tmp_path):
    model = create(small_config(background={"components": 2, "plane": True, "fraction": 2}), seed=4)
    save_pretrained(model, tmp_path)
    back, images = from_pretrained(tmp_path), torch.rand(2, 3, 32, 32)
    assert back.config == model.config
    assert isinstance(back, Space)
    assert back.config.background.plane
    first, second = (each.eval()(images, sample=False) for each in (model, back))
    assert torch.equal(first.background.means, second.background.means)
    assert torch.equal(first.loss, second.loss)


def test_a_config_of_before_dense_nets_has_convolutions(model, folder):
    content = json.loads((folder / "config.json").read_text())
    assert content["model"]["foreground"].pop("dense") == []
    (folder / "config.json").write_text(json.dumps(content))
    assert from_pretrained(folder).config == model.config
    rewrite_config(folder, model__foreground__dense=[8, 6])
    with pytest.raises(UserError, match="does not fit its config"):
        from_pretrained(folder)


def test_a_model_saves_and_loads_itself(model, tmp_path):
    model.save_pretrained(tmp_path / "own")
    back = Space.from_pretrained(tmp_path / "own")
    assert all(torch.equal(value, back.state_dict()[name]) for name, value in model.state_dict().items())


def test_saving_again_replaces_and_leaves_no_rubbish(model, folder):
    save_pretrained(model, folder)
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors"]


def test_load_takes_a_folder_and_refuses_other_names(folder):
    assert isinstance(load(folder), Space)
    for name in ("no-such-model", "../../etc", ""):
        with pytest.raises(UserError, match="there is no model"):
            load(name) if name else load("/nowhere/at/all")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file(folder, name):
    (folder / name).unlink()
    with pytest.raises(UserError, match=name):
        from_pretrained(folder)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"format": 2, "model": {}, "final": {}}', "[" * 100000])
def test_a_config_that_is_none(folder, content):
    (folder / "config.json").write_text(content)
    with pytest.raises(UserError, match=r"config\.json"):
        from_pretrained(folder)


def test_a_config_that_does_not_fit_the_weights(folder):
    rewrite_config(folder, model__foreground__what_dim=5)
    with pytest.raises(UserError, match="does not fit its config"):
        from_pretrained(folder)


def test_a_config_with_unknown_or_wrong_keys(folder):
    rewrite_config(folder, model__foreground__colour="red")
    with pytest.raises(UserError, match="colour"):
        from_pretrained(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"model__foreground__what_dim": 10**9},
        {"model__foreground__dense": [10**9, 10**9]},
        {"model__background__hidden": 10**12},
        {"model__background__component_dim": 10**30},
        {"model__image_size": [16 * 10**6, 16 * 10**6], "model__foreground__grid": [10**6, 10**6]},
    ],
)
def test_a_config_that_asks_for_too_much_allocates_nothing(folder, change):
    rewrite_config(folder, **change)
    tracemalloc.start()
    with pytest.raises(UserError):
        from_pretrained(folder)
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()


def test_a_huge_config_is_not_read(folder):
    (folder / "config.json").write_text(" " * 2_000_000)
    with pytest.raises(UserError, match="too large"):
        from_pretrained(folder)


@pytest.mark.parametrize("keep", [0, 4, 8, 500, -1000, -1])
def test_truncated_weights(folder, keep):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(UserError, match="safetensors"):
        from_pretrained(folder)


def header_of(path: Path) -> tuple[dict, bytes]:
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def write_weights(path: Path, header: object, data: bytes) -> None:
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 10**9, 0])
def test_a_lying_header_length(folder, length):
    path = folder / "model.safetensors"
    path.write_bytes(struct.pack("<Q", length) + path.read_bytes()[8:])
    with pytest.raises(UserError, match="safetensors"):
        from_pretrained(folder)


def test_hostile_headers(folder):
    path = folder / "model.safetensors"
    header, data = header_of(path)
    name = next(key for key in header if key != "__metadata__")
    for entry in (
        {**header[name], "shape": [10**12]},
        {**header[name], "dtype": "I8"},
        {**header[name], "data_offsets": [0, 10**15]},
        {**header[name], "data_offsets": "all"},
        {**header[name], "data_offsets": []},
        {},
        7,
    ):
        write_weights(path, {**header, name: entry}, data)
        with pytest.raises(UserError, match="safetensors"):
            from_pretrained(folder)
    wholes: list[object] = [[], 3, None, {}]
    for whole in wholes:
        write_weights(path, whole, data)
        with pytest.raises(UserError, match="safetensors"):
            from_pretrained(folder)


def test_overlapping_tensors_are_refused(folder):
    path = folder / "model.safetensors"
    header, data = header_of(path)
    names = [key for key in header if key != "__metadata__" and header[key]["dtype"] == "F32"]
    header[names[0]]["data_offsets"] = header[names[1]]["data_offsets"]
    write_weights(path, header, data)
    with pytest.raises(UserError, match="safetensors"):
        from_pretrained(folder)


def test_a_tensor_too_few_or_too_many(model, folder):
    weights = {name: value.contiguous() for name, value in model.state_dict().items()}
    save_file({**weights, "extra": torch.zeros(2)}, folder / "model.safetensors")
    with pytest.raises(UserError, match="unknown extra"):
        from_pretrained(folder)
    weights.pop("background.z_mask_0")
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(UserError, match=r"missing background\.z_mask_0"):
        from_pretrained(folder)


def test_a_pickle_in_place_of_weights(model, folder):
    torch.save(model.state_dict(), folder / "model.safetensors")
    with pytest.raises(UserError, match="safetensors"):
        from_pretrained(folder)


def test_a_model_saved_when_both_sigmas_had_a_factor_keeps_its_sigmas(folder, tmp_path):
    rewrite_config(folder, final__sigma_factor=0.8)
    model = from_pretrained(folder)
    assert isinstance(model, Space)
    assert model.final.foreground_sigma == pytest.approx(0.8 * model.config.foreground.sigma)
    assert model.final.background_sigma == pytest.approx(0.8 * model.config.background.sigma)
    model.save_pretrained(tmp_path)
    assert from_pretrained(tmp_path).final == model.final


def test_a_factor_of_one_on_both_sigmas_means_nothing(folder):
    rewrite_config(folder, final__sigma_factor=1.0)
    plain = from_pretrained(folder)
    assert (plain.final.foreground_sigma, plain.final.background_sigma) == (None, None)


def test_masks_that_stills_alone_once_had_are_left_out(tmp_path):
    model = create(small_config(background={"components": 0, "stills": 2}), seed=1)
    save_pretrained(model, tmp_path)
    weights = {name: each.contiguous() for name, each in model.state_dict().items()}
    weights["background.mask_logits"] = torch.zeros(2, 1, 32, 32)
    save_file(weights, tmp_path / "model.safetensors")
    back, images = from_pretrained(tmp_path), torch.rand(2, 3, 32, 32)
    assert torch.equal(model.eval()(images, sample=False).loss, back(images, sample=False).loss)
    save_file(weights | {"background.masks": torch.zeros(2)}, tmp_path / "model.safetensors")
    with pytest.raises(UserError, match=r"unknown background\.masks"):
        from_pretrained(tmp_path)


def test_masks_of_stills_before_components_are_not_left_out(tmp_path):
    model = create(small_config(background={"components": 2, "stills": 1}), seed=1)
    with torch.no_grad():
        model.background.mask_logits.fill_(1.5)
    save_pretrained(model, tmp_path)
    assert (from_pretrained(tmp_path).state_dict()["background.mask_logits"] == 1.5).all()


def test_a_run_stands_for_its_model_and_a_slip_of_the_pen_is_noticed(tmp_path: Path) -> None:
    Space.create(small_config(), seed=1).save_pretrained(tmp_path / "run" / "model")
    assert load(tmp_path / "run").config == small_config()
    with pytest.raises(UserError, match="did you mean 'space-sprites'"):
        load("space-sprite")
    with pytest.raises(UserError, match="does not exist"):
        load(tmp_path / "nowhere" / "model")
