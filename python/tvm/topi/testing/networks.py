"""References of products, windows and normalisations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def batch_matmul(x: Any, y: Any, out_dtype: Any = None, trans_x: bool = False, trans_y: bool = True) -> Any:
    """Products of the matrices of two batches, of which one may be a single one."""
    left = x.swapaxes(1, 2) if trans_x else x
    right = y.swapaxes(1, 2) if trans_y else y
    dtype = out_dtype or x.dtype
    return np.matmul(left.astype(dtype), right.astype(dtype))


def _pads(padding: Any, kernel: Sequence[int], rank: int) -> list[tuple[int, int]]:
    if isinstance(padding, str):
        both = [size - 1 for size in kernel] if padding == "SAME" else [0] * rank
        return [(total // 2, total - total // 2) for total in both]
    if isinstance(padding, int):
        return [(padding, padding)] * rank
    values = list(padding)
    if len(values) == rank:
        return [(value, value) for value in values]
    return list(zip(values[:rank], values[rank:]))


def _convolution(data: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """Channels first: sums over the taps, each a shifted slice times one column of the weight."""
    rank = data.ndim - 2
    steps = [stride] * rank if isinstance(stride, int) else list(stride)
    gaps = [dilation] * rank if isinstance(dilation, int) else list(dilation)
    kernel = [(size - 1) * gap + 1 for size, gap in zip(weight.shape[2:], gaps)]
    data = np.pad(data, [(0, 0), (0, 0), *_pads(padding, kernel, rank)])
    extents = [(size - k) // step + 1 for size, k, step in zip(data.shape[2:], kernel, steps)]
    n, filters = data.shape[0], weight.shape[0]
    split = weight.reshape(groups, filters // groups, *weight.shape[1:])
    out = np.zeros((n, groups, filters // groups, *extents), np.result_type(data, weight))
    for tap in np.ndindex(*weight.shape[2:]):
        window = data[(slice(None), slice(None), *(slice(t * g, t * g + (e - 1) * s + 1, s) for t, g, e, s in zip(tap, gaps, extents, steps)))]
        window = window.reshape(n, groups, -1, *extents)
        out += np.einsum("gfc,ngc...->ngf...", split[(slice(None), slice(None), slice(None), *tap)], window)
    return out.reshape(n, filters, *extents).astype(data.dtype)


def conv1d_ncw_python(a_np: Any, w_np: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """A convolution in one dimension."""
    return _convolution(a_np, w_np, stride, padding, dilation, 1)


def group_conv1d_ncw_python(a_np: Any, w_np: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """A convolution in one dimension, in groups of channels."""
    return _convolution(a_np, w_np, stride, padding, dilation, groups)


def conv2d_hwcn_python(a_np: Any, w_np: Any, stride: Any, padding: Any) -> Any:
    """A convolution in two dimensions; data are HWCN, weights HWIO."""
    return _convolution(a_np.transpose(3, 2, 0, 1), w_np.transpose(3, 2, 0, 1), stride, padding, 1, 1).transpose(2, 3, 1, 0)


def depthwise_conv2d_python_nchw(input_np: Any, filter_np: Any, stride: Any, padding: Any) -> Any:
    """A convolution of each channel by itself; weights are (channels, multiplier, height, width)."""
    channels, multiplier, *kernel = filter_np.shape
    return _convolution(input_np, filter_np.reshape(channels * multiplier, 1, *kernel), stride, padding, 1, channels)


def depthwise_conv2d_python_nhwc(input_np: Any, filter_np: Any, stride: Any, padding: Any) -> Any:
    """The same with the channel axis last; weights are (height, width, channels, multiplier)."""
    return np.moveaxis(depthwise_conv2d_python_nchw(np.moveaxis(input_np, -1, 1), filter_np.transpose(2, 3, 0, 1), stride, padding), 1, -1)


def depthwise_conv2d_python_nchwc(input_np: Any, filter_np: Any, stride: Any, padding: Any) -> Any:
    """The same with blocks of channels, NCHWc; weights are CMHWxc."""
    n, blocks, h, w, block = input_np.shape
    outer, _, kh, kw, one, inner = filter_np.shape
    data = input_np.transpose(0, 1, 4, 2, 3).reshape(n, blocks * block, h, w)
    weight = filter_np.transpose(0, 4, 5, 1, 2, 3).reshape(outer * one * inner, 1, kh, kw)
    out = _convolution(data, weight, stride, padding, 1, blocks * block)
    return out.reshape(n, outer, one * inner, *out.shape[2:]).transpose(0, 1, 3, 4, 2)


def conv2d_backward_weight_python(
    dy_np: Any, x_np: Any, kernel_size: Any, stride: Any, padding: Any, layout: str = "NCHW", groups: int = 1, channels: Any = None
) -> Any:
    """The gradient of a convolution's weight: OIHW for NCHW, OHWI for NHWC. `channels` is not needed: the data have it."""
    if layout == "NHWC":
        first = conv2d_backward_weight_python(np.moveaxis(dy_np, -1, 1), np.moveaxis(x_np, -1, 1), kernel_size, stride, padding, "NCHW", groups)
        return np.moveaxis(first, 1, -1)
    steps = [stride] * 2 if isinstance(stride, int) else list(stride)
    data = np.pad(x_np, [(0, 0), (0, 0), *_pads(padding, kernel_size, 2)])
    n, filters, *extents = dy_np.shape
    gradient = dy_np.reshape(n, groups, filters // groups, *extents)
    out = np.zeros((groups, filters // groups, data.shape[1] // groups, *kernel_size), x_np.dtype)
    for tap in np.ndindex(*kernel_size):
        where = tuple(slice(t, t + (e - 1) * s + 1, s) for t, e, s in zip(tap, extents, steps))
        window = data[(slice(None), slice(None), *where)].reshape(n, groups, -1, *extents)
        place: Any = (..., *tap)
        out[place] = np.einsum("ngfyx,ngcyx->gfc", gradient, window)
    return out.reshape(filters, -1, *kernel_size)


def conv2d_nchw_python(a_np: Any, w_np: Any, stride: Any, padding: Any, groups: int = 1) -> Any:
    """A convolution in two dimensions."""
    return _convolution(a_np, w_np, stride, padding, 1, groups)


def conv2d_nhwc_python(a_np: Any, w_np: Any, stride: Any, padding: Any, groups: int = 1) -> Any:
    """A convolution in two dimensions; weights are HWIO."""
    return np.moveaxis(_convolution(np.moveaxis(a_np, -1, 1), w_np.transpose(3, 2, 0, 1), stride, padding, 1, groups), 1, -1)


def conv3d_ncdhw_python(a_np: Any, w_np: Any, stride: Any, padding: Any, groups: int = 1) -> Any:
    """A convolution in three dimensions."""
    return _convolution(a_np, w_np, stride, padding, 1, groups)


def conv3d_ndhwc_python(a_np: Any, w_np: Any, stride: Any, padding: Any, groups: int = 1) -> Any:
    """A convolution in three dimensions; weights are DHWIO."""
    return np.moveaxis(_convolution(np.moveaxis(a_np, -1, 1), w_np.transpose(4, 3, 0, 1, 2), stride, padding, 1, groups), 1, -1)


def l2_normalize_python(a_np: Any, eps: float, axis: Any = None) -> Any:
    """Divides by the root of the sum of squares, which is at least `eps`."""
    total = np.sum(np.square(a_np), axis=tuple(axis) if isinstance(axis, (list, tuple)) else axis, keepdims=True)
    return a_np / np.sqrt(np.maximum(total, eps))


def softmax_python(a_np: Any, axis: int = 1) -> Any:
    """Exponentials that sum to one."""
    raised = np.exp(a_np - np.max(a_np, axis=axis, keepdims=True))
    return raised / raised.sum(axis=axis, keepdims=True)


def log_softmax_python(a_np: Any, axis: int = 1) -> Any:
    """The logarithm of softmax."""
    moved = a_np - np.max(a_np, axis=axis, keepdims=True)
    return moved - np.log(np.exp(moved).sum(axis=axis, keepdims=True))


def lrn_python(a_np: Any, size: int, axis: int, bias: float, alpha: float, beta: float) -> Any:
    """Divides by a power of the sum of squares of near channels."""
    half, count = size // 2, a_np.shape[axis]
    total = np.zeros_like(a_np)
    moved, squares = np.moveaxis(total, axis, 0), np.moveaxis(np.square(a_np), axis, 0)
    for at in range(count):
        moved[at] = squares[max(0, at - half) : at + half + 1].sum(axis=0)
    return a_np / np.power(bias + alpha / size * total, beta)


def _transposed(data: Any, weight: Any, stride: Any, padding: Any, output_padding: Any, groups: int) -> Any:
    """Channels first, weights I O ...: every element adds its multiple of the weight to the result, whose edges are cut off."""
    rank = data.ndim - 2
    steps = [stride] * rank if isinstance(stride, int) else list(stride)
    more = [output_padding] * rank if isinstance(output_padding, int) else list(output_padding)
    n, channels, filters = data.shape[0], data.shape[1] // groups, weight.shape[1]
    kernel, extents = weight.shape[2:], data.shape[2:]
    full = [(e - 1) * s + k + m for e, s, k, m in zip(extents, steps, kernel, more)]
    out = np.zeros((n, groups, filters, *full), data.dtype)
    parts, split = data.reshape(n, groups, channels, *extents), weight.reshape(groups, channels, filters, *kernel)
    every = (slice(None),) * 3
    for tap in np.ndindex(*kernel):
        where = tuple(slice(t, t + (e - 1) * s + 1, s) for t, e, s in zip(tap, extents, steps))
        out[(*every, *where)] += np.einsum("gcf,ngc...->ngf...", split[(*every, *tap)], parts)
    cut = tuple(slice(before, size - after) for size, (before, after) in zip(full, _pads(padding, kernel, rank)))
    return out.reshape(n, groups * filters, *full)[(slice(None), slice(None), *cut)]


def conv1d_transpose_ncw_python(a_np: Any, w_np: Any, stride: Any, padding: Any, output_padding: Any) -> Any:
    """A transposed convolution in one dimension."""
    return _transposed(a_np, w_np, stride, padding, output_padding, 1)


def conv2d_transpose_nchw_python(a_np: Any, w_np: Any, stride: Any, padding: Any, output_padding: Any, groups: int = 1) -> Any:
    """A transposed convolution in two dimensions."""
    return _transposed(a_np, w_np, stride, padding, output_padding, groups)


def group_conv1d_transpose_ncw_python(a_np: Any, w_np: Any, stride: Any, padding: Any, output_padding: Any, groups: int = 1) -> Any:
    """A transposed convolution in one dimension, in groups of channels."""
    return _transposed(a_np, w_np, stride, padding, output_padding, groups)


def conv2d_transpose_nhwc_python(
    a_nhwc: Any, weight: Any, weight_format: str, stride: Any, padding: Any, output_padding: Any = (0, 0)
) -> Any:
    """A transposed convolution in two dimensions, NHWC; `weight_format` says how the weight's axes stand, for example HWIO."""
    order = [weight_format.index(name) for name in "IOHW"]
    return np.moveaxis(_transposed(np.moveaxis(a_nhwc, -1, 1), np.transpose(weight, order), stride, padding, output_padding, 1), 1, -1)


def conv3d_transpose_ncdhw_python(a_np: Any, w_np: Any, stride: Any, padding: Any, output_padding: Any, groups: int = 1) -> Any:
    """A transposed convolution in three dimensions."""
    return _transposed(a_np, w_np, stride, padding, output_padding, groups)


def nll_loss(predictions: Any, targets: Any, weights: Any, reduction: str = "mean", ignore_index: int = -100) -> Any:
    """Minus the weighted predictions of the right classes; their mean, their sum, or each."""
    used = targets != ignore_index
    classes = np.where(used, targets, 0)
    factor = np.where(used, weights[classes], 0).astype(predictions.dtype)
    loss = -factor * np.take_along_axis(predictions, classes[:, None], 1)[:, 0]
    return loss if reduction == "none" else loss.sum() if reduction == "sum" else loss.sum() / factor.sum()
