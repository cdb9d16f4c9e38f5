"""Boxes, glimpses and windows: equal to torch's spatial transformer, differentiable, anywhere."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from objectspace.geometry.boxes import iou
from objectspace.ops import geometry
from objectspace.ops.resample import cut, paste, plan_windows

DOUBLE = torch.float64


def wheres(count: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    size = torch.rand(count, 2, generator=generator, dtype=DOUBLE) * 1.2 + 0.01
    centre = torch.rand(count, 2, generator=generator, dtype=DOUBLE) * 3 - 1.5
    return torch.cat([size, centre], dim=1)


def test_the_first_offset_is_the_column():
    centres = geometry.cell_centres(2, 3, torch.zeros(1))
    assert centres.tolist() == [[0.5, 0.5], [1.5, 0.5], [2.5, 0.5], [0.5, 1.5], [1.5, 1.5], [2.5, 1.5]]


def test_no_shift_means_the_middle_of_the_cell():
    where = geometry.to_where(torch.zeros(1, 6, 2), torch.zeros(1, 6, 2), 2, 3)
    boxes = geometry.to_boxes(where, 20, 30)
    assert boxes[0, 4].tolist() == [7.5, 10, 22.5, 20]  # half the image around (15, 15)


def test_a_shift_moves_by_less_than_a_cell():
    shift = geometry.rescale_shift(torch.full((1, 6, 2), 50.0), 2, 3)
    torch.testing.assert_close(shift[0, 0], torch.tensor([2 * 1.5 / 3 - 1, 2 * 1.5 / 2 - 1]))


def test_boxes_and_back():
    where = wheres(50, 0)
    torch.testing.assert_close(geometry.from_boxes(geometry.to_boxes(where, 48, 64), 48, 64), where)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    height=st.integers(1, 150),
    width=st.integers(1, 150),
    glimpse=st.sampled_from([4, 8, 16, 32]),
)
def test_cutting_and_pasting_equal_grid_sample(seed, height, width, glimpse):
    where, generator = wheres(7, seed), torch.Generator().manual_seed(seed)
    image = torch.tensor([0, 0, 1, 1, 1, 2, 2])
    images = torch.rand(3, 2, height, width, generator=generator, dtype=DOUBLE)
    windows = plan_windows(where, image, (height, width), glimpse)
    grid = F.affine_grid(geometry.to_affine(where), [7, 2, glimpse, glimpse], align_corners=False)
    expected = F.grid_sample(images[image], grid, align_corners=False)
    glimpses = cut(images, where, windows, glimpse)
    torch.testing.assert_close(glimpses, expected, rtol=1e-9, atol=1e-9)

    grid = F.affine_grid(geometry.to_affine(where, inverse=True), [7, 2, height, width], align_corners=False)
    expected = F.grid_sample(glimpses, grid, align_corners=False)
    pasted = torch.zeros(7, 2, height * width, dtype=DOUBLE)
    for group in windows:
        index = group.index() - (group.image * height * width)[:, None, None]
        values = paste(glimpses, where, group).flatten(2)
        pasted[group.members] = pasted[group.members].scatter_add(
            2, index.flatten(1)[:, None].expand_as(values), values
        )
    torch.testing.assert_close(pasted.view_as(expected), expected, rtol=1e-9, atol=1e-9)


def test_no_objects():
    where, image = torch.zeros(0, 4), torch.zeros(0, dtype=torch.long)
    windows = plan_windows(where, image, (16, 16), 8)
    assert windows == ()
    assert cut(torch.rand(2, 3, 16, 16), where, windows, 8).shape == (0, 3, 8, 8)


def test_windows_hold_their_boxes_only():
    where = torch.tensor([[0.1, 0.1, 0.0, 0.0], [0.9, 0.2, 0.0, 0.5]])
    groups = plan_windows(where, torch.zeros(2, dtype=torch.long), (128, 128), 32)
    assert [group.rows.shape[1] for group in groups] == [24, 128]


@pytest.mark.parametrize("what", ["cut", "paste"])
def test_gradients(what):
    where = torch.tensor([[0.43, 0.61, 0.11, -0.23], [0.913, 0.317, 0.781, 0.693]], dtype=DOUBLE, requires_grad=True)
    image = torch.tensor([0, 1])
    source = torch.rand(2, 2, 9, 8, dtype=DOUBLE, requires_grad=True)
    glimpses = torch.rand(2, 2, 4, 4, dtype=DOUBLE, requires_grad=True)
    windows = plan_windows(where.detach(), image, (9, 8), 4)
    if what == "cut":
        assert torch.autograd.gradcheck(lambda s, w: cut(s, w, windows, 4), (source, where))
    else:
        assert torch.autograd.gradcheck(lambda g, w: tuple(paste(g, w, group) for group in windows), (glimpses, where))


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (2, 5), (1, 1)])
def test_latents_say_where_and_back(rows, columns):
    generator = torch.Generator().manual_seed(0)
    scale, shift = (torch.randn(1, rows * columns, 2, generator=generator, dtype=DOUBLE) for _ in range(2))
    where = geometry.to_where(scale, shift, rows, columns)[0]
    found = geometry.to_latents(where, torch.arange(rows * columns), rows, columns)
    torch.testing.assert_close(found, (scale[0], shift[0]))


def test_what_latents_cannot_say_is_moved_to_what_they_can():
    where = torch.tensor([[0.0, 1.5, 1.0, -1.0]], dtype=DOUBLE)  # in the corner, and the cell is in the other one
    scale, shift = geometry.to_latents(where, torch.tensor([6]), 3, 3)
    said = geometry.to_where(scale[None], shift[None], 3, 3, numbers=torch.tensor([6]))[0, 0]
    torch.testing.assert_close(said[:2], torch.tensor([0.001, 0.999], dtype=DOUBLE))
    centre = 2 * torch.tensor([0.5 + 0.999, 2.5 - 0.999], dtype=DOUBLE) / 3 - 1  # nearly a cell away
    torch.testing.assert_close(said[2:], centre)
    assert torch.cat([scale, shift]).isfinite().all()


def test_a_box_is_enlarged_about_its_centre():
    where = wheres(20, 3)
    small, large = geometry.to_boxes(where, 48, 64), geometry.to_boxes(geometry.enlarge(where, 0.25), 48, 64)
    torch.testing.assert_close(large[:, 2:] - large[:, :2], 1.25 * (small[:, 2:] - small[:, :2]))
    torch.testing.assert_close(large[:, 2:] + large[:, :2], small[:, 2:] + small[:, :2])
    assert geometry.enlarge(where, 0.0) is where


@pytest.mark.parametrize(("height", "width"), [(48, 64), (1, 1)])
def test_overlaps_are_those_of_the_boxes(height, width):
    first, second = wheres(30, 4), wheres(20, 5)
    boxes = (geometry.to_boxes(each, height, width).numpy() for each in (first, second))
    overlaps = geometry.overlaps(first, second)
    torch.testing.assert_close(overlaps, torch.from_numpy(iou(*boxes)))
    assert (overlaps == 0).any()
    assert (overlaps > 0.3).any()
    torch.testing.assert_close(geometry.overlaps(first, first).diagonal(), torch.ones(30, dtype=DOUBLE))
    batched = geometry.overlaps(first.view(3, 10, 4), second.view(1, 20, 4).expand(3, 20, 4))
    assert torch.equal(batched, overlaps.view(3, 10, 20))


def test_boxes_that_have_vanished_overlap_nothing():
    where = torch.tensor([[0.0, 0.0, 0.1, 0.1], [0.2, 0.2, 0.1, 0.1]])
    assert geometry.overlaps(where, where)[0].tolist() == [0, 0]
