"""Cutting glimpses out of images and pasting them back, by separable bilinear interpolation inside windows.

An axis-aligned spatial transformer is two small matrices: glimpse = Ay image Ax', canvas = Wy glimpse Wx', with the hat
function max(0, 1 - |p - k|) as entries. That equals `grid_sample` (bilinear, zeros outside, align_corners=False). Both
matrices are zero but for the pixels under the box, so only a window of the image is touched.

Convention: `where` as in `geometry`. Pixel k of n has its centre at (2k + 1) / n - 1. A window lies wholly inside its
canvas; the windows of one `Windows` have one size. Shapes: M objects, m of them in a window group, C H W image,
g the glimpse's side, R Q a window's rows and columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from objectspace.ops.geometry import SMALLEST

_STEPS = (8, 12, 16, 24, 32, 40, 48, 64, 80, 96, 128)  # window sides worth telling apart; beyond: multiples of 64


@dataclass(frozen=True)
class Windows:
    """Some objects whose windows have the same size."""

    members: Tensor  # (m,) which of the M objects
    image: Tensor  # (m,) the image each belongs to
    rows: Tensor  # (m, R) the canvas rows of each window
    columns: Tensor  # (m, Q) the canvas columns
    canvas: tuple[int, int]  # height, width

    def index(self) -> Tensor:
        """Where each window pixel lies in a flattened canvas (B, H, W): (m, R, Q)."""
        height, width = self.canvas
        return (self.image[:, None] * height + self.rows)[:, :, None] * width + self.columns[:, None, :]


@torch.no_grad()
def plan_windows(where: Tensor, image: Tensor, canvas: tuple[int, int], glimpse: int) -> tuple[Windows, ...]:
    """Sort objects `where` (M, 4) of the images (M,) into groups of equally large windows."""
    if len(where) == 0:
        return ()
    low_x, side_x = _extent(where[:, 0], where[:, 2], canvas[1], glimpse)
    low_y, side_y = _extent(where[:, 1], where[:, 3], canvas[0], glimpse)
    steps = torch.tensor(_sides(max(canvas)), device=where.device)
    group = torch.bucketize(torch.maximum(side_x, side_y), steps)
    windows = []
    for number in sorted(set(group.tolist())):
        members = (group == number).nonzero().flatten()
        side = int(steps[number])
        rows = _window(low_y[members], min(side, canvas[0]), canvas[0])
        columns = _window(low_x[members], min(side, canvas[1]), canvas[1])
        windows.append(Windows(members, image[members], rows, columns, canvas))
    return tuple(windows)


def cut_weights(size: Tensor, centre: Tensor, glimpse: int, pixels: Tensor, side: int) -> Tensor:
    """How much each pixel (m, R) of an image axis `side` long gives to each glimpse pixel: (m, g, R)."""
    along = (2 * torch.arange(glimpse, dtype=size.dtype, device=size.device) + 1) / glimpse - 1
    position = ((size[:, None] * along + centre[:, None] + 1) * side - 1) / 2  # (m, g), in pixels
    return _hat(position[:, :, None] - pixels[:, None, :])


def paste_weights(size: Tensor, centre: Tensor, glimpse: int, pixels: Tensor, side: int) -> Tensor:
    """How much each glimpse pixel gives to each pixel (m, R) of a canvas axis `side` long: (m, R, g)."""
    along = (2 * pixels.to(size.dtype) + 1) / side - 1
    along = (along - centre[:, None]) / (size[:, None] + SMALLEST)
    position = ((along + 1) * glimpse - 1) / 2  # (m, R), in glimpse pixels
    return _hat(position[:, :, None] - torch.arange(glimpse, dtype=size.dtype, device=size.device))


def cut(images: Tensor, where: Tensor, windows: Sequence[Windows], glimpse: int) -> Tensor:
    """Cut a glimpse for every object: images (B, C, H, W), where (M, 4) -> (M, C, g, g)."""
    channels, height, width = images.shape[1:]
    planes = images.transpose(0, 1).reshape(channels, -1)
    parts = []
    for group in windows:
        w, h, x, y = where[group.members].unbind(-1)
        rows, columns = group.rows.shape[1], group.columns.shape[1]
        pixels = planes.index_select(1, group.index().flatten()).view(channels, -1, rows, columns)
        pixels = pixels.permute(1, 2, 0, 3).reshape(-1, rows, channels * columns)  # (m, R, C*Q)
        vertical = cut_weights(h, y, glimpse, group.rows, height) @ pixels  # (m, g, C*Q)
        vertical = vertical.view(-1, glimpse * channels, columns)
        horizontal = vertical @ cut_weights(w, x, glimpse, group.columns, width).transpose(1, 2)  # (m, g*C, g)
        parts.append(horizontal.view(-1, glimpse, channels, glimpse).transpose(1, 2))
    return _unsort(parts, windows, images.new_zeros(0, channels, glimpse, glimpse))


def paste(glimpses: Tensor, where: Tensor, group: Windows) -> Tensor:
    """Paste the group's glimpses (M, C, g, g) into their windows: (m, C, R, Q)."""
    w, h, x, y = where[group.members].unbind(-1)
    channels, side = glimpses.shape[1], glimpses.shape[-1]
    rows, columns = group.rows.shape[1], group.columns.shape[1]
    pixels = glimpses[group.members].transpose(1, 2).reshape(-1, side, channels * side)  # (m, g, C*g)
    vertical = paste_weights(h, y, side, group.rows, group.canvas[0]) @ pixels  # (m, R, C*g)
    horizontal = paste_weights(w, x, side, group.columns, group.canvas[1]).transpose(1, 2)  # (m, g, Q)
    return (vertical.view(-1, rows * channels, side) @ horizontal).view(-1, rows, channels, columns).transpose(1, 2)


def _unsort(parts: list[Tensor], windows: Sequence[Windows], empty: Tensor) -> Tensor:
    if not parts:
        return empty
    if len(parts) == 1:  # a single group keeps the order
        return parts[0]
    order = torch.cat([group.members for group in windows])
    return torch.cat(parts)[order.argsort()]


def _hat(distance: Tensor) -> Tensor:
    return (1 - distance.abs()).clamp(min=0)


def _sides(longest: int) -> list[int]:
    sides = [step for step in _STEPS if step < longest]
    sides += range(192, longest, 64)
    return [*sides, longest]


def _extent(size: Tensor, centre: Tensor, side: int, glimpse: int) -> tuple[Tensor, Tensor]:
    """First pixel and number of pixels along one axis that a box can touch, cut or pasted: two (M,)."""
    middle, half = (centre + 1) / 2 * side, size / 2 * side
    reach = half * (1 + 1 / glimpse) + 2  # the hat reaches one glimpse pixel out, or one image pixel; one to be safe
    low = (middle - reach).floor().clamp(0, side - 1).long()
    high = (middle + reach).ceil().clamp(0, side - 1).long()
    return low, high - low + 1


def _window(low: Tensor, length: int, side: int) -> Tensor:
    start = low.clamp(max=side - length)
    return start[:, None] + torch.arange(length, device=low.device)
