"""Gradients that PyTorch's differentiation leaves as operators of their own."""

from __future__ import annotations

import math
from typing import Any

from ..._core import Expr
from .context import Context, Value
from .neural import attended, convolved
from .registry import converter

__all__: list[str] = []


@converter("aten.native_layer_norm_backward.default")
def _layer_norm(c: Context, grad_out: Value, input: Value, normalized_shape: Any, mean: Value, rstd: Value, weight: Any,  # noqa: A002
                output_mask: Any) -> Any:  # fmt: skip
    lead = input.rank - len(normalized_shape)
    axes = list(range(lead, input.rank))
    normal = c.call("multiply", c.call("subtract", input, mean), rstd)
    given = grad_out.expr if weight is None else c.call("multiply", grad_out, weight)

    def average(value: Expr) -> Expr:
        return c.call("mean", value, axis=axes, keepdims=True)

    def over_rows(value: Any) -> Any:
        return c.call("sum", value, axis=list(range(lead))) if lead else value

    data = None
    if output_mask[0]:
        # The parts of a gradient that change the mean or the spread of a row change nothing else.
        along = c.call("multiply", normal, average(c.call("multiply", given, normal)))
        data = c.call("multiply", c.call("subtract", c.call("subtract", given, average(given)), along), rstd)
    scale = over_rows(c.call("multiply", grad_out, normal)) if output_mask[1] else None
    return data, scale, over_rows(grad_out) if output_mask[2] else None


@converter("aten.embedding_dense_backward.default")
def _embedding(c: Context, grad_output: Value, indices: Value, num_weights: Any, padding_idx: int, scale_grad_by_freq: bool) -> Any:
    if scale_grad_by_freq:
        raise NotImplementedError("scale_grad_by_freq")
    if not all(isinstance(size, int) for size in indices.shape):
        raise NotImplementedError("the gradient of an embedding of an open number of positions")
    count, width = math.prod(indices.shape), grad_output.shape[-1]
    rows = c.reshape(grad_output, [count, width])
    where = c.reshape(c.cast(indices, "int64"), [1, count])
    if padding_idx >= 0:
        kept = c.call("not_equal", c.reshape(where, [count, 1]), c.const(padding_idx, "int64"))
        rows = c.call("where", kept, rows, c.const(0, c.dtype))
    return c.call("scatter_nd", c.full(c.const(0, c.dtype), [num_weights, width]), where, rows, mode="add")


@converter("aten.convolution_backward.default")
def _convolution(c: Context, grad_output: Value, input: Value, weight: Value, stride: Any, padding: Any, dilation: Any,  # noqa: A002
                 transposed: bool, output_padding: Any, groups: int, output_mask: Any) -> Any:  # fmt: skip
    def forward(data: Value, kernel: Value) -> Expr:
        return convolved(c, data, kernel, stride, padding, dilation, transposed, output_padding, groups)

    data, kernel = c.gradients(forward, [input, weight], grad_output) if output_mask[0] or output_mask[1] else (None, None)
    others = [axis for axis in range(grad_output.rank) if axis != 1]
    bias = c.call("sum", grad_output, axis=others) if output_mask[2] else None
    return data if output_mask[0] else None, kernel if output_mask[1] else None, bias


@converter("aten.native_group_norm_backward.default")
def _group_norm(c: Context, grad_out: Value, input: Value, mean: Value, rstd: Value, weight: Any, C: int, group: int,  # noqa: A002, N803
                output_mask: Any) -> Any:  # fmt: skip
    tail = [1] * (input.rank - 2)
    grouped = c.call("reshape", input, newshape=[0, group, -1])
    centre, spread = (c.call("expand_dims", part, axis=2) for part in (mean, rstd))
    normal = c.call("multiply", c.call("subtract", grouped, centre), spread)
    given = grad_out.expr if weight is None else c.call("multiply", grad_out, c.call("reshape", weight, newshape=[C, *tail]))
    rows = c.call("reshape", given, newshape=[0, group, -1])

    def average(value: Expr) -> Expr:
        return c.call("mean", value, axis=[2], keepdims=True)

    # As in a layer norm, what changes the mean or the spread of a group changes nothing else.
    along = c.call("multiply", normal, average(c.call("multiply", rows, normal)))
    data = c.call("multiply", c.call("subtract", c.call("subtract", rows, average(rows)), along), spread)
    others = [axis for axis in range(input.rank) if axis != 1]
    scale = c.call("sum", c.call("multiply", grad_out, c.reshape(normal, input.shape)), axis=others) if output_mask[1] else None
    return (c.reshape(data, input.shape) if output_mask[0] else None), scale, (c.call("sum", grad_out, axis=others) if output_mask[2] else None)


@converter("aten._scaled_dot_product_flash_attention_for_cpu_backward.default")
def _attention(c: Context, grad_out: Value, query: Value, key: Value, value: Value, dropout_p: float, is_causal: bool, attn_mask: Any,
               scale: Any) -> Any:  # fmt: skip
    if dropout_p:
        raise NotImplementedError("dropout in attention")

    def forward(q: Value, k: Value, v: Value) -> Expr:
        return attended(c, q, k, v, attn_mask, is_causal, scale)

    return c.gradients(forward, [query, key, value], grad_out)
