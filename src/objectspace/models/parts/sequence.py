"""The foreground with cells inferred one after another, row by row, each knowing what those before it found.

With `wavefront` those that do not know of one another are inferred together, front after front: the same numbers from
the same generator, in fewer and larger steps.

A cell reads, beside its features, the latents of the neighbours that have been visited: one hidden layer makes a
context of them, which joins the features before SPACE's heads. All else (encoder, heads, glimpses, rendering, terms)
is SPACE's, but that no cell gives way (`give_way`): each can see for itself what is taken. docs/decisions.md says what
the paper leaves open.

Images may also be patches of whole cells. A cell's shift is in units of cells and its scale a fraction of the model's
image size, whatever part of an image is given: so both mean the same in a patch and in the whole image.
Shapes: B images, N cells, m of them in a front, M chosen objects, C H W image, F features, L latents of a cell, D what.
"""

from collections.abc import Sequence
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

    def __init__(
        self, config: Config, image_size: tuple[int, int], neighbourhood: int, context: int, wavefront: bool = False
    ) -> None:
        super().__init__(config, image_size, context)
        self.heads.give_way = 0.0
        self.neighbourhood, self.wavefront = neighbourhood, wavefront
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
        """Visit the cells, features (B, F, rows, columns), front after front: what they propose, and what (B, N, D)."""
        count, _, rows, columns = features.shape
        visits, back = fronts(rows, columns, self.neighbourhood, together=self.wavefront)
        noise = self._draw_noise(images, rows * columns, generator) if sample else {}
        edge, told = self.edge.expand(count, 1, -1), list[Tensor]()  # (B, m, L) of each front
        cells, whats = list[Cells](), list[Gaussian]()
        for number, front in enumerate(visits):
            mine = torch.tensor(front, device=images.device)
            near = self._near(front, visits[max(0, number - back) : number], rows, columns)
            heard = torch.cat([edge, *told[-back:]], dim=1).index_select(1, near.to(images.device))
            context = self.context(heard.view(count, len(front), -1)).transpose(1, 2)  # (B, F, m)
            inputs = torch.cat([features.flatten(2).index_select(2, mine), context], dim=1)[:, :, None]
            drawn = {name: part.index_select(1, mine) for name, part in noise.items()}
            place = partial(self._to_where, images, (rows, columns), mine)
            cell: Cells = self.heads(inputs, temperature, sample, generator, place, drawn)
            what = self._attend_front(images, cell.where, sample, drawn.get("what"))
            told.append(_latents(cell, what))
            cells.append(cell)
            whats.append(what)
        order = torch.tensor([cell for front in visits for cell in front], device=images.device).argsort()
        return _join_cells(cells, order), _join(whats, order)

    def _attend_front(self, images: Tensor, where: Tensor, sample: bool, noise: Tensor | None) -> Gaussian:
        """What of the cells `where` (B, m, 4): (B, m, D)."""
        count, cells = where.shape[:2]
        frame = self.frame(where).flatten(0, 1)
        numbers = torch.arange(count, device=images.device).repeat_interleave(cells)
        noise = None if noise is None else noise.flatten(0, 1)
        what = self.attend(images, frame, self.plan(frame, numbers, images), sample, None, noise)
        return Gaussian(*(part.view(count, cells, -1) for part in (what.mean, what.std, what.value)))

    def _near(self, front: Sequence[int], before: Sequence[Sequence[int]], rows: int, columns: int) -> Tensor:
        """Where the neighbours of a front's cells stand among those told, which the edge (0) comes before: (m n,)."""
        at = {cell: number for number, cell in enumerate((cell for each in before for cell in each), start=1)}
        numbers = []
        for cell in front:
            row, column = divmod(cell, columns)
            for down, right in self.neighbours:
                inside = 0 <= row + down < rows and 0 <= column + right < columns
                numbers.append(at[cell + down * columns + right] if inside else 0)
        return torch.tensor(numbers)

    def _draw_noise(self, images: Tensor, cells: int, generator: torch.Generator | None) -> dict[str, Tensor]:
        """The random numbers of all cells, drawn cell by cell: however cells are visited, each has its own."""
        sizes = {"depth": 1, "scale": 2, "shift": 2, "what": self.config.what_dim}
        drawn: dict[str, list[Tensor]] = {name: [] for name in ("presence", *sizes)}
        count, dtype, device = len(images), images.dtype, images.device
        for _ in range(cells):
            drawn["presence"].append(torch.rand(count, generator=generator, dtype=dtype, device=device))
            for name, size in sizes.items():
                drawn[name].append(torch.randn(count, size, generator=generator, dtype=dtype, device=device))
        return {name: torch.stack(parts, dim=1) for name, parts in drawn.items()}

    def to_latents(self, where: Tensor, cell: Tensor, size: tuple[int, int]) -> tuple[Tensor, Tensor]:
        """As every foreground's, in images that may be patches: a scale is a fraction of the model's image size."""
        whole = where / torch.cat([self._zoom(where, size), where.new_ones(2)])
        scale = whole[:, :2].clamp(geometry.NEARLY, 1 - geometry.NEARLY).logit()
        return scale, super().to_latents(where, cell, size)[1]

    def _to_where(self, images: Tensor, grid: tuple[int, int], cells: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        """The `where` (B, m, 4) of some cells in images that may be patches, whose grid is smaller than the model's."""
        zoom = torch.cat([self._zoom(images, (images.shape[2], images.shape[3])), images.new_ones(2)])
        return zoom * geometry.to_where(scale, shift, *grid, cells)

    def _zoom(self, like: Tensor, size: tuple[int, int]) -> Tensor:
        """How many times as wide and high the model's images are as those of this size: (2,)."""
        height, width = self.image_size
        return like.new_tensor([width / size[1], height / size[0]])


def fronts(rows: int, columns: int, neighbourhood: int, together: bool) -> tuple[list[list[int]], int]:
    """The cells, numbered row by row, in fronts of those that are inferred at once; how many fronts back a cell knows.

    One by one, or `together` those on one slanted diagonal: a cell waits for its upper right neighbours, so its turn is
    column + (neighbourhood + 1) row.
    """
    if not together:
        return [[cell] for cell in range(rows * columns)], neighbourhood * (columns + 1)
    by_turn: dict[int, list[int]] = {}
    for row, column in product(range(rows), range(columns)):
        by_turn.setdefault(column + (neighbourhood + 1) * row, []).append(row * columns + column)
    return [by_turn[turn] for turn in sorted(by_turn)], neighbourhood * (neighbourhood + 2)


def visited(neighbourhood: int) -> list[tuple[int, int]]:
    """Where a cell's visited neighbours are, at most so many rows or columns away: steps down and to the right."""
    reach = range(-neighbourhood, neighbourhood + 1)
    return [step for step in product(reach, reach) if step < (0, 0)]  # tuples are ordered as cells are visited


def _latents(cell: Cells, what: Gaussian) -> Tensor:
    """What later neighbours are told of m cells: presence, size, place relative to the cell, depth, what: (B, m, L).

    All but `what`, which is read off a glimpse, are bounded: what grew from cell to cell would explode over a long row.
    """
    size, place, depth = cell.scale.value.sigmoid(), cell.shift.value.tanh(), cell.depth.value.sigmoid()
    return torch.cat([cell.presence[..., None], size, place, depth, what.value], dim=-1)


def _join_cells(cells: Sequence[Cells], order: Tensor) -> Cells:
    """The cells of all fronts, in `order`."""
    return Cells(
        presence_logits=torch.cat([cell.presence_logits for cell in cells], 1)[:, order],
        presence=torch.cat([cell.presence for cell in cells], 1)[:, order],
        scale=_join([cell.scale for cell in cells], order),
        shift=_join([cell.shift for cell in cells], order),
        depth=_join([cell.depth for cell in cells], order),
        where=torch.cat([cell.where for cell in cells], 1)[:, order],
    )


def _join(parts: Sequence[Gaussian], order: Tensor) -> Gaussian:
    return Gaussian(
        torch.cat([part.mean for part in parts], 1)[:, order],
        torch.cat([part.std for part in parts], 1)[:, order],
        torch.cat([part.value for part in parts], 1)[:, order],
    )
