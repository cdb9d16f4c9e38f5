"""The foreground with cells inferred one after another, row by row, each knowing what those before it found.

A cell reads, beside its features, the latents of the neighbours that have been visited: one hidden layer makes a
context of them, which joins the features before SPACE's heads. All else (encoder, heads, glimpses, rendering, terms)
is SPACE's, but that no cell gives way (`give_way`): each can see for itself what is taken. docs/decisions.md says what
the paper leaves open.

Images may also be patches of whole cells. A cell's shift is in units of cells and its scale a fraction of the model's
image size, whatever part of an image is given: so both mean the same in a patch and in the whole image.
Shapes: B images, N cells, M chosen objects, C H W image, F features, L latents of a cell, D what.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product

import torch
from torch import Tensor, nn

from objectspace.models.parts.cells import Cells
from objectspace.models.parts.foreground import ChosenObjects, Foreground, Pick, of_chosen
from objectspace.models.parts.settings import ForegroundConfig as Config
from objectspace.ops import geometry
from objectspace.ops.distributions import Gaussian


class SequentialForeground(Foreground):
    """Images (B, C, H, W) -> objects."""

    def __init__(self, config: Config, image_size: tuple[int, int], neighbourhood: int, context: int) -> None:
        super().__init__(config, image_size, context)
        self.image_size = image_size
        self.neighbours = visited(neighbourhood)
        latents = 1 + 2 + 2 + 1 + config.what_dim
        self.edge = nn.Parameter(torch.zeros(latents))  # stands for every neighbour outside of the grid
        self.context = nn.Sequential(nn.Linear(len(self.neighbours) * latents, context), nn.CELU())

    def propose(self, images: Tensor, temperature: float, sample: bool, generator: torch.Generator | None) -> Cells:
        """What every cell proposes."""
        return self.walk(images, self.encoder(images), temperature, sample, generator)[0]

    def infer_picked(
        self, images: Tensor, pick: Pick, temperature: float, sample: bool, generator: torch.Generator | None
    ) -> tuple[Cells, ChosenObjects]:
        """What every cell proposes, and the objects of those that `pick` chooses; all are attended to on the way."""
        cells, what = self.walk(images, self.encoder(images), temperature, sample, generator)
        chosen = pick(cells)
        windows = self.plan(self.frame(of_chosen(cells.where, chosen)), chosen.image, images)
        mean, std, value = (of_chosen(part, chosen) for part in (what.mean, what.std, what.value))
        return cells, self.objects(cells, chosen, windows, Gaussian(mean, std, value))

    def walk(
        self, images: Tensor, features: Tensor, temperature: float, sample: bool, generator: torch.Generator | None
    ) -> tuple[Cells, Gaussian]:
        """Visit the cells, features (B, F, rows, columns), row by row: what they propose, and what (B, N, D)."""
        count, _, rows, columns = features.shape
        numbers = torch.arange(count, device=images.device)
        edge = self.edge.expand(count, -1)
        found: dict[tuple[int, int], Tensor] = {}  # (B, L) by row and column
        cells, whats = list[Cells](), list[Gaussian]()
        for row, column in product(range(rows), range(columns)):
            near = torch.cat([found.get((row + down, column + right), edge) for down, right in self.neighbours], dim=1)
            inputs = torch.cat([features[:, :, row, column], self.context(near)], dim=1)[:, :, None, None]
            place = partial(self._to_where, images, (rows, columns), row * columns + column)
            cell: Cells = self.heads(inputs, temperature, sample, generator, place)
            frame = self.frame(cell.where[:, 0])
            what = self.attend(images, frame, self.plan(frame, numbers, images), sample, generator)
            found[row, column] = _latents(cell, what)
            cells.append(cell)
            whats.append(what)
        return _join_cells(cells), _join(whats, torch.stack)

    def _to_where(self, images: Tensor, grid: tuple[int, int], cell: int, scale: Tensor, shift: Tensor) -> Tensor:
        """One cell's `where` in images that may be patches, whose grid is smaller than the model's: (B, 1, 4)."""
        height, width = self.image_size
        zoom = images.new_tensor([width / images.shape[3], height / images.shape[2], 1, 1])
        return zoom * geometry.to_where(scale, shift, *grid, first=cell)


def visited(neighbourhood: int) -> list[tuple[int, int]]:
    """Where a cell's visited neighbours are, at most so many rows or columns away: steps down and to the right."""
    reach = range(-neighbourhood, neighbourhood + 1)
    return [step for step in product(reach, reach) if step < (0, 0)]  # tuples are ordered as cells are visited


def _latents(cell: Cells, what: Gaussian) -> Tensor:
    """What a later neighbour is told: presence, size, place relative to the cell, depth, and what: (B, L).

    All but `what`, which is read off a glimpse, are bounded: what grew from cell to cell would explode over a long row.
    """
    size, place, depth = cell.scale.value.sigmoid(), cell.shift.value.tanh(), cell.depth.value.sigmoid()
    return torch.cat([cell.presence, size[:, 0], place[:, 0], depth[:, 0], what.value], dim=1)


def _join_cells(cells: Sequence[Cells]) -> Cells:
    return Cells(
        presence_logits=torch.cat([cell.presence_logits for cell in cells], 1),
        presence=torch.cat([cell.presence for cell in cells], 1),
        scale=_join([cell.scale for cell in cells], torch.cat),
        shift=_join([cell.shift for cell in cells], torch.cat),
        depth=_join([cell.depth for cell in cells], torch.cat),
        where=torch.cat([cell.where for cell in cells], 1),
    )


def _join(parts: Sequence[Gaussian], put: Callable[[list[Tensor], int], Tensor]) -> Gaussian:
    return Gaussian(
        put([part.mean for part in parts], 1),
        put([part.std for part in parts], 1),
        put([part.value for part in parts], 1),
    )
