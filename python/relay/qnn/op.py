"""Operators on quantised numbers."""

from __future__ import annotations

from .._core import Expr, call_op
from ..expr import as_expr, const
from ..op._common import DTypeLike, ExprLike
from ..op.generated.qnn import *  # noqa: F403
from ..op.generated.qnn import __all__ as _generated
from ..op.generated.qnn import batch_matmul as _generated_batch_matmul

__all__ = _generated + ["simulated_dequantize", "simulated_quantize"]


def batch_matmul(
    x: ExprLike,
    y: ExprLike,
    x_zero_point: ExprLike,
    y_zero_point: ExprLike,
    x_scale: ExprLike,
    y_scale: ExprLike,
    out_dtype: DTypeLike | None = "int32",
    *,
    transpose_a: bool = False,
    transpose_b: bool = True,
) -> Expr:
    """nn.batch_matmul of integers less their zero points; as there, the second operand is (batch, columns, inner) by default.

    Args:
        x: Integers (batch, rows, inner).
        y: Integers (batch, columns, inner).
        x_zero_point: Zero point of x: a scalar.
        y_zero_point: Zero point of y: a scalar.
        x_scale: Scale of x: a scalar. The sums do not depend on it.
        y_scale: Scale of y: a scalar.
        out_dtype: Dtype of the products' sum and of the result; the data's by default.
        transpose_a: The first operand is stored transposed.
        transpose_b: The second operand is stored transposed.
    """
    return _generated_batch_matmul(
        x, y, x_zero_point, y_zero_point, x_scale, y_scale, out_dtype, transpose_a=transpose_a, transpose_b=transpose_b
    )


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
