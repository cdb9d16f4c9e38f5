"""Objects laid over one another, and what can be seen of each, at any size and for many images at once.

An object is drawn as present (presence 1), straight at the size of the image it came from, so masks and boxes need no
resizing. Its visible mask holds the pixels where its own weight times its alpha exceeds one half. Only the windows
under the objects are computed. Shapes: B images of one size, M objects, m of them in a window group, C H W image,
g the glimpse's side, D latent, R Q a window.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from objectspace.ops.compositing import EMPTY, SHARPNESS, Composite, composite, shifted_weight
from objectspace.ops.resample import paste, plan_windows
from objectspace.rle import Mask


@dataclass(frozen=True)
class Drawables:
    """The objects of some images, ready to be drawn at any size."""

    image: Tensor  # (M,) which image each belongs to
    where: Tensor  # (M, 4) the object
    frame: Tensor  # (M, 4) its glimpse: the object and a margin
    depth: Tensor  # (M,)
    presence: Tensor  # (M,) probability
    what: Tensor  # (M, D)
    picture: Tensor  # (M, C, g, g)
    alpha: Tensor  # (M, 1, g, g)

    def __len__(self) -> int:
        return len(self.where)

    def __getitem__(self, index: Tensor) -> Drawables:
        return Drawables(*(getattr(self, field.name)[index] for field in fields(self)))


@dataclass(frozen=True)
class Visible:
    """What can be seen of each object; masks stay in their windows until they are asked for."""

    area: NDArray[np.int64]  # (M,) visible pixels
    whole: NDArray[np.int64]  # (M,) pixels of the mask, hidden ones included
    boxes: NDArray[np.float64]  # (M, 4) tight around the visible pixels; meaningless where there are none
    corners: NDArray[np.int64]  # (M, 2) first row and column of each window
    windows: list[Mask]  # M masks (R, Q)

    def masks(self, members: NDArray[np.int64], size: tuple[int, int]) -> NDArray[np.bool_]:
        """Some objects' visible masks at the image's size: (len(members), H, W)."""
        masks = np.zeros((len(members), *size), np.bool_)
        for mask, number in zip(masks, members.tolist(), strict=True):
            (row, column), window = self.corners[number].tolist(), self.windows[number]
            mask[row : row + window.shape[0], column : column + window.shape[1]] = window
        return masks


def look(objects: Drawables, cells: int, shape: tuple[int, int, int]) -> Visible:
    """Find out what can be seen of each object on the canvases `shape` = B, H, W."""
    groups = plan_windows(objects.frame, objects.image, shape[1:], objects.alpha.shape[-1])
    nearness = SHARPNESS * torch.sigmoid(-objects.depth)
    total = objects.alpha.new_full((shape[0] * shape[1] * shape[2],), cells * EMPTY)  # sum of all cells' weights
    pasted = []
    for group in groups:
        alpha = paste(objects.alpha, objects.frame, group)[:, 0]  # (m, R, Q)
        weight = shifted_weight(alpha, nearness[group.members])
        index = group.index()
        total.scatter_add_(0, index.flatten(), (weight - EMPTY).flatten())
        pasted.append((index, alpha, weight))
    count = len(objects)
    area, whole = np.zeros(count, np.int64), np.zeros(count, np.int64)
    boxes, corners = np.zeros((count, 4)), np.zeros((count, 2), np.int64)
    windows: list[Mask] = [np.zeros((0, 0), np.bool_)] * count
    for group, (index, alpha, weight) in zip(groups, pasted, strict=True):
        visible = (weight / total[index] * alpha > 0.5).cpu().numpy()
        members = group.members.cpu().numpy()
        area[members] = visible.sum((1, 2))
        whole[members] = (alpha > 0.5).sum((1, 2)).cpu().numpy()
        corners[members] = torch.stack([group.rows[:, 0], group.columns[:, 0]], dim=1).cpu().numpy()
        boxes[members] = _tight(visible) + np.tile(corners[members][:, ::-1], 2)
        for number, window in zip(members.tolist(), visible, strict=True):
            windows[number] = window
    return Visible(area, whole, boxes, corners, windows)


def draw(objects: Drawables, cells: int, shape: tuple[int, int, int]) -> Composite:
    """The objects laid over one another on the canvases `shape` = B, H, W."""
    groups = plan_windows(objects.frame, objects.image, shape[1:], objects.alpha.shape[-1])
    pictures = objects.picture * objects.alpha
    return composite(pictures, objects.alpha, objects.frame, objects.depth, groups, cells, shape)


def _tight(masks: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Boxes x0 y0 x1 y1 around the pixels of masks (m, R, Q), in the window's own pixels: (m, 4)."""
    columns, rows = masks.any(axis=1), masks.any(axis=2)
    ends = columns.shape[1] - columns[:, ::-1].argmax(1), rows.shape[1] - rows[:, ::-1].argmax(1)
    return np.stack([columns.argmax(1), rows.argmax(1), *ends], axis=1)
