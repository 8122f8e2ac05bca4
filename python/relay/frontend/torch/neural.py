"""Products, convolutions, pools, normalisations and attention."""

from __future__ import annotations

import math
from typing import Any

from ..._core import Expr, TupleGetItem
from .context import Context, Value
from .reductions import variance
from .registry import Unavailable, converter

__all__: list[str] = []


@converter("aten.linear.default")
def _linear(c: Context, input: Value, weight: Value, bias: Any) -> Any:  # noqa: A002 (names of the schema)
    result = c.call("nn.matmul" if input.rank != 2 else "nn.dense", input, weight, **({"transpose_b": True} if input.rank != 2 else {}))
    return result if bias is None else c.call("add", result, bias)


@converter("aten.mm.default")
def _mm(c: Context, this: Value, mat2: Value) -> Any:
    return c.call("nn.matmul", this, mat2)


@converter("aten.addmm.default")
def _addmm(c: Context, this: Value, mat1: Value, mat2: Value, beta: Any, alpha: Any) -> Any:
    product = c.call("nn.matmul", mat1, mat2)
    scaled = product if alpha == 1 else c.call("multiply", product, c.const(alpha, c.dtype))
    if beta == 0:
        return scaled
    return c.call("add", scaled, this.expr if beta == 1 else c.call("multiply", this, c.const(beta, c.dtype)))


@converter("aten.bmm.default")
def _bmm(c: Context, this: Value, mat2: Value) -> Any:
    return c.call("nn.batch_matmul", this, mat2, transpose_a=False, transpose_b=False)


@converter("aten.convolution.default")
def _convolution(c: Context, input: Value, weight: Value, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,  # noqa: A002
                 output_padding: Any, groups: int) -> Any:  # fmt: skip
    rank = input.rank - 2

    def each(sizes: Any) -> list[int]:
        return list(sizes) * rank if len(sizes) == 1 else list(sizes)

    space = "DHW"[3 - rank :] if rank > 1 else "W"
    attrs = {"strides": each(stride), "padding": each(padding) * 2, "dilation": each(dilation), "groups": groups}
    attrs |= {"kernel_size": weight.shape[2:], "data_layout": "NC" + space}
    if transposed:
        attrs |= {"output_padding": each(output_padding), "channels": weight.shape[1] * groups, "kernel_layout": "IO" + space}
        result = c.call(f"nn.conv{rank}d_transpose", input, weight, **attrs)
    else:
        attrs |= {"channels": weight.shape[0], "kernel_layout": "OI" + space}
        result = c.call(f"nn.conv{rank}d", input, weight, **attrs)
    return result if bias is None else c.call("nn.bias_add", result, bias, axis=1)


def _batched(c: Context, this: Value, rank: int) -> Expr:
    return this.expr if this.rank == rank + 2 else c.call("expand_dims", this, axis=0)


def _unbatched(c: Context, this: Value, rank: int, result: Expr) -> Expr:
    return result if this.rank == rank + 2 else c.call("squeeze", result, axis=[0])


def _window(rank: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: Any) -> dict[str, Any]:
    def each(sizes: Any, default: Any) -> list[int]:
        sizes = list(sizes) if isinstance(sizes, (list, tuple)) else [sizes]
        return list(default) if sizes in ([], [None]) else sizes * rank if len(sizes) == 1 else sizes

    size = each(kernel_size, [])
    return {"pool_size": size, "strides": each(stride, size), "padding": each(padding, [0] * rank) * 2, "dilation": each(dilation, [1] * rank),
            "ceil_mode": bool(ceil_mode)}  # fmt: skip


def _average(rank: int) -> Any:
    def pool(c: Context, this: Value, kernel_size: Any, stride: Any, padding: Any, ceil_mode: Any, count_include_pad: Any, divisor_override: Any) -> Any:
        window = _window(rank, kernel_size, stride, padding, None, ceil_mode)
        whole = divisor_override is not None
        result = c.call(f"nn.avg_pool{rank}d", _batched(c, this, rank), count_include_pad=bool(count_include_pad) or whole, **window)
        if whole:
            if ceil_mode:
                raise NotImplementedError("divisor_override with ceil_mode")
            result = c.call("multiply", result, c.const(math.prod(window["pool_size"]) / divisor_override, c.dtype))
        return _unbatched(c, this, rank, result)

    return pool


def _greatest(rank: int) -> Any:
    def pool(c: Context, this: Value, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: Any) -> Any:
        window = _window(rank, kernel_size, stride, padding, dilation, ceil_mode)
        result = _unbatched(c, this, rank, c.call(f"nn.max_pool{rank}d", _batched(c, this, rank), **window))
        return result, Unavailable("the indices of max_pool are not supported, only the values")

    return pool


def _adaptive(rank: int) -> Any:
    def pool(c: Context, this: Value, output_size: Any) -> Any:
        sizes = list(output_size)
        result = c.call(f"nn.adaptive_avg_pool{rank}d", _batched(c, this, rank), output_size=sizes)
        return _unbatched(c, this, rank, result)

    return pool


for _rank in (1, 2, 3):
    converter(f"aten.avg_pool{_rank}d.default")(_average(_rank))
    converter(f"aten.max_pool{_rank}d_with_indices.default")(_greatest(_rank))
    converter(f"aten.{'_' if _rank > 1 else ''}adaptive_avg_pool{_rank}d.default")(_adaptive(_rank))


@converter("aten._softmax.default")
def _softmax(c: Context, this: Value, dim: int) -> Any:
    return c.call("nn.softmax", c.cast(this, c.dtype), axis=this.axis(dim)) if this.rank else c.call("ones_like", c.cast(this, c.dtype))


@converter("aten._log_softmax.default")
def _log_softmax(c: Context, this: Value, dim: int) -> Any:
    return c.call("nn.log_softmax", c.cast(this, c.dtype), axis=this.axis(dim)) if this.rank else c.call("zeros_like", c.cast(this, c.dtype))


@converter("aten.native_layer_norm.default")
def _layer_norm(c: Context, input: Value, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:  # noqa: A002
    axes = list(range(input.rank - len(normalized_shape), input.rank))
    spread, mean = variance(c, input, axes, 0, True)
    inverse = c.call("rsqrt", c.call("add", spread, c.const(eps, input.dtype)))
    if len(axes) == 1 and weight is not None and bias is not None:
        return c.call("nn.layer_norm", input, weight, bias, axis=-1, epsilon=eps, center=True, scale=True), mean, inverse
    result = c.call("multiply", c.call("subtract", input, mean), inverse)
    result = result if weight is None else c.call("multiply", result, weight)
    return (result if bias is None else c.call("add", result, bias)), mean, inverse


@converter("aten.native_group_norm.default")
def _group_norm(c: Context, input: Value, weight: Any, bias: Any, group: int, eps: float) -> Any:  # noqa: A002
    batch, channels = input.shape[:2]
    grouped = c.call("reshape", input, newshape=[0, group, -1])
    mean = c.call("mean", grouped, axis=[2], keepdims=True)
    apart = c.call("subtract", grouped, mean)
    spread = c.call("mean", c.call("multiply", apart, apart), axis=[2], keepdims=True)
    inverse = c.call("rsqrt", c.call("add", spread, c.const(eps, input.dtype)))
    result = c.reshape(c.call("multiply", apart, inverse), input.shape, ())
    tail = [1] * (input.rank - 2)
    if weight is not None:
        result = c.call("multiply", result, c.call("reshape", weight, newshape=[channels, *tail]))
    if bias is not None:
        result = c.call("add", result, c.call("reshape", bias, newshape=[channels, *tail]))
    return result, c.call("squeeze", mean, axis=[2]), c.call("squeeze", inverse, axis=[2])


def _along_channels(c: Context, vector: Any, rank: int) -> Expr:
    return c.call("reshape", vector, newshape=[-1] + [1] * (rank - 2))


def _normalised(c: Context, x: Value, weight: Any, bias: Any, mean: Any, inverse: Any) -> Expr:
    result = c.call("multiply", c.call("subtract", x, mean), inverse)
    if weight is not None:
        result = c.call("multiply", result, _along_channels(c, weight, x.rank))
    return result if bias is None else c.call("add", result, _along_channels(c, bias, x.rank))


@converter("aten._native_batch_norm_legit_no_training.default")
def _batch_norm(c: Context, input: Value, weight: Any, bias: Any, running_mean: Value, running_var: Value, eps: float) -> Any:  # noqa: A002
    ones = c.full(c.const(1, running_mean.dtype), running_mean.shape)
    zeros = c.full(c.const(0, running_mean.dtype), running_mean.shape)
    parts = (ones if weight is None else weight, zeros if bias is None else bias, running_mean, running_var)
    result = c.call("nn.batch_norm", input, *parts, axis=1, epsilon=eps, center=True, scale=True)
    empty = c.full(c.const(0, running_mean.dtype), [0])
    return TupleGetItem(result, 0, c.span), empty, empty


@converter("aten._native_batch_norm_legit_functional.default", "aten._native_batch_norm_legit.no_stats")
def _batch_norm_training(c: Context, input: Value, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: Any,  # noqa: A002
                         momentum: float, eps: float) -> Any:  # fmt: skip
    if running_mean is not None and not training:
        result, *empty = _batch_norm(c, input, weight, bias, running_mean, running_var, eps)
        return (result, *empty, running_mean, running_var)
    axes = [axis for axis in range(input.rank) if axis != 1]
    spread, mean = variance(c, input, axes, 0, True)
    inverse = c.call("rsqrt", c.call("add", spread, c.const(eps, input.dtype)))
    flat = [c.call("squeeze", part, axis=axes) for part in (mean, inverse)]
    result = _normalised(c, input, weight, bias, mean, inverse)
    if running_mean is None:
        return (result, *flat)
    unbiased = variance(c, input, axes, 1, False)[0]
    kept, new = c.const(1 - momentum, input.dtype), c.const(momentum, input.dtype)
    mixed = [
        c.call("add", c.call("multiply", old, kept), c.call("multiply", fresh, new))
        for old, fresh in ((running_mean, flat[0]), (running_var, unbiased))
    ]
    return (result, *flat, *mixed)


@converter("aten.scaled_dot_product_attention.default")
def _attention(c: Context, query: Value, key: Value, value: Value, attn_mask: Any, dropout_p: float, is_causal: bool, scale: Any,
               enable_gqa: bool) -> Any:  # fmt: skip
    if dropout_p:
        raise NotImplementedError("dropout in attention; call eval() on the model")
    # Keys and queries may be given without a dimension of heads; Relay's operator has one.
    parts = [part.expr if part.rank > 2 else c.call("expand_dims", part, axis=0) for part in (query, key, value)]
    mask = c.const(True, "bool") if attn_mask is None else attn_mask.expr if attn_mask.dtype == "bool" else c.cast(attn_mask, c.dtype)
    factor = {} if scale is None else {"scale": float(scale)}
    result = c.call("nn.scaled_dot_product_attention", *parts, mask, causal=bool(is_causal), **factor)
    return result if query.rank > 2 else c.call("squeeze", result, axis=[0])


@converter("aten.native_dropout.default")
def _dropout(c: Context, input: Value, p: float, train: Any) -> Any:  # noqa: A002
    if train and p:
        raise NotImplementedError("dropout while training: random numbers of PyTorch's generator")
    return input, c.full(c.const(True, "bool"), input.shape)


@converter("aten.upsample_nearest2d.vec")
def _nearest(c: Context, input: Value) -> Any:  # noqa: A002
    return _resized(c, input, "nearest_neighbor", "asymmetric")


@converter("aten.upsample_bilinear2d.vec")
def _bilinear(c: Context, input: Value, align_corners: bool) -> Any:  # noqa: A002
    return _resized(c, input, "linear", "align_corners" if align_corners else "half_pixel")


def _resized(c: Context, data: Value, method: str, transform: str) -> Expr:
    sizes = list(c.out.shape[2:])
    if not all(isinstance(size, int) for size in sizes):
        raise NotImplementedError("a picture of open size that is resized")
    rounding = {"rounding_method": "floor"} if method == "nearest_neighbor" else {}
    return c.call("image.resize2d", data, size=sizes, layout="NCHW", method=method, coordinate_transformation_mode=transform, **rounding)
