"""A published checkpoint, imported, computes what the published implementation computes."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from objectspace.config import Stage
from objectspace.errors import UserError
from objectspace.models import Space, import_official

HERE = Path(__file__).parents[1] / "data" / "official"
KEYS: dict[str, list[int]] = json.loads((HERE / "official_checkpoint_keys.json").read_text())
# For one component the published code builds another decoder, and all else as for several. Its tensors, by number of
# the layer under `comp_decoder.dec`: convolutions (their weights' shapes; a bias goes with each) and norms (channels).
STRONG_CONVOLUTIONS = {
    0: (256, 32, 1, 1),
    3: (256 * 16, 256, 1, 1),
    7: (256, 256, 3, 3),
    10: (128 * 16, 256, 1, 1),
    14: (128, 128, 3, 3),
    17: (64 * 4, 128, 1, 1),
    21: (64, 64, 3, 3),
    24: (16 * 16, 64, 1, 1),
    28: (16, 16, 3, 3),
    31: (16, 16, 3, 3),
    34: (3, 16, 3, 3),
}
STRONG_NORMS = {2: 256, 6: 256, 9: 256, 13: 128, 16: 128, 20: 64, 23: 64, 27: 16, 30: 16, 33: 16}


def recipe():
    spec = importlib.util.spec_from_file_location("recipe", HERE / "recipe.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def checkpoint(path: Path, grid: int = 8, **changes: torch.Tensor | None) -> Path:
    shapes = KEYS | {"fg_module.img_encoder.offset": [2, grid, grid]}
    made = recipe().weights(shapes, 0)
    weights: dict[str, torch.Tensor | None] = {name: torch.from_numpy(np.asarray(made[name])) for name in made}
    weights["fg_module.prior_scale_std"] = torch.full((2, 1, 1), 0.1)
    weights |= {name.replace("__", "."): value for name, value in changes.items()}
    torch.save({"model": {name: value for name, value in weights.items() if value is not None}, "epoch": 3}, path)
    return path


def published_shapes(components: int) -> dict[str, tuple[int, ...]]:
    shapes = {name: tuple(shape) for name, shape in KEYS.items()}
    if components > 1:
        return shapes
    decoder: dict[str, tuple[int, ...]] = {f"{number}.weight": shape for number, shape in STRONG_CONVOLUTIONS.items()}
    decoder |= {f"{number}.bias": shape[:1] for number, shape in STRONG_CONVOLUTIONS.items()}
    decoder |= {f"{number}.{leaf}": (size,) for number, size in STRONG_NORMS.items() for leaf in ("weight", "bias")}
    shapes = {name: shape for name, shape in shapes.items() if not name.startswith("bg_module.comp_decoder.")}
    return shapes | {f"bg_module.comp_decoder.dec.{name}": shape for name, shape in decoder.items()}


def empty_checkpoint(path: Path, shapes: dict[str, tuple[int, ...]], **changes: torch.Tensor) -> Path:
    """A file with such tensors, all of zeros that take no room."""
    weights = {name: torch.zeros(()).expand(shape) for name, shape in shapes.items()}
    torch.save({"model": weights | changes}, path)
    return path


@pytest.fixture(scope="module")
def vectors() -> dict[str, np.ndarray]:
    with np.load(HERE / "grid8.npz") as file:
        return dict(file)


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Space:
    return import_official(checkpoint(tmp_path_factory.mktemp("official") / "model.pth"))


DOUBLE = pytest.param(torch.float64, marks=pytest.mark.slow)


@pytest.fixture(scope="module", params=[torch.float32, DOUBLE], ids=["single", "double"])
def output(request, model, vectors):
    stage = Stage(
        float(vectors["prior_pres"]), float(vectors["prior_scale_mean"]), float(vectors["tau"]), boundary_weight=1.0
    )
    images = torch.from_numpy(recipe().images(2, 128, int(vectors["image_seed"]))).to(request.param)
    with torch.no_grad():
        return images, model.to(request.param)(images, stage, sample=False)


# The published values are single precision themselves: 1e-4 off the double result in the foreground, whose softmax has
# logits up to 100. In single precision both errors add up; there we allow twice the tolerance in a few pixels.
def assert_near(given: torch.Tensor, expected: np.ndarray, tolerance: float = 1e-4) -> None:
    difference = np.abs(given.double().numpy().reshape(expected.shape) - expected)
    allowed = tolerance * (1 + np.abs(expected))
    assert (difference > allowed).mean() < 1e-4
    assert (difference <= 2 * allowed).all()


def test_latents(output, vectors):
    cells, objects = output[1].foreground.cells, output[1].foreground.objects
    assert_near(cells.where, vectors["z_where"])
    assert_near(cells.presence, vectors["z_pres"])
    assert_near(cells.probability, vectors["z_pres_prob"])
    assert_near(cells.depth.value, vectors["z_depth"])
    assert_near(objects.what, vectors["z_what"])


def test_images(output, vectors):
    front, back = output[1].foreground, output[1].background
    assert_near(front.alpha, vectors["alpha_map"])
    assert_near(front.image, vectors["fg"])
    assert_near(back.image, vectors["bg"])
    assert_near(output[1].reconstruction, vectors["y"])
    assert_near(back.means.mean((3, 4)), vectors["comps_mean"])
    np.testing.assert_allclose(back.masks.numpy(), vectors["masks"].astype(np.float64), atol=1e-3)


def test_terms(output, vectors):
    images, result = output
    kl = result.kl
    terms = {
        "kl_z_what": kl["what"],
        "kl_z_pres": kl["presence"],
        "kl_z_scale": kl["scale"],
        "kl_z_shift": kl["shift"],
        "kl_z_depth": kl["depth"],
        "kl_bg": kl["mask"] + kl["component"],
        "log_like": result.log_likelihood,
        "boundary_loss": result.penalties["boundary"],
        "mse": (result.reconstruction - images).square().flatten(1).sum(1),
        "loss": result.loss.mean(),
    }
    for name, term in terms.items():
        np.testing.assert_allclose(term.numpy(), vectors[name], rtol=1e-4, err_msg=name)


@pytest.mark.parametrize("grid", [4, 16])
def test_other_grids(grid, tmp_path):
    model = import_official(checkpoint(tmp_path / "model.pth", grid), components=3, channels="bgr")
    assert model.config.foreground.grid == (grid, grid)
    assert model.config.background.components == 3
    assert model.config.channels == "bgr"
    with torch.no_grad():
        result = model(torch.rand(1, 3, 128, 128), sample=False)
    assert result.foreground.cells.where.shape == (1, grid * grid, 4)


def test_a_missing_file(tmp_path):
    with pytest.raises(UserError, match="there is no checkpoint"):
        import_official(tmp_path / "nothing.pth")


def test_no_checkpoint_at_all(tmp_path):
    (tmp_path / "text.pth").write_text("hello")
    with pytest.raises(UserError, match="no torch checkpoint"):
        import_official(tmp_path / "text.pth")


def test_code_in_a_pickle_is_not_run(tmp_path):
    class Evil:
        def __reduce__(self):
            return Path.touch, (tmp_path / "touched",)

    torch.save({"model": Evil()}, tmp_path / "evil.pth")
    with pytest.raises(UserError, match="no torch checkpoint"):
        import_official(tmp_path / "evil.pth")
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1, 2], "no weights"),
        ({"weights": {}}, "no weights"),
        ({"model": {"a": 1}}, "tensors"),
        ({"model": {}}, "missing"),
    ],
)
def test_other_contents(content, message, tmp_path):
    torch.save(content, tmp_path / "other.pth")
    with pytest.raises(UserError, match=message):
        import_official(tmp_path / "other.pth")


def test_a_tensor_too_few_too_many_or_of_another_shape(tmp_path):
    path = tmp_path / "model.pth"
    with pytest.raises(UserError, match="missing"):
        import_official(checkpoint(path, bg_module__z_mask_0=None))
    with pytest.raises(UserError, match="unknown something"):
        import_official(checkpoint(path, something=torch.zeros(1)))
    with pytest.raises(UserError, match="should be"):
        import_official(checkpoint(path, bg_module__z_mask_0=torch.zeros(7)))
    with pytest.raises(UserError, match="its shapes make no SPACE model"):
        import_official(checkpoint(path, grid=7))


def test_a_checkpoint_of_one_component_is_known_by_its_decoder(tmp_path):
    path = empty_checkpoint(tmp_path / "one.pth", published_shapes(1))
    for components in (1, 5):
        model = import_official(path, components=components)
        assert model.config.background.components == 1
        assert model.config.background.strong_decoder


def test_a_checkpoint_of_several_components_is_not_taken_for_one(tmp_path):
    with pytest.raises(UserError, match="several background components"):
        import_official(empty_checkpoint(tmp_path / "model.pth", published_shapes(5)), components=1)


def test_other_latent_sizes_are_read_off_the_file(tmp_path):
    shapes = published_shapes(5)
    resized = {"z_mask_0": (8,), "rnn_mask.weight_ih": (256, 8 + 64), "rnn_mask_prior.weight_ih": (256, 8)}
    resized |= {f"predict_mask{which}.fc.weight": (2 * 8, 64) for which in ("", "_prior")}
    resized |= {f"predict_mask{which}.fc.bias": (2 * 8,) for which in ("", "_prior")}
    resized |= {"mask_decoder.dec.0.weight": (256, 8, 1, 1), "predict_comp_prior.mlp.0.weight": (64, 8)}
    shapes |= {f"bg_module.{name}": shape for name, shape in resized.items()}
    model = import_official(empty_checkpoint(tmp_path / "model.pth", shapes))
    assert model.config.background.mask_dim == 8


@pytest.mark.parametrize(
    "name",
    [
        "fg_module.img_encoder.offset",
        "fg_module.boundary_filter.weight",
        "fg_module.z_what_net.enc_what.weight",
        "fg_module.img_encoder.enc.0.weight",
        "bg_module.image_enc.enc.9.weight",
        "bg_module.image_enc.enc.13.weight",
        "bg_module.comp_encoder.enc.13.weight",
        "bg_module.comp_decoder.decoder.0.weight",
        "bg_module.z_mask_0",
        "bg_module.rnn_mask_h",
    ],
)
@pytest.mark.parametrize("shape", [(), (0, 0, 0, 0), (3, 1), (2, 2, 2, 2)])
def test_a_tensor_of_any_other_shape_is_explained(name, shape, tmp_path):
    path = empty_checkpoint(tmp_path / "model.pth", published_shapes(5) | {name: shape})
    with pytest.raises(UserError, match=r"model\.pth"):
        import_official(path)


@pytest.mark.parametrize(
    "value",
    [torch.zeros(32).to_sparse(), torch.zeros(32, dtype=torch.complex64), torch.zeros(32, device="meta")],
    ids=["sparse", "complex", "no content"],
)
def test_only_plain_tensors_are_read(value, tmp_path):
    with pytest.raises(UserError, match="plain tensors"):
        import_official(empty_checkpoint(tmp_path / "model.pth", published_shapes(5), **{"bg_module.z_mask_0": value}))


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_a_damaged_file_is_explained_wherever_the_damage_is(tmp_path):
    path = tmp_path / "model.pth"
    torch.save({"model": {"a": torch.zeros(3)}}, path)
    whole, random = path.read_bytes(), np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[random.integers(len(whole) // 2)] = random.integers(256)
        path.write_bytes(damaged)
        with pytest.raises(UserError):
            import_official(path)
