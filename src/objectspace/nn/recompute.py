"""Convolutions after a cheap pointwise step, that forget the step's output and compute it again in the backward pass.

A full-resolution decoder is mostly memory: for every convolution torch keeps the map before its norm and the map after
its activation. The latter follows from the former in one pass, so only the former is kept. Values and gradients are
those of the plain layers. Tensors are kept in torch's plain layout: the weight gradient of a wide, shallow
convolution takes twice the time in channels-last layout (measured on AVX2).

Shapes: n maps, C channels, H W map.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

_aten = torch.ops.aten
_AT_ONCE = 8  # maps worked on at once: what lies between then stays small, and near the processor


class _NormActivateConvolve(torch.autograd.Function):
    """conv(elu(batch_norm(maps)))."""

    @staticmethod
    def forward(
        ctx: Any, maps: Tensor, gain: Tensor, offset: Tensor, weight: Tensor, bias: Tensor, norm: nn.BatchNorm2d
    ) -> Tensor:
        mean, variance, inverse = _statistics(maps, norm)
        ctx.save_for_backward(maps, gain, offset, weight, mean, variance, inverse)
        ctx.training, ctx.eps = norm.training, norm.eps

        def hidden(part: slice) -> Tensor:
            return F.elu_(F.batch_norm(maps[part], mean, variance, gain, offset, False, 0.0, norm.eps))

        return _convolve(hidden, maps.shape, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        maps, gain, offset, weight, mean, variance, inverse = ctx.saved_tensors

        def hidden(part: slice) -> Tensor:
            return F.elu_(F.batch_norm(maps[part], mean, variance, gain, offset, False, 0.0, ctx.eps))

        inner, by_weight, by_bias = _convolve_backward(gradient, hidden, maps.shape, weight)
        del gradient
        by_maps, by_gain, by_offset = _aten.native_batch_norm_backward(
            inner, maps, gain, mean, variance, mean, inverse, ctx.training, ctx.eps, [True, True, True]
        )
        return by_maps, by_gain, by_offset, by_weight, by_bias, None


class _AddActivateConvolve(torch.autograd.Function):
    """conv(elu(by_vector + by_pixel)), by_vector the same at every pixel, by_pixel the same in every map."""

    @staticmethod
    def forward(ctx: Any, by_vector: Tensor, by_pixel: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(by_vector, by_pixel, weight)

        def hidden(part: slice) -> Tensor:
            return F.elu_(by_vector[part, :, None, None] + by_pixel)

        return _convolve(hidden, torch.Size([len(by_vector), *by_pixel.shape]), weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        by_vector, by_pixel, weight = ctx.saved_tensors

        def hidden(part: slice) -> Tensor:
            return F.elu_(by_vector[part, :, None, None] + by_pixel)

        shape = torch.Size([len(by_vector), *by_pixel.shape])
        inner, by_weight, by_bias = _convolve_backward(gradient, hidden, shape, weight)
        return inner.sum((2, 3)), inner.sum(0), by_weight, by_bias


class _ActivateConvolve(torch.autograd.Function):
    """conv(elu(maps))."""

    @staticmethod
    def forward(ctx: Any, maps: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(maps, weight)
        return _convolve(lambda part: F.elu(maps[part]), maps.shape, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        maps, weight = ctx.saved_tensors
        return _convolve_backward(gradient, lambda part: F.elu(maps[part]), maps.shape, weight)


def forgetting(module: nn.Module, inputs: Tensor) -> Tensor:
    """`module(inputs)`, of which only the inputs are kept for the backward pass; for modules without state."""
    if not torch.is_grad_enabled():
        result: Tensor = module(inputs)
    else:
        result = checkpoint(module, inputs, use_reentrant=False, preserve_rng_state=False)
    return result


def norm_activate_convolve(maps: Tensor, norm: nn.BatchNorm2d, convolution: nn.Conv2d) -> Tensor:
    """`convolution(elu(norm(maps)))` for maps (n, C, H, W) and a convolution of stride 1 without padding."""
    result: Tensor = _NormActivateConvolve.apply(  # type: ignore[no-untyped-call]
        maps, norm.weight, norm.bias, convolution.weight.contiguous(), convolution.bias, norm
    )
    return result


def add_activate_convolve(by_vector: Tensor, by_pixel: Tensor, convolution: nn.Conv2d) -> Tensor:
    """`convolution(elu(by_vector + by_pixel))` for by_vector (n, C) and by_pixel (C, H, W)."""
    weight, bias = convolution.weight.contiguous(), convolution.bias
    result: Tensor = _AddActivateConvolve.apply(by_vector, by_pixel, weight, bias)  # type: ignore[no-untyped-call]
    return result


def activate_convolve(maps: Tensor, convolution: nn.Conv2d) -> Tensor:
    """`convolution(elu(maps))` for maps (n, C, H, W) and a convolution of stride 1 without padding."""
    weight, bias = convolution.weight.contiguous(), convolution.bias
    result: Tensor = _ActivateConvolve.apply(maps, weight, bias)  # type: ignore[no-untyped-call]
    return result


def _statistics(maps: Tensor, norm: nn.BatchNorm2d) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, variance and inverse stdev that batch norm uses; in training its running averages follow."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    assert norm.num_batches_tracked is not None
    if not norm.training:
        return norm.running_mean, norm.running_var, torch.rsqrt(norm.running_var + norm.eps)
    assert norm.momentum is not None
    norm.num_batches_tracked += 1
    mean, variance = torch.batch_norm_update_stats(maps, norm.running_mean, norm.running_var, norm.momentum)
    return mean, variance, torch.rsqrt(variance + norm.eps)


def _parts(count: int) -> list[slice]:
    return [slice(start, start + _AT_ONCE) for start in range(0, count, _AT_ONCE)]


def _convolve(hidden: Callable[[slice], Tensor], shape: torch.Size, weight: Tensor, bias: Tensor) -> Tensor:
    rim = weight.shape[-1] - 1
    result = bias.new_empty(shape[0], weight.shape[0], shape[2] - rim, shape[3] - rim)
    for part in _parts(shape[0]):
        if rim == 0:  # a 1x1 convolution to a few channels: a plain product is faster
            torch.matmul(weight.flatten(1), hidden(part).flatten(2), out=result[part].flatten(2))
            result[part] += bias[:, None, None]
        else:
            result[part] = F.conv2d(hidden(part), weight, bias)
    return result


def _convolve_backward(
    gradient: Tensor, hidden: Callable[[slice], Tensor], shape: torch.Size, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients by what enters elu (n, C, H, W), by the weight and by the bias."""
    gradient = gradient.contiguous()
    by_weight, inner = torch.zeros_like(weight), gradient.new_empty(shape)
    for part in _parts(shape[0]):
        maps, outer = hidden(part), gradient[part]
        if weight.shape[-1] == 1:
            by_maps = (weight.flatten(1).t() @ outer.flatten(2)).view_as(maps)
            by_weight += (outer.flatten(2) @ maps.flatten(2).transpose(1, 2)).sum(0).view_as(weight)
        else:
            by_maps, partial, _ = _aten.convolution_backward(
                outer, maps, weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False]
            )
            by_weight += partial
        _aten.elu_backward(by_maps, 1, 1, 1, True, maps, grad_input=inner[part])
    return inner, by_weight, gradient.sum((0, 2, 3))
