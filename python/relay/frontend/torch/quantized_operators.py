"""Operators on quantised tensors: those that exported programs have for them, and those that scripts of quantised models become.

A quantised tensor is its integers. Its scale and zero point are arguments of the operators.
"""

from __future__ import annotations

from typing import Any, Sequence

import torch

from ..._core import Expr
from ...expr import const
from .context import Context, Value, dtype_of
from .registry import converter

__all__ = ["RANGES"]

# The integers of a dtype: least and greatest.
RANGES = {
    torch.uint8: (0, 255), torch.int8: (-128, 127), torch.uint16: (0, 2**16 - 1), torch.int16: (-(2**15), 2**15 - 1),
    torch.int32: (-(2**31), 2**31 - 1),
}  # fmt: skip

_OF_WEIGHT = "Tensor data, float scale, int zero_point, Tensor weight, float[] weight_scales, int[] weight_zero_points, Tensor? bias, "
_OF_RESULT = "float output_scale, int output_zero_point, ScalarType dtype, bool relu"

_library = torch.library.Library("relay_quantized", "FRAGMENT")
_library.define(f"linear({_OF_WEIGHT}{_OF_RESULT}) -> Tensor")
_library.define(f"conv({_OF_WEIGHT}int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, {_OF_RESULT}) -> Tensor")
_library.define("product(Tensor data, Tensor zero_point, Tensor weight, float[] weight_scales, int[] weight_zero_points) -> Tensor")
_library.define("binary(str name, Tensor a, float a_scale, int a_zero_point, Tensor b, float b_scale, int b_zero_point, "
                "float output_scale, int output_zero_point) -> Tensor")  # fmt: skip


@torch.library.register_fake("relay_quantized::linear", lib=_library)
def _fake_linear(data: Any, scale: Any, zero_point: Any, weight: Any, weight_scales: Any, weight_zero_points: Any, bias: Any, output_scale: Any,
                 output_zero_point: Any, dtype: Any, relu: Any) -> Any:  # fmt: skip
    return torch.nn.functional.linear(data.float(), weight.float()).to(dtype)


@torch.library.register_fake("relay_quantized::conv", lib=_library)
def _fake_conv(data: Any, scale: Any, zero_point: Any, weight: Any, weight_scales: Any, weight_zero_points: Any, bias: Any, stride: Any, padding: Any,
               dilation: Any, transposed: Any, output_padding: Any, groups: Any, output_scale: Any, output_zero_point: Any, dtype: Any,
               relu: Any) -> Any:  # fmt: skip
    made = torch.convolution(data.float(), weight.float(), None, stride, padding, dilation, transposed, output_padding, groups)
    return made.to(dtype)


@torch.library.register_fake("relay_quantized::product", lib=_library)
def _fake_product(data: Any, zero_point: Any, weight: Any, weight_scales: Any, weight_zero_points: Any) -> Any:
    return torch.nn.functional.linear(data.float(), weight.float()).to(torch.int32)


@torch.library.register_fake("relay_quantized::binary", lib=_library)
def _fake_binary(name: Any, a: Any, a_scale: Any, a_zero_point: Any, b: Any, b_scale: Any, b_zero_point: Any, output_scale: Any,
                 output_zero_point: Any) -> Any:  # fmt: skip
    return torch.add(a, b)


def _scale(*scales: float) -> Expr:
    return const(scales[0] if len(scales) == 1 else list(scales), "float32")


def _zero(*zeros: int) -> Expr:
    return const(zeros[0] if len(zeros) == 1 or not any(zeros) else list(zeros), "int32")


def _weight(c: Context, weight: Value, scales: Sequence[float], zeros: Sequence[int], axis: int = 0) -> Expr:
    """The integers of a weight, which is given as them or as what they stand for."""
    if not weight.floating:
        return weight.expr
    return c.call("qnn.quantize", weight, _scale(*scales), _zeros(zeros, scales), axis=axis, out_dtype="int8")


def _zeros(zeros: Sequence[int], scales: Sequence[float]) -> Expr:
    """Zero points beside scales: as many as these."""
    return _zero(*zeros) if len(scales) == 1 else const(list(zeros), "int32")


def _finished(c: Context, sums: Expr, bias: Any, scales: Sequence[float], output_scale: float, output_zero_point: int, dtype: Any,
              relu: bool) -> Expr:  # fmt: skip
    """Sums of products with the bias in the scale of the result, not below 0 if `relu`."""
    if bias is not None:
        sums = c.call("nn.bias_add", sums, c.call("qnn.quantize", bias, _scale(*scales), _zeros([0] * len(scales), scales), axis=0, out_dtype="int32"), axis=1)
    made = c.call("qnn.requantize", sums, _scale(*scales), _zero(0), _scale(output_scale), _zero(output_zero_point), axis=1, out_dtype="int32")
    least, greatest = RANGES[dtype]
    least = max(least, output_zero_point) if relu else least
    return c.call("cast", c.call("clip", made, a_min=float(least), a_max=float(greatest)), dtype=dtype_of(dtype))


@converter("relay_quantized.conv.default")
def _conv(c: Context, data: Value, scale: float, zero_point: int, weight: Value, weight_scales: Any, weight_zero_points: Any, bias: Any, stride: Any,
          padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int, output_scale: float, output_zero_point: int, dtype: Any,
          relu: bool) -> Any:  # fmt: skip
    integers = _weight(c, weight, weight_scales, weight_zero_points)
    given = (data, integers, _zero(zero_point), _zero(*weight_zero_points), _scale(scale), _scale(*weight_scales))
    attrs = {"strides": list(stride), "padding": list(padding) * 2, "dilation": list(dilation), "groups": groups, "kernel_size": weight.shape[2:],
             "data_layout": "NCHW", "out_dtype": "int32"}  # fmt: skip
    if transposed:
        attrs |= {"channels": weight.shape[1] * groups, "kernel_layout": "IOHW", "output_padding": list(output_padding)}
        sums = c.call("qnn.conv2d_transpose", *given, **attrs)
    else:
        sums = c.call("qnn.conv2d", *given, **attrs, channels=weight.shape[0], kernel_layout="OIHW")
    return _finished(c, sums, bias, [scale * each for each in weight_scales], output_scale, output_zero_point, dtype, relu)


def _product(c: Context, data: Value, zero_point: Any, scale: Any, weight: Value, weight_scales: Any, weight_zero_points: Any) -> Expr:
    """Sums of the product with a weight whose rows are outputs, with two axes."""
    rows = data.expr if data.rank == 2 else c.call("reshape", data, newshape=[-1, weight.shape[1]])
    integers = _weight(c, weight, weight_scales, weight_zero_points)
    return c.call("qnn.dense", rows, integers, zero_point, _zero(*weight_zero_points), scale, _scale(*weight_scales), units=weight.shape[0],
                  out_dtype="int32")  # fmt: skip


@converter("relay_quantized.linear.default")
def _linear(c: Context, data: Value, scale: float, zero_point: int, weight: Value, weight_scales: Any, weight_zero_points: Any, bias: Any,
            output_scale: float, output_zero_point: int, dtype: Any, relu: bool) -> Any:  # fmt: skip
    sums = _product(c, data, _zero(zero_point), _scale(scale), weight, weight_scales, weight_zero_points)
    made = _finished(c, sums, bias, [scale * each for each in weight_scales], output_scale, output_zero_point, dtype, relu)
    return made if data.rank == 2 else c.reshape(made, c.out.shape)


@converter("relay_quantized.product.default")
def _dynamic(c: Context, data: Value, zero_point: Value, weight: Value, weight_scales: Any, weight_zero_points: Any) -> Any:
    zero = c.call("reshape", c.cast(zero_point, "int32"), newshape=[])
    sums = _product(c, data, zero, _scale(1.0), weight, weight_scales, weight_zero_points)
    return sums if data.rank == 2 else c.reshape(sums, c.out.shape)


@converter("relay_quantized.binary.default")
def _binary(c: Context, name: str, a: Value, a_scale: float, a_zero_point: int, b: Value, b_scale: float, b_zero_point: int, output_scale: float,
            output_zero_point: int) -> Any:  # fmt: skip
    return c.call(f"qnn.{name}", a, b, _scale(a_scale), _zero(a_zero_point), _scale(b_scale), _zero(b_zero_point), _scale(output_scale),
                  _zero(output_zero_point))  # fmt: skip


# Operators of exported programs

def _read(c: Context, value: Any, dtype: str, vector: bool = False) -> Expr:
    """A scale or zero point as Relay's operators take it: a scalar, or a vector along an axis."""
    if not isinstance(value, Value):
        return const(value, dtype)
    cast = c.cast(value, dtype)
    return cast if vector or value.rank == 0 else c.call("reshape", cast, newshape=[])


def _quantized(c: Context, input: Value, scale: Expr, zero: Expr, axis: int, quant_min: Any, quant_max: Any, dtype: Any) -> Any:  # noqa: A002
    if dtype not in RANGES:
        raise NotImplementedError(f"quantised tensors of {dtype} are not supported")
    made = c.call("qnn.quantize", c.cast(input, "float32"), scale, zero, axis=axis, out_dtype=dtype_of(dtype))
    least, greatest = RANGES[dtype]
    if quant_min <= least and quant_max >= greatest:
        return made
    return c.call("clip", made, a_min=float(max(quant_min, least)), a_max=float(min(quant_max, greatest)))


def _dequantized(c: Context, input: Value, scale: Expr, zero: Expr, axis: int) -> Any:  # noqa: A002
    made = c.call("qnn.dequantize", input, scale, zero, axis=axis)
    return made if c.dtype == "float32" else c.call("cast", made, dtype=c.dtype)


@converter("quantized_decomposed.quantize_per_tensor.default", "quantized_decomposed.quantize_per_tensor.tensor")
def _quantize_per_tensor(c: Context, input: Value, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: Any) -> Any:  # noqa: A002
    return _quantized(c, input, _read(c, scale, "float32"), _read(c, zero_point, "int32"), -1, quant_min, quant_max, dtype)


@converter("quantized_decomposed.dequantize_per_tensor.default", "quantized_decomposed.dequantize_per_tensor.tensor")
def _dequantize_per_tensor(c: Context, input: Value, scale: Any, zero_point: Any) -> Any:  # noqa: A002
    return _dequantized(c, input, _read(c, scale, "float32"), _read(c, zero_point, "int32"), -1)


@converter("quantized_decomposed.quantize_per_channel.default")
def _quantize_per_channel(c: Context, input: Value, scales: Value, zero_points: Value, axis: int, quant_min: int, quant_max: int,  # noqa: A002
                          dtype: Any) -> Any:  # fmt: skip
    given = _read(c, scales, "float32", True), _read(c, zero_points, "int32", True)
    return _quantized(c, input, *given, input.axis(axis), quant_min, quant_max, dtype)


@converter("quantized_decomposed.dequantize_per_channel.default")
def _dequantize_per_channel(c: Context, input: Value, scales: Value, zero_points: Any, axis: int) -> Any:  # noqa: A002
    zeros = c.call("zeros_like", c.cast(scales, "int32")) if zero_points is None else _read(c, zero_points, "int32", True)
    return _dequantized(c, input, _read(c, scales, "float32", True), zeros, input.axis(axis))


@converter("quantized_decomposed.choose_qparams.tensor")
def _choose_qparams(c: Context, input: Value, quant_min: int, quant_max: int, eps: float) -> Any:  # noqa: A002
    """The scale that puts all values and 0 into the range, and the zero point for it."""
    data = c.cast(input, "float32")
    zero = c.const(0, "float32")
    least, greatest = c.call("minimum", c.call("min", data), zero), c.call("maximum", c.call("max", data), zero)
    scale = c.call("divide", c.call("subtract", greatest, least), c.const(quant_max - quant_min, "float32"))
    scale = c.call("maximum", scale, c.const(eps, "float32"))
    point = c.call("subtract", c.const(quant_min, "float32"), c.call("round", c.call("divide", least, scale)))
    point = c.call("clip", point, a_min=float(quant_min), a_max=float(quant_max))
    return [c.call("reshape", c.call("cast", each, dtype=dtype), newshape=[1]) for each, dtype in ((scale, "float64"), (point, "int64"))]
