"""The paper's architecture gives finite terms whatever it is shown (small models: test_space.py)."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from objectspace.config import Anneal
from objectspace.models import create
from objectspace.models.parts.settings import ForegroundConfig
from objectspace.models.space import SpaceConfig as Config

SIDE, BATCH = 16, 25  # the smallest image that the encoders take; all widths are the paper's
SHAPE = (BATCH, 3, SIDE, SIDE)


def checkerboard(generator: torch.Generator) -> Tensor:
    """Two random colours an image, in fields of 1 to 8 pixels."""
    colours = torch.rand(2, BATCH, 3, 1, 1, generator=generator)
    field = torch.randint(1, 9, (BATCH, 1, 1), generator=generator)
    places = torch.arange(SIDE)
    odd = ((places[:, None] // field + places // field) % 2 == 1)[:, None]  # (B, 1, H, W)
    return torch.where(odd, colours[0], colours[1])


IMAGES: dict[str, Callable[[torch.Generator], Tensor]] = {
    "black": lambda _: torch.zeros(SHAPE),
    "white": lambda _: torch.ones(SHAPE),
    "constant": lambda generator: torch.rand(BATCH, 3, 1, 1, generator=generator).expand(SHAPE),
    "noise": lambda generator: torch.rand(SHAPE, generator=generator),
    "checkerboard": checkerboard,
}


@pytest.mark.slow
def test_terms_of_the_paper_s_architecture_are_finite_over_five_hundred_images():
    anneal = Anneal()
    # Cells of 8 pixels, as in the paper's 16 x 16 grid: the encoder has the paper's strides, too.
    model = create(Config(image_size=(SIDE, SIDE), foreground=ForegroundConfig(grid=(SIDE // 8, SIDE // 8))), anneal)
    generator = torch.Generator().manual_seed(0)
    seen = 0
    with torch.inference_mode():
        for step in (0, 20_000):  # the annealed values as they start and as they end, with the boundary loss on
            for training in (True, False):  # batch norm over a black batch, and by its running statistics
                model.train(training)
                for name, make in IMAGES.items():
                    output = model(make(generator), anneal.at(step), sample=True, generator=generator)
                    terms = {"likelihood": output.log_likelihood, "loss": output.loss, **output.kl, **output.penalties}
                    for term, values in terms.items():
                        assert values.shape == (BATCH,), term
                        assert values.isfinite().all(), f"{term} of {name} images, step {step}, training {training}"
                    seen += BATCH
    assert seen == 500
