"""Operators on quantised numbers."""

from __future__ import annotations

from .._core import Expr, call_op
from ..expr import as_expr, const
from ..op._common import ExprLike
from ..op.generated import qnn as _generated
from ..op.generated.qnn import *  # noqa: F403

__all__ = ["simulated_dequantize", "simulated_quantize"]
__all__ += _generated.__all__

# How the dtype of simulated numbers is said in a tensor.
SQNN_DTYPE_TO_CODE = {"disable": 0, "int8": 1, "uint8": 2, "int32": 3}


def _code(dtype: ExprLike | str) -> Expr:
    if not isinstance(dtype, str):
        return as_expr(dtype)
    if dtype not in SQNN_DTYPE_TO_CODE:
        raise ValueError(f"{dtype} is not among {', '.join(SQNN_DTYPE_TO_CODE)}")
    return const(SQNN_DTYPE_TO_CODE[dtype], "int32")


def simulated_quantize(
    data: ExprLike, output_scale: ExprLike, output_zero_point: ExprLike, axis: int = -1, out_dtype: ExprLike | str = "int8"
) -> Expr:
    """Rounds floats to numbers of a quantised dtype, which stay floats.

    Args:
        data: Tensor of floats.
        output_scale: Scalar, or a scale for each entry of the axis.
        output_zero_point: Scalar, or one for each entry of the axis.
        axis: Axis of the scales.
        out_dtype: The dtype that is simulated, by name, or an expression of its code.
    """
    return call_op("qnn.simulated_quantize", data, _code(out_dtype), output_scale, output_zero_point, axis=axis)


def simulated_dequantize(
    data: ExprLike, input_scale: ExprLike, input_zero_point: ExprLike, axis: int = -1, in_dtype: ExprLike | str = "int8"
) -> Expr:
    """Floats of numbers that `simulated_quantize` made; the arguments are the same."""
    return call_op("qnn.simulated_dequantize", data, _code(in_dtype), input_scale, input_zero_point, axis=axis)
