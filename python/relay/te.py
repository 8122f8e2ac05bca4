"""Tensor expressions: what `compute` functions of operators are written with.

    def softplus(b, x, *, scale):
        return b.map(x.shape, lambda *i: te.log(1 + te.exp(x[i] * scale)))

A function gets a `Builder` and the inputs as tensors. `b.map` makes a tensor of a function of indices; `b.sum` and its like reduce;
`b.scan` is a recurrence, `b.update` a scatter. Scalars have Python's operators; what they lack is here. `docs/operators-from-python.md`
has examples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

from . import _core
from ._core import Builder, Scalar, TensorExpr

if TYPE_CHECKING:
    from ._core import Dim

    Number = Union[Scalar, Dim, float]
else:
    Number = Any

__all__ = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "bitcast", "Builder", "cast", "ceil", "const", "cos", "cosh", "erf", "exp",
    "fail_unless", "floor", "fmod", "isfinite", "isinf", "isnan", "log", "log10", "log2", "max", "max_value", "min", "min_value", "power",
    "round", "rsqrt", "Scalar", "select", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "TensorExpr", "trunc", "truncdiv",
]  # fmt: skip


def const(value: float, dtype: Any = None) -> Scalar:
    """A number as a scalar. Without a dtype integers are int64, floats float32, truth values bool."""
    return _core.te_const(value, dtype)


def min_value(dtype: Any) -> Scalar:
    """The lowest value: minus infinity of floats."""
    return _core.te_limit(dtype, False)


def max_value(dtype: Any) -> Scalar:
    """The highest value: infinity of floats."""
    return _core.te_limit(dtype, True)


def cast(x: Number, dtype: Any) -> Scalar:
    """The value in another dtype, as in C: floats are cut off towards zero, integers wrap, all but zero is true."""
    return _core.te_cast(x, dtype)


def bitcast(x: Number, dtype: Any) -> Scalar:
    """The same bits as another dtype of the same width."""
    return _core.te_bitcast(x, dtype)


def select(condition: Number, x: Number, y: Number) -> Scalar:
    """x where the condition holds, else y. The other one is not computed: it may read outside of a tensor."""
    return _core.te_select(condition, x, y)


def fail_unless(condition: Number, value: Number, message: str) -> Scalar:
    """The value; where the condition does not hold the program ends with an error that says the message."""
    return _core.te_fail_unless(condition, value, message)


def min(x: Number, y: Number) -> Scalar:
    """The lesser; not-a-number if either is."""
    return _core.te_binary("min", x, y)


def max(x: Number, y: Number) -> Scalar:
    """The greater; not-a-number if either is."""
    return _core.te_binary("max", x, y)


def power(x: Number, y: Number) -> Scalar:
    """x ** y."""
    return _core.te_binary("pow", x, y)


def atan2(x: Number, y: Number) -> Scalar:
    """The angle of the point (y, x), in radians."""
    return _core.te_binary("atan2", x, y)


def truncdiv(x: Number, y: Number) -> Scalar:
    """The quotient of integers, cut off towards zero; `//` rounds down."""
    return _core.te_binary("div", x, y)


def fmod(x: Number, y: Number) -> Scalar:
    """The remainder with the sign of x; `%` has that of y."""
    return _core.te_binary("mod", x, y)


def abs(x: Number) -> Scalar:
    """The absolute value."""
    return _core.te_unary("abs", x)


def sign(x: Number) -> Scalar:
    """-1, 0 or 1."""
    return _core.te_unary("sign", x)


def exp(x: Number) -> Scalar:
    """e to the power of x."""
    return _core.te_unary("exp", x)


def log(x: Number) -> Scalar:
    """The natural logarithm."""
    return _core.te_unary("log", x)


def log2(x: Number) -> Scalar:
    """The logarithm to base 2."""
    return _core.te_unary("log2", x)


def log10(x: Number) -> Scalar:
    """The logarithm to base 10."""
    return _core.te_unary("log10", x)


def sqrt(x: Number) -> Scalar:
    """The square root."""
    return _core.te_unary("sqrt", x)


def rsqrt(x: Number) -> Scalar:
    """1 / sqrt(x)."""
    return _core.te_unary("rsqrt", x)


def erf(x: Number) -> Scalar:
    """The error function."""
    return _core.te_unary("erf", x)


def sigmoid(x: Number) -> Scalar:
    """1 / (1 + exp(-x))."""
    return _core.te_unary("sigmoid", x)


def sin(x: Number) -> Scalar:
    """The sine."""
    return _core.te_unary("sin", x)


def cos(x: Number) -> Scalar:
    """The cosine."""
    return _core.te_unary("cos", x)


def tan(x: Number) -> Scalar:
    """The tangent."""
    return _core.te_unary("tan", x)


def asin(x: Number) -> Scalar:
    """The inverse sine."""
    return _core.te_unary("asin", x)


def acos(x: Number) -> Scalar:
    """The inverse cosine."""
    return _core.te_unary("acos", x)


def atan(x: Number) -> Scalar:
    """The inverse tangent."""
    return _core.te_unary("atan", x)


def sinh(x: Number) -> Scalar:
    """The hyperbolic sine."""
    return _core.te_unary("sinh", x)


def cosh(x: Number) -> Scalar:
    """The hyperbolic cosine."""
    return _core.te_unary("cosh", x)


def tanh(x: Number) -> Scalar:
    """The hyperbolic tangent."""
    return _core.te_unary("tanh", x)


def asinh(x: Number) -> Scalar:
    """The inverse hyperbolic sine."""
    return _core.te_unary("asinh", x)


def acosh(x: Number) -> Scalar:
    """The inverse hyperbolic cosine."""
    return _core.te_unary("acosh", x)


def atanh(x: Number) -> Scalar:
    """The inverse hyperbolic tangent."""
    return _core.te_unary("atanh", x)


def floor(x: Number) -> Scalar:
    """Rounds down."""
    return _core.te_unary("floor", x)


def ceil(x: Number) -> Scalar:
    """Rounds up."""
    return _core.te_unary("ceil", x)


def round(x: Number) -> Scalar:
    """The nearest integer, halves away from zero."""
    return _core.te_unary("round", x)


def trunc(x: Number) -> Scalar:
    """Cuts off towards zero."""
    return _core.te_unary("trunc", x)


def isnan(x: Number) -> Scalar:
    """True if it is not a number."""
    return _core.te_unary("isnan", x)


def isinf(x: Number) -> Scalar:
    """True if it is infinite."""
    return _core.te_unary("isinf", x)


def isfinite(x: Number) -> Scalar:
    """True if it is neither infinite nor not-a-number."""
    return _core.te_unary("isfinite", x)
