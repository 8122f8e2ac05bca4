"""Functions of each element."""

from __future__ import annotations

import math

from ._common import Any, cast, common, emit, floating, lift, operands, operation, scalar_like

__all__ = [
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "ceil", "clip", "conj", "copysign", "cos", "cosh", "divide", "equal", "erf", "exp", "expm1", "floor", "floor_divide",
    "greater", "greater_equal", "hypot", "isfinite", "isinf", "isnan", "less", "less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logical_and",
    "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative", "nextafter", "not_equal", "positive", "pow", "real", "reciprocal",
    "relu", "remainder", "round", "sigmoid", "sign", "signbit", "sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "trunc",
]  # fmt: skip


def _float_function(name: str, doc: str) -> Any:
    def fn(x: Any, /) -> Any:
        value = floating(x)
        return emit(name, value, weak=value.weak)

    fn.__name__ = name
    fn.__doc__ = doc + " Integers become float32."
    return operation(fn)


acos = _float_function("acos", "The inverse cosine.")
acosh = _float_function("acosh", "The inverse hyperbolic cosine.")
asin = _float_function("asin", "The inverse sine.")
asinh = _float_function("asinh", "The inverse hyperbolic sine.")
atan = _float_function("atan", "The inverse tangent.")
atanh = _float_function("atanh", "The inverse hyperbolic tangent.")
cos = _float_function("cos", "The cosine.")
cosh = _float_function("cosh", "The hyperbolic cosine.")
erf = _float_function("erf", "The error function.")
exp = _float_function("exp", "e to the power of x.")
log = _float_function("log", "The natural logarithm.")
log10 = _float_function("log10", "The logarithm to base 10.")
log2 = _float_function("log2", "The logarithm to base 2.")
sigmoid = _float_function("sigmoid", "1 / (1 + exp(-x)).")
sin = _float_function("sin", "The sine.")
sinh = _float_function("sinh", "The hyperbolic sine.")
sqrt = _float_function("sqrt", "The square root.")
tan = _float_function("tan", "The tangent.")
tanh = _float_function("tanh", "The hyperbolic tangent.")


def _binary_function(name: str, operator: str, doc: str) -> Any:
    def fn(x1: Any, x2: Any, /) -> Any:
        (a, b), weak = operands(x1, x2)
        return emit(operator, a, b, weak=weak)

    fn.__name__ = name
    fn.__doc__ = doc
    return operation(fn, numbers=True)


def _arithmetic(name: str, operator: str, doc: str) -> Any:
    def fn(x1: Any, x2: Any, /) -> Any:
        (a, b), weak = operands(x1, x2)
        if a.dtype == "bool":
            raise TypeError(f"{name} is of numbers, not of bool: use logical_and, logical_or and logical_xor, or astype")
        return emit(operator, a, b, weak=weak)

    fn.__name__ = name
    fn.__doc__ = doc
    return operation(fn, numbers=True)


add = _arithmetic("add", "add", "The sum; integers wrap.")
subtract = _arithmetic("subtract", "subtract", "The difference; integers wrap.")
multiply = _arithmetic("multiply", "multiply", "The product; integers wrap.")
equal = _binary_function("equal", "equal", "True where elements are equal.")
not_equal = _binary_function("not_equal", "not_equal", "True where elements differ.")
less = _binary_function("less", "less", "True where the first is less.")
less_equal = _binary_function("less_equal", "less_equal", "True where the first is not greater.")
greater = _binary_function("greater", "greater", "True where the first is greater.")
greater_equal = _binary_function("greater_equal", "greater_equal", "True where the first is not less.")
maximum = _binary_function("maximum", "maximum", "The greater one; not-a-number if either is.")
minimum = _binary_function("minimum", "minimum", "The lesser one; not-a-number if either is.")


def _on_bits(name: str, operator: str, doc: str, bool_too: bool) -> Any:
    def fn(x1: Any, x2: Any, /) -> Any:
        (a, b), weak = operands(x1, x2)
        if a.dtype.kind == "float" or (a.dtype.kind == "bool" and not bool_too):
            raise TypeError(f"{name} is of integers{' and bool' if bool_too else ''}, not of {a.dtype}")
        return emit(operator, a, b, weak=weak)

    fn.__name__ = name
    fn.__doc__ = doc
    return operation(fn, numbers=True)


bitwise_and = _on_bits("bitwise_and", "bitwise_and", "And of the bits.", True)
bitwise_or = _on_bits("bitwise_or", "bitwise_or", "Or of the bits.", True)
bitwise_xor = _on_bits("bitwise_xor", "bitwise_xor", "Exclusive or of the bits.", True)


@operation
def bitwise_left_shift(x1: Any, x2: Any, /) -> Any:
    """Bits moved up. By as many places as there are bits, or more, nothing is left."""
    (a, b), weak = operands(x1, x2)
    _require_integers("bitwise_left_shift", a)
    inside = emit("less", b, scalar_like(b, a.dtype.bits))
    moved = emit("left_shift", a, emit("where", inside, b, scalar_like(b, 0)))
    return emit("where", inside, moved, scalar_like(a, 0), weak=weak)


@operation
def bitwise_right_shift(x1: Any, x2: Any, /) -> Any:
    """Bits moved down; the sign is kept."""
    (a, b), weak = operands(x1, x2)
    _require_integers("bitwise_right_shift", a)
    inside = emit("less", b, scalar_like(b, a.dtype.bits))
    if a.dtype.kind == "int":
        return emit("right_shift", a, emit("where", inside, b, scalar_like(b, a.dtype.bits - 1)), weak=weak)
    moved = emit("right_shift", a, emit("where", inside, b, scalar_like(b, 0)))
    return emit("where", inside, moved, scalar_like(a, 0), weak=weak)


def _require_integers(name: str, value: Any) -> None:
    if value.dtype.kind not in ("int", "uint"):
        raise TypeError(f"{name} is of integers, not of {value.dtype}")


@operation
def bitwise_invert(x: Any, /) -> Any:
    """All bits flipped."""
    value = lift(x)
    if value.dtype.kind == "float":
        raise TypeError(f"bitwise_invert is of integers and bool, not of {value.dtype}")
    if value.dtype == "bool":
        return emit("logical_not", value, weak=value.weak)
    return emit("bitwise_not", value, weak=value.weak)


def _logical(name: str, doc: str) -> Any:
    def fn(x1: Any, x2: Any, /) -> Any:
        return emit(name, truth(lift(x1)), truth(lift(x2)))

    fn.__name__ = name
    fn.__doc__ = doc + " Numbers other than 0 are true."
    return operation(fn)


def truth(value: Any) -> Any:
    """True for elements other than 0."""
    return value if value.dtype == "bool" else emit("not_equal", value, scalar_like(value, 0))


logical_and = _logical("logical_and", "And.")
logical_or = _logical("logical_or", "Or.")
logical_xor = _logical("logical_xor", "Exclusive or.")


@operation
def logical_not(x: Any, /) -> Any:
    """True for elements that are 0."""
    return emit("logical_not", truth(lift(x)))


def _divide(x1: Any, x2: Any, /) -> Any:
    """The quotient. Integers become float32."""
    (a, b), weak = operands(x1, x2)
    if a.dtype.kind != "float":
        a, b = floating(a), floating(b)
    return emit("divide", a, b, weak=weak)


_divide.__name__ = "divide"
divide = operation(_divide, numbers=True)


def _numbers(name: str, x1: Any, x2: Any) -> tuple[Any, Any, bool]:
    (a, b), weak = operands(x1, x2)
    if a.dtype == "bool":
        raise TypeError(f"{name} is of numbers, not of bool: use astype")
    return a, b, weak


def _floor_divide(x1: Any, x2: Any, /) -> Any:
    """The quotient rounded down; a quotient of 0 has the sign of the exact one. Division of integers by zero is an error of the run."""
    a, b, weak = _numbers("floor_divide", x1, x2)
    quotient = emit("floor_divide", a, b, weak=weak)
    if a.dtype.kind != "float":
        return quotient
    return emit("where", emit("equal", quotient, zero_like(a)), copysign(quotient, emit("divide", a, b)), quotient, weak=weak)


def _remainder(x1: Any, x2: Any, /) -> Any:
    """The rest that floor_divide leaves: it has the sign of the divisor, also if it is 0."""
    a, b, weak = _numbers("remainder", x1, x2)
    rest = emit("floor_mod", a, b, weak=weak)
    if a.dtype.kind != "float":
        return rest
    # A sum with +0 is +0 for either zero, and unlike the choice of a sign it leaves the gradient as it is.
    up = emit("add", rest, zero_like(a), weak=weak)
    down = emit("negative", emit("add", emit("negative", rest), zero_like(a)), weak=weak)
    return emit("where", signbit(b), down, up, weak=weak)


_floor_divide.__name__, _remainder.__name__ = "floor_divide", "remainder"
floor_divide = operation(_floor_divide, numbers=True)
remainder = operation(_remainder, numbers=True)


@operation
def pow(x1: Any, x2: Any, /) -> Any:  # noqa: A001
    """x1 to the power of x2. Integers stay integers, so their powers may not be negative."""
    base = lift(x1)
    if type(x2) is int and base.dtype.kind == "float" and 0 <= x2 <= 4:
        return _small_power(base, x2)
    (a, b), weak = operands(base, x2)
    if a.dtype == "bool":
        raise TypeError("pow is of numbers, not of bool")
    if type(x2) is int and x2 < 0 and a.dtype.kind != "float":
        raise ValueError(f"a power of {x2} of integers is no integer: use astype(relay.numpy.float32) first")
    return emit("power", a, b, weak=weak)


def _small_power(base: Any, exponent: int) -> Any:
    if exponent == 0:
        return emit("ones_like", base, weak=base.weak)
    if exponent == 1:
        return positive(base)
    squared = emit("multiply", base, base, weak=base.weak)
    return squared if exponent == 2 else emit("multiply", squared, base if exponent == 3 else squared, weak=base.weak)


@operation
def abs(x: Any, /) -> Any:  # noqa: A001
    """The value without its sign."""
    value = lift(x)
    return value if value.dtype.kind in ("uint", "bool") else emit("abs", value, weak=value.weak)


@operation
def negative(x: Any, /) -> Any:
    """The value with the other sign; unsigned integers wrap."""
    value = lift(x)
    if value.dtype == "bool":
        raise TypeError("negative is of numbers, not of bool: use logical_not")
    if value.dtype.kind == "uint":
        return emit("subtract", scalar_like(value, 0), value, weak=value.weak)
    return emit("negative", value, weak=value.weak)


@operation
def positive(x: Any, /) -> Any:
    """The value itself."""
    value = lift(x)
    return emit("copy", value, weak=value.weak)


def _rounding(name: str, doc: str) -> Any:
    def fn(x: Any, /) -> Any:
        value = lift(x)
        return emit(name if value.dtype.kind == "float" else "copy", value, weak=value.weak)

    fn.__name__ = name
    fn.__doc__ = doc
    return operation(fn)


ceil = _rounding("ceil", "The least integer that is not less.")
floor = _rounding("floor", "The greatest integer that is not greater.")
trunc = _rounding("trunc", "The integer next to it toward zero.")


@operation
def round(x: Any, decimals: int = 0, /) -> Any:  # noqa: A001
    """The nearest integer, of two the even one; with `decimals`, the nearest multiple of a power of ten."""
    value = lift(x)
    if value.dtype.kind != "float":
        return emit("copy", value, weak=value.weak)
    if decimals:
        factor = scalar_like(value, 10.0**decimals)
        return emit("divide", round(emit("multiply", value, factor)), factor, weak=value.weak)
    half = emit("equal", emit("abs", emit("subtract", value, emit("trunc", value))), scalar_like(value, 0.5))
    even = emit("multiply", emit("round", emit("divide", value, scalar_like(value, 2.0))), scalar_like(value, 2.0))
    return copysign(emit("where", half, even, emit("round", value), weak=value.weak), value)


@operation
def sign(x: Any, /) -> Any:
    """-1, 0 or 1; not-a-number stays."""
    value = lift(x)
    if value.dtype.kind != "float":
        return emit("sign", value, weak=value.weak)
    return emit("where", emit("isnan", value), value, emit("sign", value), weak=value.weak)


def _bits(value: Any) -> Any:
    return emit("reinterpret", value, dtype=f"int{value.dtype.bits}")


@operation
def signbit(x: Any, /) -> Any:
    """True for negative numbers, -0 among them."""
    value = floating(x)
    bits = _bits(value)
    return emit("less", bits, scalar_like(bits, 0))


@operation
def copysign(x1: Any, x2: Any, /) -> Any:
    """The size of the first with the sign of the second."""
    (a, b), weak = operands(floating(x1), floating(x2))
    size = emit("abs", a)
    return emit("where", signbit(b), emit("negative", size), size, weak=weak)


@operation
def nextafter(x1: Any, x2: Any, /) -> Any:
    """The number next to the first in the direction of the second."""
    (a, b), _ = operands(floating(x1), floating(x2))
    bits = _bits(a)
    one, zero = scalar_like(bits, 1), scalar_like(bits, 0)
    away = emit("equal", emit("less", a, b), emit("less", zero_like(a), a))
    moved = emit("reinterpret", emit("add", bits, emit("where", away, one, scalar_like(bits, -1))), dtype=a.dtype.name)
    least = emit("reinterpret", emit("add", emit("multiply", bits, zero), one), dtype=a.dtype.name)
    moved = emit("where", emit("equal", a, zero_like(a)), copysign(least, b), moved)
    moved = emit("where", emit("equal", a, b), b, moved)
    return emit("where", emit("logical_or", emit("isnan", a), emit("isnan", b)), emit("add", a, b), moved)


def zero_like(value: Any) -> Any:
    """A zero of the dtype of an array."""
    return scalar_like(value, 0)


def _test_of_floats(name: str, of_others: bool, doc: str) -> Any:
    def fn(x: Any, /) -> Any:
        value = lift(x)
        if value.dtype.kind == "float":
            return emit(name, value)
        return emit("equal" if of_others else "not_equal", value, value)

    fn.__name__ = name
    fn.__doc__ = doc
    return operation(fn)


isfinite = _test_of_floats("isfinite", True, "True for numbers that are neither infinite nor not-a-number.")
isinf = _test_of_floats("isinf", False, "True for infinities.")
isnan = _test_of_floats("isnan", False, "True for not-a-number.")


def _wide(value: Any) -> tuple[Any, Any]:
    """A float of 32 bits at least, and the dtype to go back to."""
    return (cast(value, "float32"), value.dtype) if value.dtype.bits == 16 else (value, value.dtype)


@operation
def log1p(x: Any, /) -> Any:
    """log(1 + x), exact for small x."""
    given = floating(x)
    value, dtype = _wide(given)
    one = scalar_like(value, 1)
    total = emit("add", value, one)
    plain = emit("logical_or", emit("equal", total, one), emit("equal", total, scalar_like(value, math.inf)))
    rest = emit("where", plain, one, emit("subtract", total, one))
    exact = emit("multiply", emit("log", emit("where", plain, scalar_like(value, 2), total)), emit("divide", value, rest))
    found = emit("where", plain, value, exact)
    return found if dtype == value.dtype and not given.weak else _back(found, dtype, given.weak)


@operation
def expm1(x: Any, /) -> Any:
    """exp(x) - 1, exact for small x."""
    given = floating(x)
    value, dtype = _wide(given)
    one = scalar_like(value, 1)
    power = emit("exp", value)
    less = emit("subtract", power, one)
    same = emit("equal", power, one)
    far = emit("logical_or", emit("isinf", power), emit("equal", less, scalar_like(value, -1)))
    plain = emit("logical_or", same, far)
    exact = emit("multiply", less, emit("divide", value, emit("log", emit("where", plain, scalar_like(value, 2), power))))
    found = emit("where", same, value, emit("where", far, less, exact))
    return found if dtype == value.dtype and not given.weak else _back(found, dtype, given.weak)


def _back(value: Any, dtype: Any, weak: bool) -> Any:
    return emit("cast", value, dtype=dtype.name, weak=weak)


@operation
def atan2(x1: Any, x2: Any, /) -> Any:
    """The angle of the point (x2, x1), from -pi to pi."""
    (y, x), weak = operands(floating(x1), floating(x2))
    high, low = emit("maximum", emit("abs", x), emit("abs", y)), emit("minimum", emit("abs", x), emit("abs", y))
    zero = emit("equal", high, zero_like(high))
    ratio = emit("divide", low, emit("where", zero, scalar_like(high, 1), high))
    ratio = emit("where", emit("isinf", low), scalar_like(high, 1), ratio)
    angle = emit("atan", ratio)
    angle = emit("where", emit("greater", emit("abs", y), emit("abs", x)), emit("subtract", scalar_like(angle, math.pi / 2), angle), angle)
    angle = emit("where", signbit(x), emit("subtract", scalar_like(angle, math.pi), angle), angle)
    return emit("where", emit("isnan", high), high, copysign(angle, y), weak=weak)


@operation
def hypot(x1: Any, x2: Any, /) -> Any:
    """The length of (x1, x2), without overflow on the way."""
    (a, b), weak = operands(floating(x1), floating(x2))
    a, b = emit("abs", a), emit("abs", b)
    high, low = emit("maximum", a, b), emit("minimum", a, b)
    plain = emit("logical_or", emit("equal", high, zero_like(high)), emit("isinf", high))
    ratio = emit("divide", low, emit("where", plain, scalar_like(high, 1), high))
    length = emit("multiply", high, emit("sqrt", emit("add", scalar_like(high, 1), emit("multiply", ratio, ratio))))
    either = emit("logical_or", emit("isinf", a), emit("isinf", b))
    found = emit("where", emit("equal", high, zero_like(high)), high, length)
    return emit("where", either, scalar_like(high, math.inf), found, weak=weak)


@operation
def logaddexp(x1: Any, x2: Any, /) -> Any:
    """log(exp(x1) + exp(x2)), without overflow on the way."""
    (a, b), weak = operands(floating(x1), floating(x2))
    same = emit("equal", a, b)
    distance = emit("where", same, zero_like(a), emit("abs", emit("subtract", a, b)))
    return emit("add", emit("maximum", a, b), log1p(emit("exp", emit("negative", distance))), weak=weak)


@operation
def reciprocal(x: Any, /) -> Any:
    """1 / x."""
    value = floating(x)
    return emit("divide", scalar_like(value, 1), value, weak=value.weak)


@operation
def square(x: Any, /) -> Any:
    """x · x."""
    value = lift(x)
    return emit("multiply", value, value, weak=value.weak)


@operation
def relu(x: Any, /) -> Any:
    """The greater one of x and 0."""
    return emit("nn.relu", lift(x))


@operation
def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    """x, but not less than `min` and not greater than `max`; either may be missing. The dtype is that of x if the bounds fit into it."""
    value = lift(x)
    for name, bound in (("maximum", min), ("minimum", max)):
        if bound is not None:
            limit = lift(bound)
            dtype = value.dtype if not limit.weak and limit.dtype.kind == value.dtype.kind else common([value, limit])
            value = emit(name, cast(value, dtype), cast(limit, dtype))
    return emit("copy", value) if min is None and max is None else value


@operation
def real(x: Any, /) -> Any:
    """The array itself: no dtype of Relay is complex."""
    return positive(lift(x))


@operation
def conj(x: Any, /) -> Any:
    """The array itself: no dtype of Relay is complex."""
    return positive(lift(x))
