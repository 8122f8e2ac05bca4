"""Quantised tensors: integers q stand for (q - zero point) * scale. Everything that is defined in integers is computed here
with Python's integers and fractions."""

import math
from fractions import Fraction

import numpy as np
import torch
import torch.nn.functional as F

from .core import narrow, reference

RANGE = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}


def along(vector, axis, rank):
    """A scalar, or a vector shaped so that it broadcasts along an axis."""
    vector = np.asarray(vector)
    return vector if vector.ndim == 0 else vector.reshape([-1] + [1] * (rank - 1 - axis % rank))


def whole(array):
    """An array of Python's integers, which never wrap."""
    return np.asarray(array).astype(object)


def saturate(values, dtype):
    low, high = RANGE[dtype]
    clipped = [min(max(int(v), low), high) for v in np.asarray(values, object).reshape(-1)]
    return np.array(clipped, dtype=np.int64).astype(dtype).reshape(np.shape(values))


def elementwise(function, *arrays):
    """function of the elements, broadcast, as an array of objects."""
    arrays = np.broadcast_arrays(*[np.asarray(a, object) for a in arrays])
    values = [function(*items) for items in zip(*[a.reshape(-1) for a in arrays])]
    result = np.empty(len(values), object)
    result[:] = values
    return result.reshape(arrays[0].shape)


def fixed_point(ratio):
    """The multiplier of 31 bits and the power of two nearest to a factor, as a fraction."""
    significand, exponent = math.frexp(ratio)
    multiplier = math.floor(Fraction(significand) * 2**31 + Fraction(1, 2))
    return Fraction(multiplier) * Fraction(2) ** (exponent - 31)


def round_fraction(value, rounding):
    if rounding == "TONEAREST" and value < 0:
        return -math.floor(-value + Fraction(1, 2))
    return math.floor(value + Fraction(1, 2))


def rescale(difference, from_scale, to_scale, rounding="UPWARD"):
    ratios = np.asarray(from_scale, np.float64) / np.asarray(to_scale, np.float64)
    factors = elementwise(fixed_point, ratios)
    return elementwise(lambda d, f: round_fraction(Fraction(int(d)) * f, rounding), difference, factors)


def away_from_zero(x):
    return math.floor(x + 0.5) if x >= 0 else -math.floor(-x + 0.5)


@reference("qnn.quantize")
def quantize(x, scale, zero_point, *, out_dtype, axis=-1, rounding="TONEAREST"):
    scale, zero_point = (along(p, axis, x.ndim) for p in (scale, zero_point))
    # The quotient of two floats of 24 bits is no tie that float64 would break another way.
    steps = x.astype(np.float64) / np.asarray(scale, np.float64)
    steps = steps.astype(np.float32) if x.dtype != np.float64 else steps

    def one(step, zero):
        if math.isnan(step):
            return int(zero)
        if math.isinf(step):
            return 2**40 if step > 0 else -(2**40)
        magnitude = Fraction(abs(float(step)))
        if rounding == "TOEVEN":
            return round(Fraction(float(step))) + int(zero)
        return int(math.copysign(1, step)) * math.floor(magnitude + Fraction(1, 2)) + int(zero)

    return saturate(elementwise(one, steps, whole(zero_point)), out_dtype)


@reference("qnn.dequantize")
def dequantize(q, scale, zero_point, *, out_dtype="float32", axis=-1):
    scale, zero_point = (along(p, axis, q.ndim) for p in (scale, zero_point))
    numbers = (whole(q) - whole(zero_point)).astype(np.float64) * np.asarray(scale, np.float64)
    return narrow(numbers, out_dtype)


@reference("qnn.requantize")
def requantize(
    q,
    from_scale,
    from_zero,
    to_scale,
    to_zero,
    *,
    axis=-1,
    rounding="None",
    compute_dtype="None",
    out_dtype="int8",
):
    from_scale, from_zero, to_scale, to_zero = (
        along(p, axis, q.ndim) for p in (from_scale, from_zero, to_scale, to_zero)
    )
    difference = whole(q) - whole(from_zero)
    if compute_dtype in ("float32", "float64"):
        ratio = np.asarray(from_scale, np.float64) / np.asarray(to_scale, np.float64)
        product = difference.astype(compute_dtype) * ratio.astype(compute_dtype)
        half = np.asarray(0.5, compute_dtype)
        scaled = (
            np.floor(product + half)
            if rounding != "TONEAREST"
            else np.copysign(np.floor(np.abs(product) + half), product)
        )
        scaled = elementwise(int, scaled)
    else:
        scaled = rescale(difference, from_scale, to_scale, rounding)
    return saturate(scaled + whole(to_zero), out_dtype)


def binary(combine):
    def operation(
        a, b, a_scale, a_zero, b_scale, b_zero, scale, zero, *, lhs_axis=-1, rhs_axis=-1
    ):
        a_scale, a_zero = (along(p, lhs_axis, a.ndim) for p in (a_scale, a_zero))
        b_scale, b_zero = (along(p, rhs_axis, b.ndim) for p in (b_scale, b_zero))
        value = combine(whole(a) - whole(a_zero), a_scale, whole(b) - whole(b_zero), b_scale, scale)
        return saturate(value + int(zero), str(a.dtype))

    return operation


reference("qnn.add")(
    binary(lambda a, sa, b, sb, s: rescale(a, sa, s) + rescale(b, sb, s))
)
reference("qnn.subtract")(
    binary(lambda a, sa, b, sb, s: rescale(a, sa, s) - rescale(b, sb, s))
)
reference("qnn.mul")(
    binary(
        lambda a, sa, b, sb, s: rescale(
            a * b, np.asarray(sa, np.float32) * np.asarray(sb, np.float32), s
        )
    )
)


@reference("qnn.concatenate")
def concatenate(parts, scales, zeros, scale, zero, *, axis=0):
    scaled = [
        saturate(rescale(whole(p) - int(z), s, scale) + int(zero), str(p.dtype))
        for p, s, z in zip(parts, scales, zeros)
    ]
    return np.concatenate(scaled, axis)


def centred(array, zero, axis=0):
    """An integer tensor less its zero points, in float64, which holds sums of such products exactly."""
    return array.astype(np.float64) - along(zero, axis, array.ndim)


def wrapped(array, dtype):
    return np.asarray(array).astype(np.int64).astype(dtype)


@reference("qnn.dense")
def dense(x, w, x_zero, w_zero, x_scale, w_scale, *, units=None, out_dtype="int32"):
    return wrapped(centred(x, x_zero) @ centred(w, w_zero).T, out_dtype)


@reference("qnn.batch_matmul")
def batch_matmul(
    x,
    y,
    x_zero,
    y_zero,
    x_scale,
    y_scale,
    *,
    out_dtype="int32",
    transpose_a=False,
    transpose_b=False,
):
    a, b = centred(x, x_zero), centred(y, y_zero)
    a = a.transpose(0, 2, 1) if transpose_a else a
    b = b.transpose(0, 2, 1) if transpose_b else b
    return wrapped(a @ b, out_dtype)


@reference("qnn.conv2d")
def conv2d(
    x,
    w,
    x_zero,
    w_zero,
    x_scale,
    w_scale,
    *,
    out_dtype="int32",
    padding=(0, 0, 0, 0),
    strides=(1, 1),
    dilation=(1, 1),
    groups=1,
    **_,
):
    top, left, bottom, right = padding
    data = F.pad(torch.tensor(centred(x, x_zero)), (left, right, top, bottom))
    weight = torch.tensor(centred(w, w_zero))
    result = F.conv2d(data, weight, stride=strides, dilation=dilation, groups=groups)
    return wrapped(result.numpy(), out_dtype)


@reference("qnn.conv2d_transpose")
def conv2d_transpose(
    x, w, x_zero, w_zero, x_scale, w_scale, *, strides=(1, 1), out_dtype="int32"
):
    data, weight = torch.tensor(centred(x, x_zero)), torch.tensor(centred(w, w_zero, 1))
    return wrapped(F.conv_transpose2d(data, weight, stride=strides).numpy(), out_dtype)


def table(function):
    def operation(q, scale, zero, to_scale, to_zero):
        numbers = (whole(q) - int(zero)).astype(np.float64) * np.float64(scale)
        with np.errstate(all="ignore"):
            steps = function(numbers) / np.float64(to_scale)

        def one(step):
            if math.isnan(step):
                return int(to_zero)
            if math.isinf(step):
                return 2**40 if step > 0 else -(2**40)
            return away_from_zero(step) + int(to_zero)

        return saturate(elementwise(one, steps), str(q.dtype))

    return operation


FUNCTIONS = {
    "abs": np.abs,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "exp": np.exp,
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "log": np.log,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sqrt": np.sqrt,
    "tanh": np.tanh,
}
for name, function in FUNCTIONS.items():
    reference(f"qnn.{name}")(table(function))


@reference("qnn.leaky_relu")
def leaky_relu(q, scale, zero, to_scale, to_zero, *, alpha=0.25):
    moved = rescale(whole(q) - int(zero), scale, to_scale) + int(to_zero)
    slope, rest = fixed_point(alpha), fixed_point(1 - alpha)

    def one(value):
        if value >= int(to_zero):
            return value
        return round_fraction(value * slope, "UPWARD") + round_fraction(int(to_zero) * rest, "UPWARD")

    return saturate(elementwise(one, moved), str(q.dtype))


@reference("qnn.softmax")
def softmax(q, scale, zero, to_scale, to_zero, *, axis=-1):
    numbers = q.astype(np.float64) * np.float64(scale)
    if q.size == 0:
        return q.copy()
    powers = np.exp(numbers - numbers.max(axis, keepdims=True))
    steps = powers / powers.sum(axis, keepdims=True) / np.float64(to_scale)
    return saturate(elementwise(away_from_zero, steps) + int(to_zero), str(q.dtype))


@reference("qnn.avg_pool2d")
def avg_pool2d(
    q, scale, zero, to_scale, to_zero, *, pool_size, strides=(1, 1), padding=(0, 0, 0, 0), count_include_pad=False
):
    """NCHW; truncated averages of what is in the result's scale; counted padding is its zero point."""
    moved = rescale(whole(q) - int(zero), scale, to_scale) + int(to_zero)
    top, left, bottom, right = padding
    height, width = q.shape[2] + top + bottom, q.shape[3] + left + right
    rows = (height - pool_size[0]) // strides[0] + 1
    columns = (width - pool_size[1]) // strides[1] + 1
    result = np.empty(q.shape[:2] + (rows, columns), object)
    for index in np.ndindex(*result.shape):
        items = []
        for dy in range(pool_size[0]):
            for dx in range(pool_size[1]):
                y = index[2] * strides[0] + dy - top
                x = index[3] * strides[1] + dx - left
                if 0 <= y < q.shape[2] and 0 <= x < q.shape[3]:
                    items.append(int(moved[index[0], index[1], y, x]))
                elif count_include_pad:
                    items.append(int(to_zero))
        total, count = sum(items), max(len(items), 1)
        result[index] = abs(total) // count * (1 if total >= 0 else -1)
    return saturate(result, str(q.dtype))


def simulated_range(code):
    return {1: (-128, 127), 2: (0, 255), 3: (-(2**31), 2**31)}[int(code)]


@reference("qnn.simulated_quantize")
def simulated_quantize(x, code, scale, zero, *, axis=-1):
    if int(code) == 0:
        return x
    scale, zero = (along(p, axis, x.ndim) for p in (scale, zero))
    steps = x.astype(np.float64) / np.asarray(scale, np.float64)
    steps = elementwise(away_from_zero, steps).astype(np.float64) + zero
    return narrow(np.clip(steps, *simulated_range(code)), x.dtype)


@reference("qnn.simulated_dequantize")
def simulated_dequantize(x, code, scale, zero, *, axis=-1, out_dtype=None):
    if int(code) == 0:
        return x
    scale, zero = (along(p, axis, x.ndim) for p in (scale, zero))
    return narrow((x.astype(np.float64) - zero) * np.asarray(scale, np.float64), x.dtype)
