"""The nets that read and draw glimpses: the paper's convolutions, or dense ones."""

import pytest
import torch

from objectspace.models.parts.glimpses import (
    DenseDecoder,
    DenseEncoder,
    GlimpseDecoder,
    GlimpseEncoder,
    glimpse_nets,
)
from objectspace.models.parts.settings import ForegroundConfig
from oracle.small import SMALL_FOREGROUND


def nets(**options):
    return glimpse_nets(ForegroundConfig(**{**SMALL_FOREGROUND, **options}))


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("side", [8, 16])
@pytest.mark.parametrize("dense", [(8, 6), (5,)], ids=str)
def test_dense_nets_read_and_draw_glimpses_of_any_side_and_number(count, side, dense):
    encoder, decoder = nets(dense=dense, glimpse=side)
    assert encoder(torch.rand(count, 3, side, side)).shape == (count, 2 * 3)
    picture, alpha = decoder(torch.randn(count, 3))
    assert picture.shape == (count, 3, side, side)
    assert alpha.shape == (count, 1, side, side)
    for values in (picture, alpha):
        assert ((values > 0) & (values < 1)).all()


def test_convolutions_unless_told_otherwise():
    assert [type(net) for net in nets()] == [GlimpseEncoder, GlimpseDecoder]
    assert [type(net) for net in nets(dense=())] == [GlimpseEncoder, GlimpseDecoder]
    assert [type(net) for net in nets(dense=(8, 6))] == [DenseEncoder, DenseDecoder]


def test_a_dense_encoder_reads_pixels_in_either_layout_alike():
    encoder, glimpses = nets(dense=(8, 6), glimpse=8)[0], torch.rand(2, 3, 8, 8)
    assert torch.equal(encoder(glimpses.contiguous(memory_format=torch.channels_last)), encoder(glimpses))
