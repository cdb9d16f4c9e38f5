"""Where an object is: the latent `where`, affine transforms and boxes.

Convention: `where` is (..., 4) = width, height, x, y. Width and height are fractions of the image, x and y the box's
centre, x right and y down, -1 at the left (top) edge of the first pixel and +1 at the right (bottom) edge of the last.
A box is x0, y0, x1, y1 in pixels, x1 and y1 one past the last pixel. Cells are counted row by row; the first entry of
a cell's offset is its column, the second its row. Shapes: B images, N cells, M objects.
"""

import torch
from torch import Tensor

NEARLY = 1e-3  # how near latents come to what they could reach only at infinity
SMALLEST = 1e-9  # added to a size before dividing by it, so that a box that has vanished stays finite


def cell_centres(rows: int, columns: int, like: Tensor) -> Tensor:
    """Centres of the cells in units of cells, column first: (N, 2)."""
    row, column = torch.meshgrid(
        torch.arange(rows, dtype=like.dtype, device=like.device),
        torch.arange(columns, dtype=like.dtype, device=like.device),
        indexing="ij",
    )
    return torch.stack([column, row], dim=-1).reshape(-1, 2) + 0.5


def rescale_shift(shift: Tensor, rows: int, columns: int, numbers: Tensor | None = None) -> Tensor:
    """The paper's Algorithm "Rescale": the local shifts (B, N, 2) of N cells to centres in the image.

    The cells are those numbered (N,), or all of them.

    An object's centre lies within one cell of the centre of its own cell, in each direction.
    """
    cells = shift.new_tensor([columns, rows])
    centres = cell_centres(rows, columns, shift)
    centres = centres if numbers is None else centres[numbers]
    return 2 * (centres + shift.tanh()) / cells - 1


def to_where(scale: Tensor, shift: Tensor, rows: int, columns: int, numbers: Tensor | None = None) -> Tensor:
    """The latents scale and shift (B, N, 2) of N cells, those numbered (N,) or all, as `where` (B, N, 4)."""
    return torch.cat([scale.sigmoid(), rescale_shift(shift, rows, columns, numbers)], dim=-1)


def to_latents(where: Tensor, cell: Tensor, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    """The scale and shift (M, 2) with which cells (M,) say `where` (M, 4): undoes `to_where`.

    A centre that is a cell or more away from its cell's, or a size of nothing or all, is moved to what can be said.
    """
    cells = where.new_tensor([columns, rows])
    centres = cell_centres(rows, columns, where)[cell]
    offset = (where[:, 2:] + 1) / 2 * cells - centres
    return where[:, :2].clamp(NEARLY, 1 - NEARLY).logit(), offset.clamp(NEARLY - 1, 1 - NEARLY).atanh()


def enlarge(where: Tensor, margin: float) -> Tensor:
    """`where` (..., 4) of boxes 1 + margin times as large, about their centres.

    >>> enlarge(torch.tensor([0.4, 0.2, 0.1, 0.0]), margin=0.5)
    tensor([0.6000, 0.3000, 0.1000, 0.0000])
    """
    return where if margin == 0 else torch.cat([where[..., :2] * (1 + margin), where[..., 2:]], dim=-1)


def to_affine(where: Tensor, inverse: bool = False) -> Tensor:
    """`where` (M, 4) as matrices (M, 2, 3) for `affine_grid`: image to glimpse, or back with `inverse`."""
    size, centre = where[:, :2], where[:, 2:]
    if inverse:
        size, centre = 1 / (size + SMALLEST), -centre / (size + SMALLEST)
    return torch.cat([torch.diag_embed(size), centre.unsqueeze(-1)], dim=-1)


def to_boxes(where: Tensor, height: int, width: int) -> Tensor:
    """`where` (..., 4) as boxes in pixels (..., 4); they may reach over the edge of the image.

    >>> to_boxes(torch.tensor([0.5, 0.25, 0.0, 0.0]), height=64, width=128)  # in the middle, half as wide as the image
    tensor([32., 24., 96., 40.])
    """
    sides = where.new_tensor([width, height])
    centre, half = (where[..., 2:] + 1) / 2 * sides, where[..., :2] / 2 * sides
    return torch.cat([centre - half, centre + half], dim=-1)


def from_boxes(boxes: Tensor, height: int, width: int) -> Tensor:
    """Boxes in pixels (..., 4) as `where` (..., 4): undoes `to_boxes`."""
    sides = boxes.new_tensor([width, height])
    low, high = boxes[..., :2] / sides, boxes[..., 2:] / sides
    return torch.cat([high - low, low + high - 1], dim=-1)


def overlaps(first: Tensor, second: Tensor) -> Tensor:
    """Intersection over union of `where`s (..., n, 4) and (..., m, 4): (..., n, m)."""
    a, b = to_boxes(first, 1, 1).unsqueeze(-2), to_boxes(second, 1, 1).unsqueeze(-3)
    common = (torch.minimum(a[..., 2:], b[..., 2:]) - torch.maximum(a[..., :2], b[..., :2])).clamp(min=0).prod(-1)
    areas = first[..., :2].prod(-1).unsqueeze(-1) + second[..., :2].prod(-1).unsqueeze(-2)
    return common / (areas - common).clamp(min=SMALLEST**2)
