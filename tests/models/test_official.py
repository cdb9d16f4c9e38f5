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


def recipe():
    spec = importlib.util.spec_from_file_location("recipe", HERE / "recipe.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def checkpoint(path: Path, grid: int = 8, **changes: torch.Tensor | None) -> Path:
    shapes = KEYS | {"fg_module.img_encoder.offset": [2, grid, grid]}
    weights = {name: torch.from_numpy(np.asarray(value)) for name, value in recipe().weights(shapes, 0).items()}
    weights["fg_module.prior_scale_std"] = torch.full((2, 1, 1), 0.1)
    weights |= {name.replace("__", "."): value for name, value in changes.items()}
    torch.save({"model": {name: value for name, value in weights.items() if value is not None}, "epoch": 3}, path)
    return path


@pytest.fixture(scope="module")
def vectors() -> dict[str, np.ndarray]:
    with np.load(HERE / "grid8.npz") as file:
        return dict(file)


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Space:
    return import_official(checkpoint(tmp_path_factory.mktemp("official") / "model.pth"))


@pytest.fixture(scope="module", params=[torch.float32, torch.float64], ids=["single", "double"])
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
    assert_near(objects.what.value, vectors["z_what"])


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
