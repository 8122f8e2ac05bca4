"""Products, convolutions, normalisations and attention."""

from __future__ import annotations

from typing import Any

from ..._core import Expr, TupleGetItem
from .context import Context, Value
from .reductions import variance
from .registry import converter

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


def convolved(c: Context, input: Value, weight: Value, stride: Any, padding: Any, dilation: Any, transposed: bool,  # noqa: A002
              output_padding: Any, groups: int) -> Expr:  # fmt: skip
    """A convolution without bias."""
    rank = input.rank - 2

    def each(sizes: Any) -> list[int]:
        return list(sizes) * rank if len(sizes) == 1 else list(sizes)

    space = "DHW"[3 - rank :] if rank > 1 else "W"
    attrs = {"strides": each(stride), "padding": each(padding) * 2, "dilation": each(dilation), "groups": groups}
    attrs |= {"kernel_size": weight.shape[2:], "data_layout": "NC" + space}
    if transposed:
        attrs |= {"output_padding": each(output_padding), "channels": weight.shape[1] * groups, "kernel_layout": "IO" + space}
        return c.call(f"nn.conv{rank}d_transpose", input, weight, **attrs)
    attrs |= {"channels": weight.shape[0], "kernel_layout": "OI" + space}
    return c.call(f"nn.conv{rank}d", input, weight, **attrs)


@converter("aten.convolution.default", "aten._convolution")
def _convolution(c: Context, input: Value, weight: Value, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,  # noqa: A002
                 output_padding: Any, groups: int) -> Any:  # fmt: skip
    result = convolved(c, input, weight, stride, padding, dilation, transposed, output_padding, groups)
    return result if bias is None else c.call("nn.bias_add", result, bias, axis=1)


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
    channels = input.shape[1]
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


@converter("aten._native_batch_norm_legit_functional.default", "aten._native_batch_norm_legit")
def _batch_norm_training(c: Context, input: Value, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: Any,  # noqa: A002
                         momentum: float, eps: float) -> Any:  # fmt: skip
    if running_mean is not None and not training:
        result, *empty = _batch_norm(c, input, weight, bias, running_mean, running_var, eps)
        return (result, *empty, running_mean, running_var)
    if running_mean is not None and not c.name.startswith("aten._native_batch_norm_legit_functional"):
        raise NotImplementedError("statistics that are written in place; functionalise the graph")
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
    return attended(c, query, key, value, attn_mask, is_causal, scale)


def attended(c: Context, query: Value, key: Value, value: Value, attn_mask: Any, is_causal: bool, scale: Any) -> Expr:
    """Attention without dropout."""
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
