"""Operators of other libraries and of layers as a whole: torchvision's boxes, simulated quantisation, the encoder layer of inference."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core import Expr, TupleGetItem
from ...expr import const
from .context import Context, Value
from .elementwise import truth
from .registry import converter

__all__: list[str] = []


@converter("torchvision.nms.default")
def _nms(c: Context, dets: Value, scores: Value, iou_threshold: float) -> Any:
    # Relay's operator drops boxes of just this overlap, too.
    least = float(np.nextafter(np.float32(iou_threshold), np.float32(np.inf)))
    boxes, marks = (c.call("expand_dims", dets, axis=0), c.call("expand_dims", scores, axis=0, num_newaxis=2))
    bounds = [c.const(-1, "int64"), c.const(least, "float32"), c.const(-np.inf, "float32")]
    kept = TupleGetItem(c.call("vision.all_class_non_max_suppression", boxes, marks, *bounds), 0, c.span)
    return c.call("take", kept, const(2, "int64"), axis=1)


@converter("torchvision.roi_align.default")
def _roi_align(c: Context, input: Value, rois: Value, spatial_scale: float, pooled_height: int, pooled_width: int,  # noqa: A002
               sampling_ratio: int, aligned: bool) -> Any:  # fmt: skip
    return c.call("vision.roi_align", input, rois, pooled_size=[pooled_height, pooled_width], spatial_scale=float(spatial_scale),
                  sample_ratio=sampling_ratio, aligned=bool(aligned))  # fmt: skip


def _simulated(c: Context, data: Value, scale: Any, zero: Any, least: int, most: int) -> Any:
    """The numbers that remain of the data after quantisation, and where none was cut off."""
    kind = data.dtype
    # PyTorch multiplies by the inverse, which rounds otherwise than a division.
    inverse = c.call("divide", c.const(1, kind), scale)
    place = c.call("add", c.call("round", c.call("multiply", data, inverse)), zero)
    low, high = c.const(least, kind), c.const(most, kind)
    held = c.call("logical_and", c.call("greater_equal", place, low), c.call("less_equal", place, high))
    cut = c.call("minimum", c.call("maximum", place, low), high)
    return c.call("multiply", c.call("subtract", cut, zero), scale), held


@converter("aten.fake_quantize_per_tensor_affine_cachemask.default")
def _per_tensor(c: Context, this: Value, scale: float, zero_point: int, quant_min: int, quant_max: int) -> Any:
    return _simulated(c, this, c.const(scale, this.dtype), c.const(zero_point, this.dtype), quant_min, quant_max)


@converter("aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default")
def _per_tensor_of_tensors(c: Context, this: Value, scale: Value, zero_point: Value, fake_quant_enabled: Value, quant_min: int,
                           quant_max: int) -> Any:  # fmt: skip
    parts = (c.call("reshape", c.cast(part, this.dtype), newshape=[]) for part in (scale, zero_point))
    result, held = _simulated(c, this, *parts, quant_min, quant_max)
    on = c.call("reshape", truth(c, fake_quant_enabled), newshape=[])
    return c.call("where", on, result, this), c.call("logical_or", held, c.call("logical_not", on))


@converter("aten.fake_quantize_per_channel_affine_cachemask.default")
def _per_channel(c: Context, this: Value, scale: Value, zero_point: Value, axis: int, quant_min: int, quant_max: int) -> Any:
    along = [-1 if i == this.axis(axis) else 1 for i in range(this.rank)]
    parts = (c.call("reshape", c.cast(part, this.dtype), newshape=along) for part in (scale, zero_point))
    return _simulated(c, this, *parts, quant_min, quant_max)


@converter("aten._transformer_encoder_layer_fwd.default")
def _encoder_layer(c: Context, src: Value, num_heads: int, qkv_weight: Value, qkv_bias: Value, proj_weight: Value, proj_bias: Value,
                   use_gelu: bool, norm_first: bool, eps: float, norm_weight_1: Value, norm_bias_1: Value, norm_weight_2: Value,
                   norm_bias_2: Value, ffn_weight_1: Value, ffn_bias_1: Value, ffn_weight_2: Value, ffn_bias_2: Value, mask: Any,
                   mask_type: Any) -> Any:  # fmt: skip
    if src.rank != 3:
        raise NotImplementedError("an encoder layer of nested tensors")

    def linear(x: Any, weight: Value, bias: Value) -> Expr:
        return c.call("add", c.call("nn.matmul", x, weight, transpose_b=True), bias)

    def first(x: Any) -> Expr:
        return c.call("nn.layer_norm", x, norm_weight_1, norm_bias_1, axis=-1, epsilon=eps, center=True, scale=True)

    def second(x: Any) -> Expr:
        return c.call("nn.layer_norm", x, norm_weight_2, norm_bias_2, axis=-1, epsilon=eps, center=True, scale=True)

    def attention(x: Any) -> Expr:
        heads = c.call("reshape", linear(x, qkv_weight, qkv_bias), newshape=[0, 0, 3, num_heads, -1])
        heads = c.call("transpose", heads, axes=[2, 0, 3, 1, 4])
        parts = [c.call("take", heads, const(i, "int64"), axis=0) for i in range(3)]
        seen = c.const(True, "bool") if mask is None else _seen(c, mask, mask_type)
        mixed = c.call("transpose", c.call("nn.scaled_dot_product_attention", *parts, seen), axes=[0, 2, 1, 3])
        return linear(c.call("reshape", mixed, newshape=[0, 0, -1]), proj_weight, proj_bias)

    def feed_forward(x: Any) -> Expr:
        inner = linear(x, ffn_weight_1, ffn_bias_1)
        return linear(c.call("nn.gelu" if use_gelu else "nn.relu", inner), ffn_weight_2, ffn_bias_2)

    if norm_first:
        middle = c.call("add", src, attention(first(src)))
        return c.call("add", middle, feed_forward(second(middle)))
    middle = first(c.call("add", src, attention(src)))
    return second(c.call("add", middle, feed_forward(middle)))


def _seen(c: Context, mask: Value, kind: Any) -> Expr:
    """True where a position is seen: masks are of pairs of positions (0), of positions of a batch (1), or of all of them (2)."""
    seen = c.call("logical_not", truth(c, mask))
    return c.call("expand_dims", seen, axis=1, num_newaxis=2) if kind == 1 else seen


@converter("aten.bincount.default")
def _bincount(c: Context, this: Value, weights: Any, minlength: Any) -> Any:
    place = c.cast(this, "int64")
    # The number before minlength stands in, so that there is a greatest one.
    least = c.call("reshape", c.call("subtract", c.const(minlength, "int64"), c.const(1, "int64")), newshape=[1])
    count = c.call("add", c.call("max", c.call("concatenate", [place, least], axis=0), axis=[0], keepdims=True), c.const(1, "int64"))
    rows = c.full(c.const(1, c.dtype), this.shape) if weights is None else c.cast(weights, c.dtype)
    empty = c.call("dyn.full", c.const(0, c.dtype), count)
    return c.call("scatter_nd", empty, c.call("expand_dims", place, axis=0), rows, mode="add")


@converter("aten.unique_consecutive.default")
def _unique_consecutive(c: Context, this: Value, dim: Any) -> Any:
    if dim is not None and this.rank != 1:
        raise NotImplementedError("consecutive rows that are equal")
    flat = c.call("reshape", this, newshape=[-1])
    size = c.size(flat, 0)
    one, zero = c.const(1, "int64"), c.const(0, "int64")
    along = c.call("arange", zero, size, one, dtype="int64")
    before = c.call("take", flat, c.call("maximum", c.call("subtract", along, one), zero), axis=0)
    new = c.call("logical_or", c.call("equal", along, zero), c.call("not_equal", flat, before))
    starts = c.call("squeeze", c.call("argwhere", new, dtype="int64"), axis=[1])
    inverse = c.call("subtract", c.call("cumsum", c.call("cast", new, dtype="int64"), axis=0), one)
    ends = c.call("concatenate", [starts, c.call("reshape", size, newshape=[1])], axis=0)
    counts = c.call("subtract", c.call("strided_slice", ends, begin=[1], end=[2**31 - 1], strides=[1], axes=[0]), starts)
    return c.call("take", flat, starts, axis=0), c.reshape(inverse, this.shape), counts
