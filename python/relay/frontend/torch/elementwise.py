"""Elementwise operators. The dtype of an operation is that of PyTorch's result, or of its promotion for comparisons."""

from __future__ import annotations

import math
from typing import Any

from .complexes import Complex, magnitude, real_meta
from .context import Context, Value, dtype_of
from .registry import converter

__all__: list[str] = []


def _unary(*names: str) -> None:
    for name in names:
        theirs, _, ours = name.partition("=")
        converter(f"aten.{theirs}.default")(_one(ours or theirs))


def _one(ours: str) -> Any:
    def one(c: Context, this: Value) -> Any:
        return c.call(ours, c.cast(this, c.dtype))

    return one


_unary("acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "floor", "log", "log2", "log10",
       "neg=negative", "reciprocal", "round", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "relu=nn.relu",
       "bitwise_not")  # fmt: skip


@converter("aten.abs.default")
def _abs(c: Context, this: Value) -> Any:
    return magnitude(c, this) if isinstance(this, Complex) else c.call("abs", c.cast(this, c.dtype))


@converter("aten.angle.default")
def _angle(c: Context, this: Value) -> Any:
    if isinstance(this, Complex):
        return _atan2(c, this.im, this.re)
    x = c.cast(this, c.dtype)
    turned = c.call("where", c.call("less", x, c.const(0, c.dtype)), c.const(math.pi, c.dtype), c.const(0, c.dtype))
    return c.call("where", c.call("isnan", x), x, turned)


@converter("aten.exp.default")
def _exp(c: Context, this: Value) -> Any:
    if not isinstance(this, Complex):
        return c.call("exp", c.cast(this, c.dtype))
    grown = c.call("exp", this.re)
    return Complex(*(c.call("multiply", grown, c.call(name, this.im)) for name in ("cos", "sin")))


@converter("aten.sign.default")
def _sign(c: Context, this: Value) -> Any:
    return this if this.dtype == "bool" else c.call("sign", this)


def _pairs(table: dict[str, str]) -> None:
    for theirs, ours in table.items():
        converter(f"aten.{theirs}")(_pair(ours))


def _pair(ours: str) -> Any:
    def two(c: Context, this: Any, other: Any) -> Any:
        return c.call(ours, c.operand(this, c.dtype), c.operand(other, c.dtype))

    return two


_pairs({"mul": "multiply", "maximum": "maximum", "minimum": "minimum", "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or",
        "bitwise_xor": "bitwise_xor", "fmod": "trunc_mod", "remainder": "floor_mod"})  # fmt: skip


def _comparisons(table: dict[str, str]) -> None:
    for theirs, ours in table.items():
        converter(f"aten.{theirs}")(_comparison(ours))


def _comparison(ours: str) -> Any:
    def compare(c: Context, this: Any, other: Any) -> Any:
        dtype = c.common(this, other)
        return c.call(ours, c.operand(this, dtype), c.operand(other, dtype))

    return compare


_comparisons({"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"})


def _logical(table: dict[str, str]) -> None:
    for theirs, ours in table.items():
        converter(f"aten.{theirs}")(_on_bools(ours))


def _on_bools(ours: str) -> Any:
    def logical(c: Context, this: Any, other: Any) -> Any:
        return c.call(ours, truth(c, this), truth(c, other))

    return logical


def truth(c: Context, value: Any) -> Any:
    """True where an element is not zero."""
    if value.dtype == "bool":
        return value.expr
    return c.call("not_equal", value.expr, c.const(0, value.dtype))


_logical({"logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor"})


@converter("aten.logical_not.default")
def _logical_not(c: Context, this: Value) -> Any:
    return c.call("logical_not", truth(c, this))


@converter("aten.add")
def _add(c: Context, this: Any, other: Any, alpha: Any) -> Any:
    return c.call("add", c.operand(this, c.dtype), _scaled(c, other, alpha))


@converter("aten.sub")
def _sub(c: Context, this: Any, other: Any, alpha: Any) -> Any:
    return c.call("subtract", c.operand(this, c.dtype), _scaled(c, other, alpha))


def _scaled(c: Context, other: Any, alpha: Any) -> Any:
    value = c.operand(other, c.dtype)
    return value if alpha in (1, None) else c.call("multiply", value, c.const(alpha, c.dtype))


@converter("aten.div")
def _div(c: Context, this: Any, other: Any, rounding_mode: Any) -> Any:
    a, b = c.operand(this, c.dtype), c.operand(other, c.dtype)
    if rounding_mode is None:
        return c.call("divide", a, b)
    return c.call("floor_divide" if rounding_mode == "floor" else "trunc_divide", a, b)


@converter("aten.floor_divide")
def _floor_divide(c: Context, this: Any, other: Any) -> Any:
    return _div(c, this, other, "floor")


@converter("aten.pow")
def _pow(c: Context, this: Any, exponent: Any) -> Any:
    if isinstance(this, Complex) and exponent == 2:
        double = c.call("multiply", c.const(2, this.re.dtype), c.call("multiply", this.re, this.im))
        return Complex(c.call("subtract", c.call("multiply", this.re, this.re), c.call("multiply", this.im, this.im)), double)
    base = c.operand(this, c.dtype)
    if exponent == 2 and isinstance(this, Value):
        return c.call("multiply", base, base)
    return c.call("power", base, c.operand(exponent, c.dtype))


@converter("aten.expm1.default")
def _expm1(c: Context, this: Value) -> Any:
    # tanh(x/2) (exp(x) + 1) keeps the digits of small x; large ones overflow in it alone.
    x = c.cast(this, c.dtype)
    one = c.const(1, c.dtype)
    near = c.call("multiply", c.call("tanh", c.call("multiply", x, c.const(0.5, c.dtype))), c.call("add", c.call("exp", x), one))
    return c.call("where", c.call("less", c.call("abs", x), one), near, c.call("subtract", c.call("exp", x), one))


@converter("aten.log1p.default")
def _log1p(c: Context, this: Value) -> Any:
    # log(u) x / (u - 1) with u = 1 + x, which takes back what rounding u loses.
    x = c.cast(this, c.dtype)
    one = c.const(1, c.dtype)
    u = c.call("add", x, one)
    kept = c.call("divide", c.call("multiply", c.call("log", u), x), c.call("subtract", u, one))
    near = c.call("where", c.call("equal", u, one), x, kept)
    return c.call("where", c.call("less", c.call("abs", x), one), near, c.call("log", u))


@converter("aten.atan2.default")
def _atan2(c: Context, this: Value, other: Value) -> Any:
    y, x = c.cast(this, c.dtype), c.cast(other, c.dtype)
    zero, pi = c.const(0, c.dtype), c.const(math.pi, c.dtype)
    steep = c.call("equal", x, zero)
    angle = c.call("atan", c.call("divide", y, c.call("where", steep, c.const(1, c.dtype), x)))
    turned = c.call("where", c.call("less", y, zero), c.call("subtract", angle, pi), c.call("add", angle, pi))
    flat = c.call("where", c.call("less", x, zero), turned, angle)
    return c.call("where", steep, c.call("multiply", c.call("sign", y), c.const(math.pi / 2, c.dtype)), flat)


@converter("aten.isnan.default")
def _isnan(c: Context, this: Value) -> Any:
    return c.call("isnan", this) if this.floating else c.call("zeros_like", c.call("cast", this, dtype="bool"))


@converter("aten.isinf.default")
def _isinf(c: Context, this: Value) -> Any:
    return c.call("isinf", this) if this.floating else c.call("zeros_like", c.call("cast", this, dtype="bool"))


@converter("aten.where.self")
def _where(c: Context, condition: Value, this: Any, other: Any) -> Any:
    return c.call("where", truth(c, condition), c.operand(this, c.dtype), c.operand(other, c.dtype))


@converter("aten.clamp", "aten.hardtanh.default")
def _clamp(c: Context, this: Value, min: Any, max: Any, min_val: Any, max_val: Any) -> Any:  # noqa: A002 (names of the schema)
    result = c.cast(this, c.dtype)
    low, high = (min_val, max_val) if min_val is not None else (min, max)
    if low is not None:
        result = c.call("maximum", result, c.operand(low, c.dtype))
    return result if high is None else c.call("minimum", result, c.operand(high, c.dtype))


@converter("aten.gelu.default")
def _gelu(c: Context, this: Value, approximate: str) -> Any:
    return c.call("nn.gelu", this, approximate=approximate)


@converter("aten.silu.default")
def _silu(c: Context, this: Value) -> Any:
    return c.call("nn.silu", this)


@converter("aten.hardswish.default")
def _hardswish(c: Context, this: Value) -> Any:
    return c.call("hardswish", this)


@converter("aten.leaky_relu.default")
def _leaky_relu(c: Context, this: Value, negative_slope: Any) -> Any:
    x = this.expr
    return c.call("where", c.call("greater", x, c.const(0, c.dtype)), x, c.call("multiply", x, c.const(negative_slope, c.dtype)))


@converter("aten.elu.default")
def _elu(c: Context, this: Value, alpha: Any, scale: Any, input_scale: Any) -> Any:
    inner = c.call("multiply", this, c.const(input_scale, c.dtype))
    low = c.call("multiply", c.call("subtract", c.call("exp", inner), c.const(1, c.dtype)), c.const(alpha, c.dtype))
    picked = c.call("where", c.call("greater", this, c.const(0, c.dtype)), this.expr, low)
    return c.call("multiply", picked, c.const(scale, c.dtype))


@converter("aten._to_copy.default", "prims.convert_element_type.default")
def _to_copy(c: Context, this: Value, a: Any) -> Any:
    value = this if this is not None else a
    if c.complex:
        to = dtype_of(real_meta(c.out).dtype)
        re, im = (value.re, value.im) if isinstance(value, Complex) else (value, None)
        return Complex(c.cast(re, to), c.full(c.const(0, to), value.shape) if im is None else c.cast(im, to))
    return truth(c, value) if c.dtype == "bool" else c.cast(value, c.dtype)


@converter("aten.clone.default", "aten.alias.default", "aten.detach.default", "aten.lift_fresh_copy.default")
def _same(c: Context, this: Value) -> Any:
    return this


@converter("aten.copy.default")
def _copy(c: Context, src: Value) -> Any:
    return c.broadcast(c.cast(src, c.dtype), list(c.out.shape))
